import { errorText, type JsonObject, type Tool } from '@treadle/core';
import type { McpServerConfig, McpServers } from '@treadle/mcp';

import { Refused } from '../lines/channel.ts';
import { oneAtATime } from '../one-at-a-time.ts';

/** The MCP servers of a session, which a client changes while the session is open. */
export interface ServerPool {
  /** Of the servers that are on. */
  readonly tools: readonly Tool[];
  /** How the servers are doing, in the words of the protocol. */
  readonly states: readonly JsonObject[];
  /** Makes these the servers that the client has set since the start, in the place of those that it set before. */
  set(configs: Readonly<Record<string, McpServerConfig>>): Promise<ServerChange>;
  /** @throws Refused when there is no server of this name. */
  toggle(name: string, isOn: boolean): Promise<void>;
  /** Connects anew. @throws Refused when there is no server of this name, it is off, or it can't be reached. */
  reconnect(name: string): Promise<void>;
  close(): Promise<void>;
}

/** What setting servers came to. */
export interface ServerChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** By the names of servers. */
  readonly errors: Readonly<Record<string, string>>;
}

/** The words of the protocol for how a server is doing. */
const STATES: Readonly<Record<string, string>> = {
  starting: 'pending',
  ready: 'connected',
  failed: 'failed',
  needs_login: 'needs-auth',
  closed: 'failed',
};

/** @param connect opens the first servers: without any, nothing of MCP is loaded */
export async function serverPool(
  first: Readonly<Record<string, McpServerConfig>>,
  connect: (configs: Readonly<Record<string, McpServerConfig>>) => Promise<McpServers>,
): Promise<ServerPool> {
  const configs = new Map(Object.entries(first));
  /** Those that the client has set, and may take away again. */
  let dynamic = new Set<string>();
  const off = new Set<string>();
  let servers = configs.size > 0 ? await connect(first) : null;
  const inTurn = oneAtATime();

  async function add(name: string, config: McpServerConfig): Promise<void> {
    if (servers) await servers.add({ [name]: config });
    else servers = await connect({ [name]: config });
  }

  const problemOf = (name: string): string | undefined =>
    servers?.status.find((one) => one.name === name && one.state !== 'ready')?.problem;

  const known = (name: string): McpServerConfig => {
    const config = configs.get(name);
    if (!config) throw new Refused(`There is no MCP server ${name}.`);
    return config;
  };

  return {
    get tools() {
      return servers?.tools ?? [];
    },
    get states() {
      const rows = servers?.status ?? [];
      return [...configs.keys()].map((name): JsonObject => {
        const row = rows.find((one) => one.name === name);
        if (off.has(name) || !row) return { name, status: 'disabled' };
        const error = row.problem === undefined ? {} : { error: row.problem };
        return { name, status: STATES[row.state] ?? 'failed', ...error };
      });
    },
    set: (wanted) =>
      inTurn(async () => {
        const removed = [...dynamic].filter((name) => !Object.hasOwn(wanted, name));
        for (const name of removed) {
          configs.delete(name);
          off.delete(name);
          await servers?.remove(name);
        }
        const added: string[] = [];
        const errors: Record<string, string> = {};
        dynamic = new Set([...dynamic].filter((name) => Object.hasOwn(wanted, name)));
        for (const [name, config] of Object.entries(wanted)) {
          const before = configs.get(name);
          // One in the client's process is another one each time; one that is the same goes on.
          if (before && !('server' in config) && JSON.stringify(before) === JSON.stringify(config)) continue;
          try {
            await add(name, config);
          } catch (error) {
            errors[name] = errorText(error);
            continue;
          }
          configs.set(name, config);
          dynamic.add(name);
          off.delete(name);
          added.push(name);
          const problem = problemOf(name);
          if (problem !== undefined) errors[name] = problem;
        }
        return { added, removed, errors };
      }),
    toggle: (name, isOn) =>
      inTurn(async () => {
        const config = known(name);
        if (isOn === !off.has(name)) return;
        if (isOn) {
          await add(name, config);
          off.delete(name);
        } else {
          off.add(name);
          await servers?.remove(name);
        }
      }),
    reconnect: (name) =>
      inTurn(async () => {
        const config = known(name);
        if (off.has(name)) throw new Refused(`The MCP server ${name} is disabled: mcp_toggle enables it.`);
        await add(name, config);
        const problem = problemOf(name);
        if (problem !== undefined) throw new Refused(problem);
      }),
    close: async () => servers?.close(),
  };
}
