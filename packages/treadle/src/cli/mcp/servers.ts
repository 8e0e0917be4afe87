import { errorText } from '@treadle/core';
import { readMcpFile } from '@treadle/mcp';
import type { FileServer, McpServerConfig } from '@treadle/mcp';
import type { Plugin } from '@treadle/skills';

import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { configFolder, readSettingsFile } from '../../settings/settings.ts';
import { exactLine } from '../asking/plain-text.ts';
import type { Terminal } from '../asking/terminal.ts';
import type { CliIo } from '../io.ts';
import { UsageError } from '../usage-error.ts';
import { openApprovals } from './approvals.ts';

export const PROJECT_FILE = '.mcp.json';

/** Where a server is named. */
export type ServerSource = 'flag' | 'user' | 'plugin' | 'project';

export interface NamedServer extends FileServer {
  readonly source: ServerSource;
  /** The file that names it. */
  readonly path: string;
}

/** The file of the user's own servers; null without a home. */
export function userFile(io: Pick<CliIo, 'env' | 'cwd'>): string | null {
  const config = configFolder(io);
  return config === null ? null : join(config, 'mcp.json');
}

type Where = Pick<CliIo, 'cwd'> & { readonly env: CliIo['env'] };

/** The servers of a file; none when it isn't there. @throws UsageError when it can't be understood. */
export async function serversOf(path: string, source: ServerSource, io: Where, folder: string): Promise<NamedServer[]> {
  const file = await readSettingsFile(path);
  if (file === null) return [];
  const variables = { env: io.env, folder, home: io.env['HOME'] };
  return readMcpFile(path, file.text, variables).map((server) => ({ ...server, source, path }));
}

/** Every server that is named, the user's before the project's: a project can't put its own in the place of theirs. */
export async function namedServers(
  folder: string,
  io: Where,
  files: readonly string[],
  note: (text: string) => void,
  plugins: readonly Plugin[],
): Promise<NamedServer[]> {
  const given = await Promise.all(
    files.map(async (file) => {
      const path = resolve(io.cwd, file);
      const servers = await serversOf(path, 'flag', io, folder);
      if (servers.length === 0 && (await readSettingsFile(path)) === null) {
        throw new UsageError(`--mcp-config ${file} names no file.`);
      }
      return servers;
    }),
  );
  const own = userFile(io);
  const pluginServers = plugins.length === 0 ? null : (await import('../plugins/contents.ts')).pluginServers;
  const ofPlugins = plugins.flatMap((plugin) => pluginServers?.(plugin, io, folder) ?? []);
  const user = [...(own === null ? [] : await serversOf(own, 'user', io, folder)), ...ofPlugins];
  return [...given.flat(), ...user, ...(await projectServers(folder, io, note))];
}

/** Those of a folder's `.mcp.json`. A file that can't be understood must not keep a run from starting. */
export async function projectServers(folder: string, io: Where, note: (text: string) => void): Promise<NamedServer[]> {
  const shared = join(folder, PROJECT_FILE);
  // The sandbox of a command holds the place of a file that isn't there by an empty folder.
  if ((await stat(shared).catch(() => null))?.isDirectory()) return [];
  return serversOf(shared, 'project', io, folder).catch((error: unknown) => {
    note(`${errorText(error)} It is left alone.`);
    return [];
  });
}

/** What is needed to find out which servers may start. */
export interface Choosing {
  readonly folder: string;
  readonly io: Where;
  /** Whether the folder as a whole is trusted. */
  readonly isTrusted: boolean;
  readonly terminal: Terminal;
  readonly stopped: Promise<unknown>;
  readonly note: (text: string) => void;
}

/**
 * The servers that may start: those of the user, and those of a trusted folder that were approved as they are now. At a
 * terminal the user is asked about one that is new or has changed; elsewhere it is left alone, and a note says that.
 */
export async function chosenServers(
  all: readonly NamedServer[],
  choosing: Choosing,
): Promise<Readonly<Record<string, McpServerConfig>>> {
  const { note } = choosing;
  const chosen = new Map<string, McpServerConfig>();
  const take = (server: NamedServer): void => {
    if (server.disabled) return;
    if (chosen.has(server.name)) return note(`${server.path}: ${server.name} is named before, and left out here.`);
    if (server.config === null) return note(`${server.path}: ${server.name} can't be used: ${server.problem}.`);
    chosen.set(server.name, server.config);
  };
  for (const server of all) if (server.source !== 'project') take(server);
  const project = all.filter(({ source, disabled, name }) => source === 'project' && !disabled && !chosen.has(name));
  for (const server of await approved(project, choosing)) take(server);
  return Object.fromEntries(chosen);
}

async function approved(project: readonly NamedServer[], choosing: Choosing): Promise<readonly NamedServer[]> {
  // That an untrusted folder's are left alone was said when it was asked about.
  if (project.length === 0 || !choosing.isTrusted) return [];
  const { folder, io, terminal, stopped, note } = choosing;
  const approvals = await openApprovals(folder, io);
  const asked = async (question: string): Promise<boolean> => {
    const answer = terminal.isThere ? await terminal.ask(question, stopped) : null;
    return answer !== null && /^y(es)?$/i.test(answer.trim());
  };
  const yes: NamedServer[] = [];
  const left: string[] = [];
  for (const server of project) {
    if (approvals.has(server.name, server.digest)) yes.push(server);
    else if (
      await asked(`The MCP server ${exactLine(server.name)} runs:\n  ${exactLine(server.shown)}\nUse it? [y/n] `)
    ) {
      await approvals.add([server]);
      yes.push(server);
    } else left.push(server.name);
  }
  if (left.length > 0) {
    note(
      `${PROJECT_FILE}: ${left.join(', ')} left alone: not approved as it is now. Approve it at a terminal, or with --trust.`,
    );
  }
  return yes;
}
