import { fileCache, fileCredentials, mcpServers, savedLogin } from '@treadle/mcp';
import type { McpServerConfig, McpServers } from '@treadle/mcp';

import { join } from 'node:path';

import { homeFolder } from '../parts.ts';
import type { CliIo } from '../io.ts';
import { version } from '../version.ts';

export const credentialsOf = (io: CliIo) => fileCredentials(join(homeFolder(io), 'mcp/credentials'));

/** Connects to servers for a folder. What keeps a server from being used now is said once. */
export async function connect(
  configs: Readonly<Record<string, McpServerConfig>>,
  {
    io,
    folder,
    note,
    fresh = false,
  }: {
    readonly io: CliIo;
    readonly folder: string;
    readonly note: (text: string) => void;
    /** Waits for every server, whatever is known of it from before. */
    readonly fresh?: boolean;
  },
): Promise<McpServers> {
  const store = credentialsOf(io);
  const said = new Set<string>();
  const say = (text: string): void => {
    if (!said.has(text)) note(text);
    said.add(text);
  };
  const servers = await mcpServers(configs, {
    roots: [folder],
    ...(fresh ? {} : { cache: fileCache(join(homeFolder(io), 'mcp/servers')) }),
    auth: (name, config) => savedLogin(name, config.url, store, config.oauth),
    clientInfo: { name: 'treadle', version: version() },
    onEvent: (event) => {
      if (event.type === 'failed' || event.type === 'disconnected') say(event.message);
    },
  });
  for (const { name, state, tools } of servers.status) {
    if (state === 'starting' && tools === 0)
      say(`The MCP server ${name} has not started in time: this run has none of its tools.`);
  }
  return servers;
}
