import type { ServerResponse } from 'node:http';
import type { ClientToolResult, DurableEvent, JsonObject, JsonSchema } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';
import type { StreamFormat } from '../../encoders/encoder.ts';
import type { PageRequest } from '../../operations/catalogue.ts';
import type { Accepted, Caller } from '../../operations/post.ts';
import type { RunRequest } from '../../operations/runs.ts';
import type { CreatedSession, NewSession, SessionStanding } from '../../operations/sessions.ts';
import type { ApprovalDecision } from '../../inputs/client-turn.ts';

/** An input that is in the log, and the run that it is for. */
export interface RouteRun extends Accepted {
  /**
   * The response that streams the run, from the input to the run's end or its next pause. A client that closes it cancels
   * nothing. Default: the format that the request names by `format`, else the native one.
   */
  stream(format?: StreamFormat): Response;
}

/**
 * The sessions of a server, for one request. Each function checks whether the request's token may use the session: it throws
 * a RequestError, `not_found` for a session that the token may not see, `forbidden` for a token that may only read.
 */
export interface RouteSessions {
  /** Starts a session. A request that is repeated under its idempotency key finds the session that it made. */
  create(session?: NewSession): Promise<CreatedSession>;
  /** A page of the sessions that the token may see, those that changed last first. */
  list(page?: PageRequest): Promise<{ readonly sessions: readonly SessionSummary[]; readonly cursor?: string }>;
  /** The events of a session's log, oldest first. `from` is the first one's `seq`, default 1. */
  events(sessionId: string, from?: number): AsyncIterable<DurableEvent>;
  /** The events of the open run up to now. Empty when no run is open. */
  openRun(sessionId: string): Promise<readonly DurableEvent[]>;
  /** Starts a run with `input`, or with `continue: true`. @throws TreadleError `run_active` */
  startRun(sessionId: string, request: RunRequest): Promise<RouteRun>;
  /** What a session is at: its title, its status, and what its run waits for. */
  read(sessionId: string): Promise<SessionStanding>;
  /** Answers questions of the open run. The first answer to a question counts. @throws TreadleError `not_awaiting`, `conflict` */
  answerApprovals(sessionId: string, answers: readonly ApprovalDecision[]): Promise<RouteRun>;
  /** Gives the results of all client tools that the open run waits for. @throws TreadleError `not_awaiting`, `conflict` */
  addToolOutputs(sessionId: string, results: readonly ClientToolResult[]): Promise<RouteRun>;
}

/** The query parameters that a route declares, as the types that their schemas say. */
export type RouteQuery = Readonly<Record<string, string | number | boolean>>;

/** A request that passed the server's checks: host, origin, token, rate limit, path, query and body. */
export interface RouteCall extends Caller {
  /** The server's sessions, as the token of the request may use them. */
  readonly sessions: RouteSessions;
  readonly request: Request;
  /** The token that it was let in with. It comes into no log and no answer. */
  readonly token: string;
  /** What the ids of a stream's events end with: what lets a reader in again that came with a ticket. Empty for others. */
  readonly idSuffix: string;
  /** What `{sessionId}` stands for in the path; empty where the path has none. */
  readonly sessionId: string;
  /** What stands in the path, decoded and checked. */
  readonly path: Readonly<Record<string, string>>;
  /** Only the declared parameters. One that is missing has its schema's `default`, or is absent. */
  readonly query: RouteQuery;
  /** The JSON body, fitting the route's schema; `{}` where it has none. */
  readonly body: JsonObject;
  /** Node's own response, where there is one: streams write to it directly. */
  readonly node: ServerResponse | null;
}

/**
 * One operation of the API. The server checks each request against this description before it calls `handle`, and
 * `GET /openapi.json` shows the same description. `handle` may throw a `RequestError` or a `TreadleError`: the client gets its
 * code and its message. It gets no word of any other error.
 *
 * @example
 * ```ts
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { createServer, jsonResponse, type Route } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const count: Route = {
 *   method: 'get',
 *   path: '/v1/sessions/{sessionId}/count',
 *   id: 'countEvents',
 *   summary: 'Counts the events of a session.',
 *   success: { status: 200, description: '`count`.' },
 *   async handle({ sessions, sessionId }) {
 *     let count = 0;
 *     for await (const _ of sessions.events(sessionId)) count += 1;
 *     return jsonResponse({ count });
 *   },
 * };
 * createServer({
 *   agents: [defineAgent({ model: scriptedModel(['Hello.']) })],
 *   journal: memoryJournal(),
 *   tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
 *   routes: [count],
 * });
 * ```
 */
export interface Route {
  readonly method: 'get' | 'post' | 'delete';
  /** With names in braces, as OpenAPI has it: `/v1/sessions/{sessionId}`. */
  readonly path: string;
  /** Its name in the description. */
  readonly id: string;
  readonly summary: string;
  /**
   * What the token must be allowed: to look, or to change something. `answer`: it is the token of a question.
   * Default: `read` for GET, else `write`.
   */
  readonly access?: 'read' | 'write' | 'answer';
  /** Strings, integers with their `minimum` and `maximum`, or booleans. */
  readonly query?: Readonly<Record<string, { readonly schema: JsonSchema; readonly description: string }>>;
  /** Of a JSON body; bodies are checked against it. */
  readonly body?: JsonSchema;
  /** The type of a body that isn't JSON and is read by the handler. */
  readonly bodyType?: string;
  /** The status of success, and what it is. */
  readonly success: { readonly status: number; readonly description: string; readonly contentType?: string };
  /** Codes of the errors that are its own, beside those that every request may have. */
  readonly problems?: readonly string[];
  handle(call: RouteCall): Promise<Response>;
}

/** A value as a JSON response, which no cache keeps. */
export const jsonResponse = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  });

/** What the client is told of an input: its place in the log. Null where nothing needed to be done. */
export const accepted = (done: Accepted | null): Response => jsonResponse(done ?? { duplicate: false }, 202);
