import type {
  Client,
  ClientCapabilities,
  ElicitRequestParams,
  ElicitResult,
  PriorDiscovery,
  Tool,
  Transport,
} from '@modelcontextprotocol/client';
import { errorText } from '@treadle/core';
import type { Clock } from '@treadle/core';

import type { McpServerConfig } from './config.ts';
import { connectProblem, httpStatus, isUnauthorized, McpProblem } from './problem.ts';
import { letTasksThrough, TASKS_EXTENSION } from './task-results.ts';
import type { Sample } from './sampling-types.ts';
import { hide, secretsOf } from './secrets.ts';
import { openTransport } from './transport.ts';
import type { HttpParts, Opened } from './transport.ts';

/** What happens at a server, for whoever watches. */
export type McpEvent = { readonly server: string } & (
  | { readonly type: 'connected' }
  /** `message` may have what the process last wrote to its standard error: for people, not for models. */
  | { readonly type: 'failed' | 'disconnected'; readonly message: string }
  | { readonly type: 'tools_changed' | 'prompts_changed' | 'resources_changed' }
  | { readonly type: 'log'; readonly level: string; readonly data: unknown }
);

/** What is kept of a server from one process to the next. */
export interface KeptServer {
  readonly tools: readonly Tool[];
  readonly hasResources: boolean;
  /** Present when the server speaks the older protocol: when that was found out. */
  readonly legacyAt?: number;
}

/** What the server may ask of us. */
export interface Answering {
  /** Null: not offered. */
  readonly elicit: ((params: ElicitRequestParams, signal: AbortSignal) => Promise<ElicitResult>) | null;
  readonly sample: Sample | null;
  /** File addresses. */
  readonly roots: readonly string[];
}

export interface ConnectionParts extends HttpParts {
  readonly clock: Clock;
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly answering: Answering;
  readonly onEvent: (event: McpEvent) => void;
  /** Called with what is to be kept once it is known, and when it has changed. */
  readonly keep: (kept: KeptServer) => Promise<void>;
}

/** Milliseconds that a connection may take in all. Who waits for it may give up sooner. */
const CONNECT_TIMEOUT_MS = 60_000;
/** A process that says nothing for so long speaks the older protocol. An address that says nothing is down. */
const SILENCE_MS = 10_000;
/** A server is tried so often in the background; after that it is tried when it is called. */
const MOST_STARTS = 5;
/** Logins for one connection or one request. The last page that is shown is the third. */
export const MOST_LOGINS = 2;
const LONGEST_PAUSE_MS = 60_000;
/** How long it counts that a server speaks the older protocol: it may be upgraded. */
const LEGACY_FOR_MS = 24 * 60 * 60 * 1000;

export type ConnectionState = 'starting' | 'ready' | 'failed' | 'needs_login' | 'closed';

/** One server: connects when it is needed, and again when the connection was lost, with growing pauses between failures. */
export class Connection {
  readonly name: string;
  readonly config: McpServerConfig;
  /** What is known of its tools; null before it has ever answered. */
  known: KeptServer | null;
  readonly #parts: ConnectionParts;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  #problem: McpProblem | null = null;
  #failures = 0;
  #notBefore = 0;
  #closed = false;
  readonly #closing = new AbortController();
  #lastWords = '';

  constructor(name: string, config: McpServerConfig, known: KeptServer | null, parts: ConnectionParts) {
    this.name = name;
    this.config = config;
    this.known = known;
    this.#parts = parts;
  }

  get state(): ConnectionState {
    if (this.#closed) return 'closed';
    if (this.#client) return 'ready';
    if (this.#connecting || !this.#problem) return 'starting';
    return this.#problem.code === 'needs_login' ? 'needs_login' : 'failed';
  }

  /** Why it is not ready; null when nothing is wrong. */
  get problem(): McpProblem | null {
    return this.#client ? null : this.#problem;
  }

  /** What was sent to it that nobody else is to see. */
  get secrets(): readonly string[] {
    const { config } = this;
    const headers = 'url' in config ? Object.values(config.headers ?? {}) : [];
    return secretsOf([...headers, ...(this.#parts.auth?.secrets ?? [])]);
  }

  get isModern(): boolean {
    return this.#client?.getProtocolEra() === 'modern';
  }

  /** Tries until it is connected, a bounded number of times. Never rejects. */
  async start(): Promise<void> {
    for (let attempt = 1; attempt <= MOST_STARTS && !this.#closed; attempt += 1) {
      try {
        await this.client();
        return;
      } catch (error) {
        if (error instanceof McpProblem && error.code === 'needs_login') return;
        const { clock } = this.#parts;
        const wait = this.#notBefore - clock.now();
        await new Promise<void>((resolve) => void clock.after(Math.max(0, wait), resolve, { background: true }));
      }
    }
  }

  /** The connected client. @throws McpProblem when it can't be had now. */
  async client(): Promise<Client> {
    if (this.#closed) throw new McpProblem('unreachable', `The MCP server ${this.name} was closed.`);
    if (this.#client) return this.#client;
    if (this.#connecting) return this.#connecting;
    const { clock } = this.#parts;
    if (this.#problem && clock.now() < this.#notBefore) throw this.#problem;
    const connecting = this.#connect().finally(() => (this.#connecting = null));
    this.#connecting = connecting;
    return connecting;
  }

  /** The same, but not for longer than this. */
  async clientWithin(ms: number, signal: AbortSignal): Promise<Client> {
    const { clock } = this.#parts;
    const connecting = this.client();
    connecting.catch(() => {});
    return new Promise((resolve, reject) => {
      const late = `The MCP server ${this.name} is still starting. Try again later, or go on without it.`;
      const cancel = clock.after(ms, () => end(() => reject(new McpProblem('unreachable', late))));
      const stop = (): void => end(() => reject(new McpProblem('cancelled', 'It was cancelled.')));
      const end = (how: () => void): void => {
        cancel();
        signal.removeEventListener('abort', stop);
        how();
      };
      signal.addEventListener('abort', stop);
      connecting.then(
        (client) => end(() => resolve(client)),
        (error: unknown) => end(() => reject(error instanceof Error ? error : new Error(errorText(error)))),
      );
    });
  }

  /** Lets a connection go that turned out to be dead. The next request makes another one. */
  async drop(client: Client): Promise<void> {
    if (this.#client === client) this.#client = null;
    await client.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#closing.abort();
    const client = this.#client;
    this.#client = null;
    await client?.close().catch(() => {});
    await this.#connecting?.catch(() => {});
  }

  async #connect(): Promise<Client> {
    const { clock, onEvent } = this.#parts;
    try {
      const client = await this.#open();
      if (this.#closed) {
        await client.close();
        throw new McpProblem('unreachable', `The MCP server ${this.name} was closed.`);
      }
      this.#client = client;
      void this.#keepListening(client);
      this.#problem = null;
      this.#failures = 0;
      onEvent({ server: this.name, type: 'connected' });
      return client;
    } catch (error) {
      const problem = connectProblem(this.name, error);
      this.#problem = new McpProblem(problem.code, hide(problem.message, this.secrets));
      this.#failures += 1;
      this.#notBefore = clock.now() + Math.min(LONGEST_PAUSE_MS, 500 * 2 ** this.#failures);
      if (!this.#closed) onEvent({ server: this.name, type: 'failed', message: this.#problem.message + this.#said() });
      throw this.#problem;
    }
  }

  async #open(): Promise<Client> {
    const { config } = this;
    if (!('url' in config) || config.type !== undefined)
      return this.#openBy('url' in config && config.type === 'sse' ? 'sse' : 'http');
    try {
      return await this.#openBy('http');
    } catch (error) {
      // The answers by which a server says that it knows only the older transport.
      if (![400, 404, 405].includes(httpStatus(error) ?? 0)) throw error;
      return this.#openBy('sse').catch(() => {
        throw error;
      });
    }
  }

  /** Connects, with a login where the server wants one and the user is there for it. */
  async #openBy(kind: 'http' | 'sse'): Promise<Client> {
    for (let attempt = 1; ; attempt += 1) {
      const opened = await openTransport(this.config, this.#parts, kind);
      try {
        return await this.#openOn(opened);
      } catch (error) {
        if (attempt > MOST_LOGINS || !(await this.#logIn(opened.transport, error))) throw error;
      }
    }
  }

  /** A request was refused for the want of a login: true once there was one, and the request may be sent again. */
  async logIn(client: Client, thrown: unknown): Promise<boolean> {
    return client.transport !== undefined && (await this.#logIn(client.transport, thrown));
  }

  async #logIn(transport: Transport, thrown: unknown): Promise<boolean> {
    const callback = this.#parts.auth?.callback;
    if (!callback || !isUnauthorized(thrown) || !canFinish(transport)) return false;
    await transport.finishAuth(await callback());
    await this.#parts.auth?.provider.invalidateCredentials?.('discovery');
    return true;
  }

  async #openOn({ transport, lastWords }: Opened): Promise<Client> {
    letTasksThrough(transport);
    const client = await this.#newClient();
    const stop = (): void => void transport.close().catch(() => {});
    try {
      // The signal alone doesn't end the search for the server's era.
      this.#closing.signal.addEventListener('abort', stop);
      await client.connect(transport, {
        timeout: CONNECT_TIMEOUT_MS,
        signal: this.#closing.signal,
        ...this.#prior(),
      });
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- clients of the SDK have no listeners
      client.onclose = () => {
        if (this.#client !== client) return;
        this.#client = null;
        this.#lastWords = lastWords();
        const message = `The MCP server ${this.name} ended.${this.#said()}`;
        this.#parts.onEvent({ server: this.name, type: 'disconnected', message });
      };
      const { tools: hasTools, resources } = client.getServerCapabilities() ?? {};
      const tools = hasTools ? (await client.listTools()).tools : [];
      await this.#learn(client, tools, resources !== undefined);
      return client;
    } catch (error) {
      await client.close().catch(() => {});
      this.#lastWords = lastWords();
      throw error;
    } finally {
      this.#closing.signal.removeEventListener('abort', stop);
    }
  }

  /** A stream of changes that broke is opened again, and the list read, for nobody knows what was missed. */
  async #keepListening(client: Client): Promise<void> {
    const { clock } = this.#parts;
    let subscription = client.autoOpenedSubscription;
    for (let failures = 0; subscription && failures < MOST_STARTS;) {
      const { honoredFilter: filter } = subscription;
      const why = await subscription.closed;
      if (why === 'local' || this.#client !== client) return;
      while (failures < MOST_STARTS) {
        const ms = 500 * 2 ** failures;
        await new Promise<void>((resolve) => void clock.after(ms, resolve, { background: true }));
        if (this.#client !== client) return;
        try {
          subscription = await client.listen(filter);
          const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' });
          await this.#learn(client, tools, this.known?.hasResources === true);
          this.#parts.onEvent({ server: this.name, type: 'tools_changed' });
          failures = 0;
          break;
        } catch {
          failures += 1;
        }
      }
    }
  }

  #said(): string {
    return this.#lastWords === '' ? '' : ` It wrote: ${this.#lastWords}`;
  }

  #prior(): { readonly prior?: PriorDiscovery } {
    const at = this.known?.legacyAt;
    return at !== undefined && this.#parts.clock.now() - at < LEGACY_FOR_MS ? { prior: { kind: 'legacy' } } : {};
  }

  #learn(client: Client, tools: readonly Tool[], hasResources: boolean): Promise<void> {
    const legacy = client.getProtocolEra() === 'modern' ? {} : { legacyAt: this.#legacySince() };
    this.known = { tools, hasResources, ...legacy };
    return this.#parts.keep(this.known);
  }

  #legacySince(): number {
    const now = this.#parts.clock.now();
    const at = this.known?.legacyAt ?? now;
    return now - at < LEGACY_FOR_MS ? at : now;
  }

  async #newClient(): Promise<Client> {
    const sdk = await import('@modelcontextprotocol/client');
    const { answering, clientInfo, onEvent } = this.#parts;
    const { elicit, sample, roots } = answering;
    const capabilities: ClientCapabilities = {
      ...(elicit ? { elicitation: { form: {}, url: {} } } : {}),
      ...(sample ? { sampling: {} } : {}),
      ...(roots.length > 0 ? { roots: {} } : {}),
      extensions: { [TASKS_EXTENSION]: {} },
    };
    const changed = (type: 'prompts_changed' | 'resources_changed') => ({
      autoRefresh: false,
      onChanged: () => onEvent({ server: this.name, type }),
    });
    const client = new sdk.Client(clientInfo, {
      capabilities,
      versionNegotiation: {
        mode: 'auto',
        probe: { timeoutMs: 'url' in this.config ? CONNECT_TIMEOUT_MS : SILENCE_MS },
      },
      // Input is asked for where a call can wait for it durably: in `tools/call.ts`.
      inputRequired: { autoFulfill: false },
      listChanged: {
        tools: {
          onChanged: (_error, tools) => {
            if (!tools) return;
            void this.#learn(client, tools, this.known?.hasResources === true);
            onEvent({ server: this.name, type: 'tools_changed' });
          },
        },
        prompts: changed('prompts_changed'),
        resources: changed('resources_changed'),
      },
    });
    if (elicit)
      client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => elicit(params, mcpReq.signal));
    if (sample) {
      client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) => sample(params, mcpReq.signal));
    }
    if (roots.length > 0) client.setRequestHandler('roots/list', () => ({ roots: roots.map((uri) => ({ uri })) }));
    client.setNotificationHandler('notifications/message', ({ params: { level, data } }) =>
      onEvent({ server: this.name, type: 'log', level, data }),
    );
    // Reported where they matter: by the request that fails for it, and by `onclose`.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- clients of the SDK have no listeners
    client.onerror = () => {};
    return client;
  }
}

type Finishing = Transport & { finishAuth(parameters: URLSearchParams): Promise<void> };

const canFinish = (transport: Transport): transport is Finishing => 'finishAuth' in transport;
