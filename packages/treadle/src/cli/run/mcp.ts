import type { Tool } from '@treadle/core';
import type { McpServerConfig, McpServers } from '@treadle/mcp';
import type { Plugin } from '@treadle/skills';

import type { Terminal } from '../asking/terminal.ts';
import type { CliIo } from '../io.ts';
import type { RunRequest } from './request.ts';

/** The MCP servers of a run, connected; null when there are none. Whoever names the tools gets no others. */
export async function mcpFor(
  run: {
    readonly io: CliIo;
    readonly note: (text: string) => void;
    readonly request: Pick<RunRequest, 'mcpConfig' | 'tools'>;
    readonly folder: string;
    /** Servers that the client brings: these need no file, and win over those of files. */
    readonly servers?: Readonly<Record<string, McpServerConfig>>;
  },
  rights: { readonly isTrusted: boolean; readonly plugins: readonly Plugin[] },
  terminal: Terminal,
): Promise<McpServers | null> {
  const { io, note, request, folder, servers = {} } = run;
  if (request.tools !== undefined) return null;
  const { chosenServers, namedServers } = await import('../mcp/servers.ts');
  const { mcpConfig } = request;
  const all = mcpConfig === null ? [] : await namedServers(folder, io, mcpConfig, note, rights.plugins);
  const stopped = new Promise<never>(() => {});
  const own = await chosenServers(all, { folder, io, isTrusted: rights.isTrusted, terminal, stopped, note });
  const chosen = { ...own, ...servers };
  if (Object.keys(chosen).length === 0) return null;
  const { connect } = await import('../mcp/connect.ts');
  return connect(chosen, { io, folder, note });
}

/** The tools of servers as they are now, for sessions that outlive a change of a server's list. */
export function toolSource(servers: McpServers, guarded: (tool: Tool) => Tool): () => readonly Tool[] {
  let made: { readonly of: readonly Tool[]; readonly tools: readonly Tool[] } = { of: [], tools: [] };
  return () => {
    const of = servers.tools;
    if (made.of !== of) made = { of, tools: of.map(guarded) };
    return made.tools;
  };
}
