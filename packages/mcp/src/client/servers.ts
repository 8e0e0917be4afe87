import { pathToFileURL } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { systemClock, TreadleError } from '@treadle/core';
import { isDeep } from '@treadle/core/json';
import type { Clock, Tool } from '@treadle/core';
import type { MessageInput } from '@treadle/core/session';

import type { McpLogin } from '../login/login.ts';
import { Caller } from '../tools/caller.ts';
import { serverPrefixes, toolName } from '../tools/names.ts';
import { resourceTools } from '../tools/resources.ts';
import { toolOf } from '../tools/tool.ts';
import type { McpCache } from './cache.ts';
import { cacheKey } from './cache.ts';
import { checkServer } from './config.ts';
import type { HttpServerConfig, McpServerConfig, McpServerConfigs } from './config.ts';
import { Connection } from './connection.ts';
import type { Answering, ConnectionState, KeptServer, McpEvent } from './connection.ts';
import { McpProblem, requestProblem } from './problem.ts';
import { promptInput } from './prompts.ts';
import type { McpPrompt } from './prompts.ts';
import { samplerOf } from './sampling.ts';
import type { SamplingOptions } from './sampling.ts';

/** Settings of {@link mcpServers}. Times are milliseconds. */
export interface McpServersOptions {
  /** Folders that servers are told of as roots. Default: none. */
  readonly roots?: readonly string[];
  /** Lets servers call a model. Default: they may not. */
  readonly sampling?: SamplingOptions;
  /** Whether servers may ask the user. The run then pauses, and the question is answered like an approval. Default true. */
  readonly elicitation?: boolean;
  /** Keeps what is known of servers from one process to the next, so that nobody waits for one to start. Default: nothing. */
  readonly cache?: McpCache;
  /** The tokens for a server at an address: {@link savedLogin} or {@link browserLogin}. Default: no server takes a login. */
  readonly auth?: (server: string, config: HttpServerConfig) => McpLogin | undefined;
  readonly onEvent?: (event: McpEvent) => void;
  /** How long a server's request is kept open while a person is asked. Later the call is made again. Default 600,000. */
  readonly holdMs?: number;
  /** How this program calls itself. Default `treadle`. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
}

/** How a server is doing. */
export interface McpServerStatus {
  readonly name: string;
  readonly state: ConnectionState;
  readonly tools: number;
  /** Why it is not ready. */
  readonly problem?: string;
}

/** Servers in use. */
export interface McpServers extends AsyncDisposable {
  /** The tools as they are known now: a new array after each change. */
  readonly tools: readonly Tool[];
  readonly status: readonly McpServerStatus[];
  /** The prompts of all servers that are ready. */
  prompts(): Promise<McpPrompt[]>;
  /**
   * Has a server write out one of its prompts, as input for `session.prompt`.
   *
   * @throws McpProblem when it doesn't.
   */
  prompt(server: string, name: string, values?: Readonly<Record<string, string>>): Promise<MessageInput[]>;
  /** Resolves once every server has started, or has failed to as often as it is tried. */
  settled(): Promise<void>;
  /**
   * Connects to more servers. One that has the name of another takes its place.
   *
   * @throws TreadleError `invalid_definition` for a configuration that can't be used; then nothing has changed.
   */
  add(configs: McpServerConfigs): Promise<void>;
  /** Closes a server; its tools are gone from `tools`. False when there is none of that name. */
  remove(name: string): Promise<boolean>;
  /** Ends all connections, and the processes that were started. */
  close(): Promise<void>;
}

interface Server {
  readonly name: string;
  readonly prefix: string;
  readonly connection: Connection;
  readonly caller: Caller;
  readonly started: Promise<void>;
}

const DEFAULT_STARTUP_MS = 10_000;
const HOLD_MS = 600_000;
const REQUEST_MS = 30_000;

/**
 * Connects to MCP servers, all at the same time, and gives their tools to an agent. A server whose tools are known from the
 * cache is not waited for; another one is, up to its `startupTimeoutMs`. A server that fails never fails the agent: its
 * calls are answered with an error that says so, and it is connected to again, with growing pauses.
 *
 * @throws TreadleError `invalid_definition` for a configuration that can't work.
 * @example
 * ```ts
 * import { mcpServers } from '@treadle/mcp';
 * import { McpServer } from '@modelcontextprotocol/server';
 *
 * const clock = new McpServer({ name: 'clock', version: '1.0.0' });
 * clock.registerTool('now', { description: 'The time.' }, () => ({ content: [{ type: 'text', text: 'noon' }] }));
 *
 * await using servers = await mcpServers({ clock: { server: clock } });
 * console.log(servers.tools.map(({ name }) => name)); // [ 'mcp__clock__now' ]
 * ```
 */
export async function mcpServers(configs: McpServerConfigs, options: McpServersOptions = {}): Promise<McpServers> {
  const servers = new ServerSet(options);
  await servers.add(configs);
  return servers;
}

const missing = (name: string): never => {
  throw new TreadleError('internal', `The MCP server ${name} has no configuration.`);
};

async function startServer(
  name: string,
  prefix: string,
  config: McpServerConfig,
  options: McpServersOptions,
  sample: Answering['sample'],
): Promise<Server> {
  const { clock = systemClock, cache, onEvent = () => {}, roots = [], holdMs = HOLD_MS } = options;
  const key = cacheKey(name, config);
  const known = 'server' in config ? null : ((await cache?.get(key)) ?? null);
  const answering = { sample, roots: roots.map((path) => pathToFileURL(path).href) };
  const connection = new Connection(name, config, known, {
    clock,
    onEvent,
    clientInfo: options.clientInfo ?? { name: 'treadle', version: '0.1.0' },
    answering: {
      ...answering,
      elicit: options.elicitation === false ? null : (params, signal) => caller.elicit(params, signal),
    },
    // A cache that fails costs time, and nothing else.
    keep: async (kept) => cache?.set(key, kept).catch(() => {}),
    auth: 'url' in config ? options.auth?.(name, config) : undefined,
    fetch: options.fetch,
  });
  const caller = new Caller(connection, { clock, answering, holdMs });
  return { name, prefix, connection, caller, started: connection.start() };
}

/** Waits for a server of which nothing is known yet, until it has started or failed once, or its time is over. */
async function firstWait({ connection }: Server): Promise<void> {
  if (connection.known) return;
  const ms = connection.config.startupTimeoutMs ?? DEFAULT_STARTUP_MS;
  await connection.clientWithin(ms, new AbortController().signal).catch(() => {});
}

class ServerSet implements McpServers {
  readonly #options: McpServersOptions;
  readonly #sample: Answering['sample'];
  #servers: readonly Server[] = [];
  #tools: { readonly known: readonly unknown[]; readonly tools: readonly Tool[] } | null = null;

  constructor(options: McpServersOptions) {
    const { clock = systemClock, sampling } = options;
    this.#options = options;
    this.#sample = sampling ? samplerOf(sampling, clock) : null;
  }

  async add(configs: McpServerConfigs): Promise<void> {
    const names = Object.keys(configs);
    const others = this.#servers.filter(({ name }) => !names.includes(name));
    const prefixes = serverPrefixes([...others.map(({ name }) => name), ...names]);
    for (const [name, config] of Object.entries(configs)) checkServer(name, config);
    await Promise.all(names.map((name) => this.remove(name)));
    const added = await Promise.all(
      names.map((name) =>
        startServer(
          name,
          prefixes.get(name) ?? missing(name),
          configs[name] ?? missing(name),
          this.#options,
          this.#sample,
        ),
      ),
    );
    this.#servers = [...this.#servers, ...added];
    this.#tools = null;
    await Promise.all(added.map((server) => firstWait(server)));
  }

  async remove(name: string): Promise<boolean> {
    const found = this.#servers.find((server) => server.name === name);
    if (!found) return false;
    this.#servers = this.#servers.filter((server) => server !== found);
    this.#tools = null;
    await found.connection.close();
    return true;
  }

  get tools(): readonly Tool[] {
    const known = this.#servers.map(({ connection }) => connection.known);
    if (!this.#tools || known.some((one, index) => one !== this.#tools?.known[index])) {
      this.#tools = { known, tools: Object.freeze(this.#servers.flatMap(toolsOf)) };
    }
    return this.#tools.tools;
  }

  get status(): readonly McpServerStatus[] {
    return this.#servers.map((server) => {
      const { name, connection } = server;
      const problem = connection.problem?.message;
      const tools = toolsOf(server).length;
      return { name, state: connection.state, tools, ...(problem === undefined ? {} : { problem }) };
    });
  }

  async prompts(): Promise<McpPrompt[]> {
    const lists = this.#servers.map(async ({ name, prefix, connection }) => {
      if (connection.state !== 'ready') return [];
      const client = await connection.client();
      if (!client.getServerCapabilities()?.prompts) return [];
      const { prompts } = await client.listPrompts(undefined, { timeout: REQUEST_MS });
      return prompts.map((prompt): McpPrompt => ({
        server: name,
        name: prompt.name,
        command: toolName(prefix, prompt.name),
        description: prompt.description ?? '',
        arguments: (prompt.arguments ?? []).map((argument) => ({
          name: argument.name,
          description: argument.description ?? '',
          required: argument.required === true,
        })),
      }));
    });
    const settled = await Promise.allSettled(lists);
    return settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  }

  async prompt(server: string, name: string, values: Readonly<Record<string, string>> = {}): Promise<MessageInput[]> {
    const found = this.#servers.find((each) => each.name === server);
    if (!found) throw new McpProblem('unreachable', `There is no MCP server ${server}.`);
    const client: Client = await found.connection.client();
    try {
      const { messages } = await client.getPrompt({ name, arguments: { ...values } }, { timeout: REQUEST_MS });
      return promptInput(messages);
    } catch (error) {
      throw requestProblem(server, error);
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#servers.map(({ started }) => started));
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ connection }) => connection.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Characters of a tool's schema. Each request to a model has all of them, and a server is a stranger. */
const MOST_SCHEMA = 100_000;

const fits = ({ inputSchema }: KeptServer['tools'][number]): boolean =>
  !isDeep(inputSchema) && JSON.stringify(inputSchema).length <= MOST_SCHEMA;

function toolsOf({ prefix, connection, caller }: Server): readonly Tool[] {
  const { known, config } = connection;
  if (!known) return [];
  const wanted = config.tools && new Set(config.tools);
  const tools = new Map<string, Tool>();
  for (const definition of known.tools) {
    if ((wanted && !wanted.has(definition.name)) || !fits(definition)) continue;
    const name = toolName(prefix, definition.name);
    // The first of two that have the same name stands, whatever the server means by it.
    if (!tools.has(name)) tools.set(name, toolOf(name, definition, connection, caller));
  }
  const taken = new Set(tools.keys());
  return [...tools.values(), ...(known.hasResources ? resourceTools(prefix, connection, caller, taken) : [])];
}
