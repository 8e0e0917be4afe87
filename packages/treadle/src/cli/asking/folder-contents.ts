import { isJsonObject, parseJson, type JsonObject } from '@treadle/core/json';

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

import type { FolderSettings } from '../../settings/combine.ts';
import { instructionFolders, ownPlaces, type InstructionKind } from '../../settings/pinned-folders.ts';
import type { CliIo } from '../io.ts';
import type { NamedServer } from '../mcp/servers.ts';
import { exactLine, exactText } from './plain-text.ts';

/** What a folder may have that acts on its own; what begins with `SDK` does for clients of the Claude Agent SDK. */
export type ContentKind = 'settings' | 'hooks' | 'SDK settings' | 'SDK hooks' | InstructionKind | 'MCP servers';

/** What a folder has of a kind. */
interface ContentRow {
  readonly kind: ContentKind;
  /** Relative to the folder. */
  readonly path: string;
  /** Made harmless. */
  readonly lines: readonly string[];
  /** Whether it acts already: it is what was trusted, or written by us on the user's word. */
  readonly acts: boolean;
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
  const own = ownPlaces(io);
  const rows = [
    ...(await settingsRows(found, own)),
    ...(await fileRows(folder, own)),
    ...(await serverRows(folder, io, servers)),
  ];
  const said = JSON.stringify([rows, servers.map(({ digest }) => digest), found.pins]);
  return { rows, servers, digest: createHash('sha256').update(said).digest('hex') };
}

/** The list as lines, for a question. */
export const contentLines = ({ rows }: FolderContents): string =>
  rows
    .map(({ kind, path, lines }) => `${kind}, ${exactLine(path)}:\n${lines.map((line) => `  ${line}\n`).join('')}`)
    .join('');

async function settingsRows(found: FolderSettings, own: ReadonlySet<string>): Promise<ContentRow[]> {
  const { folder, project, local, claude, state } = found;
  const files = [
    ...[project, local].map(
      (file) => file && { path: relative(folder, file.path), text: file.text, prefix: '' as const },
    ),
    ...claude.map(({ name, file }) =>
      own.has(join(folder, name)) ? null : { path: name, text: file?.text ?? null, prefix: 'SDK ' as const },
    ),
  ].filter((file) => file !== null);
  const rows: ContentRow[] = [];
  for (const { path, text, prefix } of files) {
    const row = { path, acts: prefix === '' && state === 'trusted' };
    const lines = text === null ? ['(it can’t be read)'] : exactText(text.trim()).split('\n');
    rows.push({ ...row, kind: `${prefix}settings`, lines });
    const hooks = await hooksOf(text ?? '');
    if (hooks.length > 0) rows.push({ ...row, kind: `${prefix}hooks`, lines: hooks.map(exactLine) });
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

async function fileRows(folder: string, own: ReadonlySet<string>): Promise<ContentRow[]> {
  const rows: ContentRow[] = [];
  for (const [name, kind] of instructionFolders(folder)) {
    const path = join(folder, name);
    if (own.has(path) || !existsSync(path)) continue;
    const names = (await readdir(path).catch(() => ['(it can’t be read)'])).toSorted();
    const shown = names.slice(0, MOST).map(exactLine).join(', ');
    const more = names.length > MOST ? `, and ${names.length - MOST} more` : '';
    if (names.length > 0) rows.push({ kind, path: name, lines: [`${shown}${more}`], acts: false });
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
  return [{ kind: 'MCP servers', path: '.mcp.json', lines, acts: false }];
}
