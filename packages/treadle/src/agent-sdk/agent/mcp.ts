import type { JsonObject } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import { readMcpFile, type McpServerConfig } from '@treadle/mcp';

import type { Plugin } from '@treadle/skills';

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import type { CliIo } from '../../cli/io.ts';
import { pluginServers } from '../../cli/plugins/contents.ts';
import { connect } from '../../cli/mcp/connect.ts';
import { chosenServers, namedServers, PROJECT_FILE } from '../../cli/mcp/servers.ts';
import { UsageError } from '../../cli/usage-error.ts';
import type { ClientServers } from '../client/servers.ts';
import type { SdkOptions } from '../options.ts';
import { serverPool, type ServerPool } from './server-pool.ts';

/** What the servers of a session are found with. */
export interface ServerParts {
  readonly io: CliIo;
  readonly folder: string;
  readonly options: SdkOptions;
  readonly clients: ClientServers;
  readonly plugins: readonly Plugin[];
  readonly isTrusted: boolean;
  readonly note: (text: string) => void;
}

/** The servers of a session, connected. @throws UsageError for a configuration of the client's that can't be read. */
export async function serversFor(parts: ServerParts): Promise<ServerPool> {
  const { io, folder, note } = parts;
  const configs = { ...(await ofFiles(parts)), ...ofPlugins(parts), ...(await ofClient(parts)) };
  return serverPool(configs, (some) => connect(some, { io, folder, note }));
}

/** Those that the client names at the start, which need nobody's approval: by value or by path, and those in its own process. */
async function ofClient(parts: ServerParts): Promise<Record<string, McpServerConfig>> {
  const { mcpConfig, mcpServers, clientServers } = parts.options;
  const given = mcpServers === null ? await configOf(mcpConfig, parts.io) : { mcpServers };
  const own = Object.fromEntries(clientServers.map((name) => [name, { type: 'sdk' }]));
  const entries = { ...(isJsonObject(given['mcpServers']) ? given['mcpServers'] : {}), ...own };
  const { configs, problems } = configsOf(entries, parts);
  for (const [name, problem] of Object.entries(problems))
    throw new UsageError(`The MCP server ${name} can't be used: ${problem}`);
  return configs;
}

/** What a client says of servers, as we connect to them; what keeps one from being used, by its name. */
export function configsOf(
  entries: JsonObject,
  { io, folder, clients }: Pick<ServerParts, 'io' | 'folder' | 'clients'>,
): { readonly configs: Record<string, McpServerConfig>; readonly problems: Record<string, string> } {
  const own = Object.entries(entries).flatMap(([name, entry]) =>
    isJsonObject(entry) && entry['type'] === 'sdk' ? [name] : [],
  );
  const others = Object.fromEntries(Object.entries(entries).filter(([name]) => !own.includes(name)));
  const text = JSON.stringify({ mcpServers: others });
  const read = readMcpFile('The MCP servers of the client', text, { env: io.env, folder, home: io.env['HOME'] });
  const configs: Record<string, McpServerConfig> = {};
  const problems: Record<string, string> = {};
  for (const { name, config, problem, disabled } of read) {
    if (disabled) continue;
    if (config === null) problems[name] = problem ?? 'no reason given';
    else configs[name] = config;
  }
  for (const name of own) configs[name] = { server: clients.server(name) };
  return { configs, problems };
}

async function configOf(given: string | undefined, io: CliIo): Promise<JsonObject> {
  if (given === undefined) return {};
  const isValue = given.trimStart().startsWith('{');
  const text = isValue ? given : await readFile(resolve(io.cwd, given), 'utf8').catch(() => null);
  if (text === null) throw new UsageError(`--mcp-config ${given} can't be read.`);
  try {
    const value: unknown = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new UsageError('--mcp-config is no JSON object.');
}

/** Those of the plugins that the client names. */
function ofPlugins({ io, folder, plugins, note }: ServerParts): Record<string, McpServerConfig> {
  const all = plugins.flatMap((plugin) => pluginServers(plugin, io, folder));
  const usable = all.flatMap(({ name, config, problem, disabled }): [string, McpServerConfig][] => {
    if (config === null) note(`The MCP server ${name} can't be used: ${problem ?? 'no reason given'}.`);
    return config === null || disabled ? [] : [[name, config]];
  });
  return Object.fromEntries(usable);
}

/** Those of the folder and the user, where their settings are read, as elsewhere: a folder's own need approval. */
async function ofFiles({ io, folder, options, isTrusted, note }: ServerParts) {
  const { sources, strictMcp, configRoot = folder } = options;
  if (strictMcp || sources.length === 0) return {};
  const named = await namedServers(configRoot, io, [], note, []);
  const wanted = named.filter(({ source }) => sources.includes(source === 'user' ? 'user' : 'project'));
  if (wanted.length === 0) return {};
  const terminal = { isThere: false, ask: async () => null, askSecret: async () => null };
  const stopped = new Promise<never>(() => {});
  if (!isTrusted && wanted.some(({ source }) => source === 'project'))
    note(`${PROJECT_FILE} left alone: nobody has trusted this folder. treadle run --trust does. [folder_not_trusted]`);
  return chosenServers(wanted, { folder: configRoot, io, isTrusted, terminal, stopped, note });
}
