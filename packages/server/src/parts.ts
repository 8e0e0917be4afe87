import {
  createAnswerTokens,
  systemClock,
  TreadleError,
  type Agent,
  type Blobs,
  type Clock,
  type Journal,
  type JsonValue,
  type Session,
} from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import type { AnswerTokenOptions, Redactor } from '@treadle/core/features';
import {
  randomIds,
  type Dispatcher,
  type Ids,
  type LiveBus,
  type LiveFeed,
  type SharedState,
} from '@treadle/core/ports';
import type { BranchStrategy } from '@treadle/core/branches';
import { serverBranches } from './dispatch/branches.ts';
import { inProcess } from './dispatch/in-process.ts';
import { sharedFeed } from './dispatch/shared-feed.ts';
import type { StreamFormat } from './encoders/encoder.ts';
import { nativeFormat } from './encoders/native.ts';
import { checkServerLimits, type ServerLimits } from './limits.ts';
import { createLog, errorField, type LogRecord } from './log.ts';
import { checkOfferedOptions, type OfferedToolsOptions } from './offered-tools.ts';
import type { OriginRules } from './security/origin.ts';
import { rateLimiter } from './security/rate.ts';
import { loginLimiter, memoryState } from './security/shared-state.ts';
import { createTickets, type TicketOptions } from './security/tickets.ts';
import {
  tokenList,
  type Authenticate,
  type AuthenticateRequest,
  type Principal,
  type TokenGrant,
  type Visitor,
} from './security/tokens.ts';
import { watchSession } from './session-log.ts';
import { createStates } from './states.ts';
import { createConnections } from './streams/connections.ts';
import { createFeeds } from './streams/feed.ts';

/** Options of a server, but for its routes. */
export interface ServerSettings {
  /** The agents that sessions may be made with; the first is the default. A session keeps the name of its agent. */
  readonly agents: readonly Agent[];
  /** Where the logs are kept. */
  readonly journal: Journal;
  /** Who may use it: tokens, or a function that knows them. Not needed with `authenticate`. */
  readonly tokens?: readonly TokenGrant[] | Authenticate;
  /** Who may use it, by the application's own login: it sees the headers of each request, cookies included. */
  readonly authenticate?: AuthenticateRequest;
  /**
   * The cookie that has the token of requests which only read: a browser's `EventSource` sends no headers. The application
   * sets it. Default: no cookie counts.
   */
  readonly cookie?: string;
  /** How one-time tickets for `EventSource` are made (`POST /v1/sessions/{id}/tickets`). */
  readonly tickets?: TicketOptions;
  /** The path under which an application serves it, such as `/api/agents`. Default: none. */
  readonly basePath?: string;
  /** Where uploaded files are kept. Default: nowhere. */
  readonly blobs?: Blobs;
  /** Who drives sessions, and who tells of their deltas. Default: this process. */
  readonly dispatch?: Dispatcher & LiveFeed;
  /**
   * The way to the other servers of the journal: their readers see the deltas of runs that are driven here, and those here theirs.
   * It stays yours to close. Default: none, and readers elsewhere get each message when it is whole.
   */
  readonly bus?: LiveBus;
  /**
   * What all servers of the journal count together: failed logins of an address, used tickets, idempotency keys of replays. It
   * stays yours to close. Where it doesn't answer, whatever needs it is refused. Default: this process by itself.
   */
  readonly shared?: SharedState;
  /**
   * Called with each session that is opened to be driven here, such as `traceSession` of `@treadle/otel`; what it returns is called
   * when the session is closed. Not with a `dispatch` of your own, which opens its sessions itself.
   */
  readonly onSession?: (session: Session) => () => void;
  /** Which hosts and origins requests may name. */
  readonly origins?: OriginRules;
  /** Ways to choose among branches, by the names that requests use, besides those of `@treadle/core/branches`. */
  readonly strategies?: Readonly<Record<string, BranchStrategy>>;
  readonly limits?: Partial<ServerLimits>;
  /** Further formats of streams, by their names. The native one, `json`, is there always. */
  readonly formats?: readonly StreamFormat[];
  /** Takes secrets out of what is logged, and out of what streams tell that comes from no log. */
  readonly redactor?: Redactor;
  /** Takes the server's log: requests, failures, and what runs come to. Default: nothing is logged. */
  readonly log?: (record: LogRecord) => void;
  /**
   * Lets clients offer tools that they run themselves, for one run at a time: AG-UI's `tools`, and `clientTools` of the API.
   * They never take the place of an agent's own tool, and its permission rules hold for them. Default: what they offer is
   * passed over, and an agent has the tools that it was defined with.
   */
  readonly offeredTools?: true | OfferedToolsOptions;
  /**
   * Makes answer tokens, by which whoever has one answers one question and nothing else (`POST /v1/answers`). All processes
   * that serve the same journal have the same key. Default: none are made.
   */
  readonly answerTokens?: Pick<AnswerTokenOptions, 'key' | 'lifetimeMs'>;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** Who drives, shown to the next process that wants a session. */
  readonly owner?: string;
}

/** Reports are long: one process keeps no more. */
const MOST_REPLAYS = 100;

/** What the parts of a server share. */
export type ServerParts = ReturnType<typeof createParts>['parts'];

/** Makes what the parts of a server share, and what starts and stops it. @throws TreadleError `invalid_definition` */
export function createParts(options: ServerSettings) {
  const { journal, clock = systemClock, ids = randomIds, redactor = null, blobs, owner } = options;
  const limits = checkServerLimits(options.limits);
  const [defaultAgent] = options.agents;
  if (!defaultAgent) throw new TreadleError('invalid_definition', 'A server needs at least one agent.');
  if (options.dispatch && options.onSession) {
    throw new TreadleError('invalid_definition', 'Give onSession to whoever opens the sessions: to your own dispatch.');
  }
  const agents = new Map(options.agents.map((agent) => [agent.id, agent]));
  if (agents.size < options.agents.length) {
    throw new TreadleError('invalid_definition', 'Two agents of the server have the same id. Give each its own.');
  }
  const log = createLog(options.log, () => clock.now(), redactor);
  const branchSources = { agents, strategies: options.strategies ?? {} };
  const own = options.dispatch
    ? null
    : inProcess({
        journal,
        clock,
        ids,
        agentOf: (agentId) => (agentId === undefined ? defaultAgent : agents.get(agentId)),
        onSession: (session) => watchSession(session, options.log ? log : null, options.onSession),
        onError: (error, sessionId) => log('error', 'drive_failed', { sessionId, error: errorField(error) }),
        agents: options.agents,
        branches: serverBranches(branchSources),
        ...(blobs && { blobs }),
        ...(owner !== undefined && { owner }),
      });
  const dispatch = options.dispatch ?? own;
  if (!dispatch) throw new TreadleError('internal', 'Nobody drives sessions.');
  const shared = options.bus ? sharedFeed({ live: dispatch, bus: options.bus, clock }) : null;
  let draining = false;
  const authenticate = authenticator(options);
  const parts = {
    journal,
    /** By their names. */
    agents,
    defaultAgent,
    branchSources,
    blobs: blobs ?? null,
    clock,
    ids,
    dispatcher: dispatch as Dispatcher,
    feeds: createFeeds({ journal, live: shared ?? dispatch, ...(redactor && { clean: cleanedBy(redactor) }) }),
    states: createStates(journal, limits.states),
    connections: createConnections(clock, limits.heartbeatMs),
    /** Replays that are under way or were asked for lately. */
    replays: options.shared ?? memoryState(clock, MOST_REPLAYS),
    /** Null where clients offer none. */
    offeredTools: checkOfferedOptions(options.offeredTools),
    /** Null where none are made. */
    answerTokens: options.answerTokens ? createAnswerTokens({ ...options.answerTokens, clock }) : null,
    limits,
    log,
    authenticate,
    cookie: options.cookie ?? null,
    tickets: createTickets(clock, options.shared ?? memoryState(clock), options.tickets),
    basePath: checkBasePath(options.basePath ?? ''),
    origins: options.origins ?? {},
    requests: rateLimiter(clock, limits.requests),
    failedLogins: loginLimiter(clock, limits.failedLogins, options.shared),
    formats: new Map([nativeFormat, ...(options.formats ?? [])].map((format) => [format.name, format])),
    /** True once the server takes no more work. */
    isDraining: () => draining,
  } as const;
  return {
    parts,
    recover: async (): Promise<readonly string[]> => own?.recover() ?? [],
    async drain(waitMs = 10_000): Promise<boolean> {
      draining = true;
      const late = new AbortController();
      const cancel = clock.after(waitMs, () => late.abort());
      const finished = (await own?.drain(late.signal)) ?? true;
      cancel();
      // Last, so that readers see the runs end that do.
      parts.connections.endAll({ reason: 'draining' });
      parts.connections.stop();
      shared?.stop();
      return finished;
    },
  };
}

/** @throws TreadleError `invalid_definition` when nobody could use the server. */
function authenticator({ tokens, authenticate }: ServerSettings): (visitor: Visitor) => Promise<Principal | null> {
  if (tokens === undefined && authenticate === undefined) {
    throw new TreadleError(
      'invalid_definition',
      'Say who may use the server: give `tokens`, or `authenticate` for a login of your own.',
    );
  }
  const byToken = typeof tokens === 'function' ? tokens : tokens && tokenList(tokens);
  return async ({ token, headers }) => {
    const principal = token === null ? null : await byToken?.(token);
    return principal ?? (await authenticate?.({ headers })) ?? null;
  };
}

/** @throws TreadleError `invalid_definition` */
function checkBasePath(basePath: string): string {
  if (basePath === '' || /^(?:\/[A-Za-z0-9._~-]+)+$/.test(basePath)) return basePath;
  throw new TreadleError('invalid_definition', `basePath must look like /api/agents, and is ${basePath}.`);
}

/** What comes from no log may have what the log was kept clean of. The deltas of messages were cleaned where they came from. */
const cleanedBy =
  (redactor: Redactor) =>
  (event: LiveEvent): LiveEvent =>
    event.type === 'message_delta' || event.type === 'message_started'
      ? event
      : (redactor.redactJson(event as unknown as JsonValue) as unknown as LiveEvent);
