/** The server of tools that no other server brings. */
export const LOCAL_SERVER = 'local';

/** What a tool is called in the `<tool>` form. */
export interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

const FROM_SERVER = /^mcp__(.+?)__(.+)$/s;

/** `mcp__files__read` is the tool `read` of the server `files`; everything else is local. */
export function serverToolOf(name: string): ServerTool {
  const [, server, tool] = FROM_SERVER.exec(name) ?? [];
  return server === undefined || tool === undefined ? { server: LOCAL_SERVER, tool: name } : { server, tool };
}

/** The name of a tool in the agent's list. */
export const toolNameOf = ({ server, tool }: ServerTool): string =>
  server === LOCAL_SERVER ? tool : `mcp__${server}__${tool}`;
