import { isJsonObject, parseJson, type JsonObject } from '@treadle/core/json';

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';

import { PROJECT_AGENTS } from '../../settings/agent-files.ts';
import type { FolderSettings } from '../../settings/combine.ts';
import { configFolder } from '../../settings/settings.ts';
import type { CliIo } from '../io.ts';
import type { NamedServer } from '../mcp/servers.ts';
import { exactLine, exactText } from './plain-text.ts';

/** What a folder may have that acts on its own. */
export type ContentKind = 'settings' | 'hooks' | 'skills' | 'commands' | 'agents' | 'MCP servers';

/** What a folder has of a kind. */
interface ContentRow {
  readonly kind: ContentKind;
  /** Relative to the folder. */
  readonly path: string;
  /** Made harmless. */
  readonly lines: readonly string[];
}

/** All that a folder would load if it were trusted. */
export interface FolderContents {
  readonly rows: readonly ContentRow[];
  /** Those of its `.mcp.json`. */
  readonly servers: readonly NamedServer[];
  /** Another one when anything in the list is another. */
  readonly digest: string;
}

/** Names of a kind that are shown at most. */
const MOST = 30;

/**
 * Lists what a folder would load, from the names of its files and the bytes of its settings. Nothing is run, and no skill,
 * command or agent is read.
 */
export async function folderContents(found: FolderSettings, io: Pick<CliIo, 'env' | 'cwd'>): Promise<FolderContents> {
  const { folder } = found;
  const servers: NamedServer[] = [];
  const rows = [
    ...(await settingsRows(found)),
    ...(await fileRows(folder, io)),
    ...(await serverRows(folder, io, servers)),
  ];
  const said = JSON.stringify([rows, servers.map(({ digest }) => digest)]);
  return { rows, servers, digest: createHash('sha256').update(said).digest('hex') };
}

/** The list as lines, for a question. */
export const contentLines = ({ rows }: FolderContents): string =>
  rows
    .map(({ kind, path, lines }) => `${kind}, ${exactLine(path)}:\n${lines.map((line) => `  ${line}\n`).join('')}`)
    .join('');

async function settingsRows({ folder, project, local, state }: FolderSettings): Promise<ContentRow[]> {
  // Those that we wrote ourselves, on the user's word.
  if (state === 'trusted') return [];
  const rows: ContentRow[] = [];
  for (const file of [project, local]) {
    if (file === null) continue;
    const path = relative(folder, file.path);
    rows.push({ kind: 'settings', path, lines: exactText(file.text.trim()).split('\n') });
    const hooks = await hooksOf(file.text);
    if (hooks.length > 0) rows.push({ kind: 'hooks', path, lines: hooks.map(exactLine) });
  }
  return rows;
}

/** A file that can't be understood has none; it is shown as it is, and refused when it is to act. */
async function hooksOf(text: string): Promise<readonly string[]> {
  try {
    const settings = parseJson(text);
    const hooks = isJsonObject(settings) ? settings['hooks'] : undefined;
    if (hooks === undefined || !isJsonObject(hooks)) return [];
    const { hookLines } = await import('../plugins/contents.ts');
    return hookLines(
      Object.fromEntries(
        Object.entries(hooks).map(([event, groups]) => [
          event,
          (Array.isArray(groups) ? groups : []).filter((group): group is JsonObject => isJsonObject(group)),
        ]),
      ),
    );
  } catch {
    return [];
  }
}

async function fileRows(folder: string, io: Pick<CliIo, 'env' | 'cwd'>): Promise<ContentRow[]> {
  const { commandFolders, skillFolders } = await import('@treadle/skills');
  // In the home folder they are the user's own.
  const home = resolve(io.cwd, io.env['HOME'] || '/');
  const own = new Set([...skillFolders({ home }), ...commandFolders({ home })].map(({ path }) => path));
  own.add(join(home, '.claude/agents'));
  const config = configFolder(io);
  if (config !== null) own.add(join(config, 'agents'));
  const places: readonly (readonly [ContentKind, readonly string[]])[] = [
    ['skills', skillFolders({ project: folder }).map(({ path }) => path)],
    ['commands', commandFolders({ project: folder }).map(({ path }) => path)],
    ['agents', PROJECT_AGENTS.map((path) => join(folder, path))],
  ];
  const rows: ContentRow[] = [];
  for (const [kind, paths] of places) {
    for (const path of new Set(paths)) {
      if (own.has(path) || !existsSync(path)) continue;
      const names = (await readdir(path).catch(() => ['(it can’t be read)'])).toSorted();
      const shown = names.slice(0, MOST).map(exactLine).join(', ');
      const more = names.length > MOST ? `, and ${names.length - MOST} more` : '';
      if (names.length > 0) rows.push({ kind, path: relative(folder, path), lines: [`${shown}${more}`] });
    }
  }
  return rows;
}

async function serverRows(
  folder: string,
  io: Pick<CliIo, 'env' | 'cwd'>,
  servers: NamedServer[],
): Promise<ContentRow[]> {
  const path = join(folder, '.mcp.json');
  if (!existsSync(path)) return [];
  const { projectServers } = await import('../mcp/servers.ts');
  // What is wrong with the file is said when its servers are chosen.
  servers.push(...(await projectServers(folder, io, () => {})).filter(({ disabled }) => !disabled));
  if (servers.length === 0) return [];
  const lines = servers.map(({ name, shown }) => exactLine(`${name}: ${shown}`));
  return [{ kind: 'MCP servers', path: '.mcp.json', lines }];
}
