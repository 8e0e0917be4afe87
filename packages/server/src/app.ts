import { TreadleError } from '@treadle/core';
import { Hono } from 'hono';
import { errorField } from './log.ts';
import { describeApi } from './openapi.ts';
import { createParts, type ServerParts, type ServerSettings } from './parts.ts';
import { problemResponse, RequestError } from './problem.ts';
import type { Route } from './routes/serving/route.ts';
import { ROUTES } from './routes/serving/routes.ts';
import { serveRoute, type App, type AppEnvironment } from './routes/serving/serve-route.ts';
import { originHeaders } from './security/origin.ts';

/** Options of {@link createServer}. */
export interface ServerOptions extends ServerSettings {
  /** Operations of your own, beside those of the API: they pass the same checks, and are in `GET /openapi.json`. */
  readonly routes?: readonly Route[];
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
  const { parts, recover, drain } = createParts(options);
  const app = appOf(parts, withOwn(options.routes ?? []));
  return { app, parts, fetch: (request) => app.fetch(request), recover, drain };
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
  const app: App = new Hono<AppEnvironment>().basePath(parts.basePath);
  app.onError((error) => {
    parts.log('error', 'request_failed', { error: errorField(error) });
    return problemResponse(error);
  });
  app.notFound(() =>
    problemResponse(new RequestError('not_found', 'There is nothing here. GET /openapi.json says what there is.')),
  );
  crossOrigin(app, parts);
  health(app, parts, routes);
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
  const description = JSON.stringify(describeApi(routes, parts.basePath));
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

/**
 * Adds the headers that let pages of allowed origins read a response. Every response passes here: streams, errors and
 * refusals included. Browsers send a preflight request first, which needs no token.
 */
function crossOrigin(app: App, parts: ServerParts): void {
  app.use(async (context, next) => {
    const allowed = originHeaders(context.req.header('origin'), parts.origins);
    // Streams write to Node's response directly, and it keeps the headers that were set before.
    const node = context.env?.outgoing;
    for (const [name, value] of allowed) node?.setHeader(name, value);
    if (context.req.method === 'OPTIONS') {
      context.res = preflight(context.req.raw.headers, allowed);
      return;
    }
    await next();
    if (!node) for (const [name, value] of allowed) context.res.headers.set(name, value);
  });
}

function preflight(asked: Headers, allowed: Headers): Response {
  if (!allowed.has('access-control-allow-origin')) return new Response(null, { status: 403, headers: allowed });
  const headers = new Headers(allowed);
  headers.set('access-control-allow-methods', 'GET, POST, DELETE');
  headers.set(
    'access-control-allow-headers',
    asked.get('access-control-request-headers') ?? 'authorization, content-type',
  );
  headers.set('access-control-max-age', '600');
  return new Response(null, { status: 204, headers });
}
