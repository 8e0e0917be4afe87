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
import { randomIds, type Dispatcher, type Ids, type LiveFeed } from '@treadle/core/ports';
import { Hono } from 'hono';
import { inProcess } from './dispatch/in-process.ts';
import type { StreamFormat } from './encoders/encoder.ts';
import { nativeFormat } from './encoders/native.ts';
import { checkServerLimits, type ServerLimits } from './limits.ts';
import { createLog, errorField, type LogRecord } from './log.ts';
import { checkOfferedOptions, type OfferedToolsOptions } from './offered-tools.ts';
import { describeApi } from './openapi.ts';
import type { ServerParts } from './parts.ts';
import { problemResponse, RequestError } from './problem.ts';
import type { Route } from './routes/serving/route.ts';
import { ROUTES } from './routes/serving/routes.ts';
import { allowOrigin, serveRoute, type App } from './routes/serving/serve-route.ts';
import type { OriginRules } from './security/origin.ts';
import { rateLimiter } from './security/rate.ts';
import { tokenList, type Authenticate, type TokenGrant } from './security/tokens.ts';
import { watchSession } from './session-log.ts';
import { createStates } from './states.ts';
import { createConnections } from './streams/connections.ts';
import { createFeeds } from './streams/feed.ts';

export interface ServerOptions {
  /** The agents that sessions may be made with; the first is the default. A session keeps the name of its agent. */
  readonly agents: readonly Agent[];
  /** Where the logs are kept. */
  readonly journal: Journal;
  /** Who may use it: tokens, or a function that knows them. */
  readonly tokens: readonly TokenGrant[] | Authenticate;
  /** Where uploaded files are kept. Default: nowhere. */
  readonly blobs?: Blobs;
  /** Who drives sessions, and who tells of their deltas. Default: this process. */
  readonly dispatch?: Dispatcher & LiveFeed;
  /**
   * Called with each session that is opened to be driven here, such as `traceSession` of `@treadle/otel`; what it returns is called
   * when the session is closed. Not with a `dispatch` of your own, which opens its sessions itself.
   */
  readonly onSession?: (session: Session) => () => void;
  /** Which hosts and origins requests may name. */
  readonly origins?: OriginRules;
  readonly limits?: Partial<ServerLimits>;
  /** Further formats of streams, by their names. The native one, `json`, is there always. */
  readonly formats?: readonly StreamFormat[];
  /** Operations of your own, beside those of the API: they pass the same checks, and are in `GET /openapi.json`. */
  readonly routes?: readonly Route[];
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

/** A server without a socket: mount it in any application that speaks `fetch`, or give it to `listen`. */
export interface AgentServer {
  /** A Hono application; routes of other protocols are added to it with `app.route`. */
  readonly app: App;
  /** Answers one request. */
  fetch(request: Request): Response | Promise<Response>;
  /** What routes of other protocols are made of. */
  readonly parts: ServerParts;
  /** Has every session driven that was left unfinished, and resolves with their ids. To be called once, at the start. */
  recover(): Promise<readonly string[]>;
  /**
   * Takes no more work, tells all streams that it stops, and waits for runs that are under way, but no longer than `waitMs`
   * (default 10 s). False when some were left for the next process to go on with.
   */
  drain(waitMs?: number): Promise<boolean>;
}

/**
 * Makes a server of agents. Nothing is listened to, and nothing is driven before it is asked for.
 *
 * @throws TreadleError `invalid_definition` for options that can't be used.
 *
 * @example
 * ```ts
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { createServer } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const server = createServer({
 *   agents: [defineAgent({ model: scriptedModel(['Hello.']) })],
 *   journal: memoryJournal(),
 *   tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
 * });
 * const response = await server.fetch(
 *   new Request('http://localhost/v1/sessions', {
 *     method: 'POST',
 *     headers: { authorization: 'Bearer a-token-of-my-own' },
 *   }),
 * );
 * console.log(response.status); // 201
 * ```
 */
export function createServer(options: ServerOptions): AgentServer {
  const { journal, clock = systemClock, ids = randomIds, redactor = null } = options;
  const limits = checkServerLimits(options.limits);
  const agents = agentsByName(options.agents);
  const log = createLog(options.log, () => clock.now(), redactor);
  const own = options.dispatch
    ? null
    : inProcess({
        journal,
        clock,
        ids,
        agentOf: (agentId) => (agentId === undefined ? options.agents[0] : agents.get(agentId)),
        onSession: (session) => watchSession(session, options.log ? log : null, options.onSession),
        onError: (error, sessionId) => log('error', 'drive_failed', { sessionId, error: errorField(error) }),
        agents: options.agents,
        ...(options.blobs ? { blobs: options.blobs } : {}),
        ...(options.owner === undefined ? {} : { owner: options.owner }),
      });
  if (options.dispatch && options.onSession) {
    throw new TreadleError('invalid_definition', 'Give onSession to whoever opens the sessions: to your own dispatch.');
  }
  const dispatch = options.dispatch ?? own;
  const [defaultAgent] = options.agents;
  if (!dispatch || !defaultAgent) throw new TreadleError('invalid_definition', 'A server needs at least one agent.');
  let draining = false;
  const parts: ServerParts = {
    journal,
    agents,
    defaultAgent,
    blobs: options.blobs ?? null,
    clock,
    ids,
    dispatcher: dispatch,
    live: dispatch,
    feeds: createFeeds({ journal, live: dispatch, ...(redactor ? { clean: cleanedBy(redactor) } : {}) }),
    states: createStates(journal, limits.states),
    connections: createConnections(clock, limits.heartbeatMs),
    replays: new Map(),
    offeredTools: checkOfferedOptions(options.offeredTools),
    answerTokens: options.answerTokens ? createAnswerTokens({ ...options.answerTokens, clock }) : null,
    limits,
    log,
    redactor,
    authenticate: typeof options.tokens === 'function' ? options.tokens : tokenList(options.tokens),
    origins: options.origins ?? {},
    requests: rateLimiter(clock, limits.requests),
    failedLogins: rateLimiter(clock, limits.failedLogins),
    formats: new Map([nativeFormat, ...(options.formats ?? [])].map((format) => [format.name, format])),
    isDraining: () => draining,
  };
  const app = appOf(parts, withOwn(options.routes ?? []));
  return {
    app,
    parts,
    fetch: (request) => app.fetch(request),
    recover: async () => (own ? own.recover() : []),
    async drain(waitMs = 10_000) {
      draining = true;
      const late = new AbortController();
      const cancel = clock.after(waitMs, () => late.abort());
      const finished = (await own?.drain(late.signal)) ?? true;
      cancel();
      // Last, so that readers see the runs end that do.
      parts.connections.endAll({ reason: 'draining' });
      parts.connections.stop();
      return finished;
    },
  };
}

/** What comes from no log may have what the log was kept clean of. The deltas of messages were cleaned where they came from. */
const cleanedBy =
  (redactor: Redactor) =>
  (event: LiveEvent): LiveEvent =>
    event.type === 'message_delta' || event.type === 'message_started'
      ? event
      : (redactor.redactJson(event as unknown as JsonValue) as unknown as LiveEvent);

function agentsByName(agents: readonly Agent[]): Map<string, Agent> {
  const byName = new Map(agents.map((agent) => [agent.id, agent]));
  if (byName.size < agents.length) {
    throw new TreadleError('invalid_definition', 'Two agents of the server have the same id. Give each its own.');
  }
  return byName;
}

/** The API, and the routes of the application. @throws TreadleError `invalid_definition` for one that is there already. */
function withOwn(own: readonly Route[]): readonly Route[] {
  const routes = [...ROUTES, ...own];
  const taken = new Set<string>();
  for (const { method, path } of routes) {
    const name = `${method.toUpperCase()} ${path}`;
    if (taken.has(name))
      throw new TreadleError('invalid_definition', `Two routes serve ${name}. Change the path of one.`);
    taken.add(name);
  }
  return routes;
}

function appOf(parts: ServerParts, routes: readonly Route[]): App {
  const app: App = new Hono();
  app.onError((error) => {
    parts.log('error', 'request_failed', { error: errorField(error) });
    return problemResponse(error);
  });
  app.notFound((context) => {
    // Nobody without a token learns what there is.
    const response = problemResponse(
      new RequestError('not_found', 'There is nothing here. GET /openapi.json says what there is.'),
    );
    allowOrigin(parts, context, response.headers);
    return response;
  });
  health(app, parts, routes);
  preflight(app, parts);
  for (const route of routes) serveRoute(app, parts, route);
  return app;
}

function health(app: App, parts: ServerParts, routes: readonly Route[]): void {
  app.get('/healthz', () => new Response('ok', { headers: { 'content-type': 'text/plain' } }));
  app.get('/readyz', async () => {
    if (parts.isDraining()) return new Response('draining', { status: 503 });
    try {
      await parts.journal.list({ limit: 1 });
      return new Response('ready', { headers: { 'content-type': 'text/plain' } });
    } catch (error) {
      parts.log('error', 'not_ready', { error: errorField(error) });
      return new Response('the journal does not answer', { status: 503 });
    }
  });
  const description = JSON.stringify(describeApi(routes));
  const headers = { 'content-type': 'application/json' };
  serveRoute(app, parts, {
    method: 'get',
    path: '/openapi.json',
    id: 'describeApi',
    summary: 'Describes the API.',
    success: { status: 200, description: 'An OpenAPI 3.1 document.' },
    handle: async () => new Response(description, { headers }),
  });
}

/** Browsers ask before a page of another origin may use the API. The question itself needs no token. */
function preflight(app: App, parts: ServerParts): void {
  app.options('*', (context) => {
    const origin = context.req.header('origin');
    const headers = new Headers({ vary: 'origin' });
    if (origin === undefined || !parts.origins.origins?.includes(origin))
      return new Response(null, { status: 403, headers });
    headers.set('access-control-allow-origin', origin);
    headers.set('access-control-allow-methods', 'GET, POST, DELETE');
    headers.set('access-control-allow-headers', 'authorization, content-type, idempotency-key, last-event-id');
    headers.set('access-control-max-age', '600');
    return new Response(null, { status: 204, headers });
  });
}
