import type { PatternMatcher } from '@treadle/core/ports';
import type { ServerResponse } from 'node:http';
import type { JsonObject } from '@treadle/core';
import { compileSchema, type SchemaCheck } from '@treadle/core/json';
import type { Context, Hono } from 'hono';
import { readJson } from '../../json-body.ts';
import { errorField } from '../../log.ts';
import { isSessionId } from '../../operations/schemas.ts';
import type { ServerParts } from '../../parts.ts';
import { problemResponse, RequestError } from '../../problem.ts';
import { checkAccess, checkOrigin, checkReadable, identify, identifyAnswer, tokenOf } from '../../security/admit.ts';
import { readQuery } from './query.ts';
import type { Route, RouteCall } from './route.ts';
import { sessionsFor } from './sessions.ts';

/** What Node's adapter puts beside a request. Under other servers there is nothing. */
interface NodeBindings {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly outgoing?: ServerResponse;
}

export type App = Hono<{ Bindings: NodeBindings }>;

const KEY = /^[\x21-\x7e]{1,200}$/;

/** Patterns come from routes, which the owner of the server writes, never from a request. */
const ownPattern: PatternMatcher = (pattern) => {
  const expression = new RegExp(pattern, 'u');
  return (text) => expression.test(text);
};

/** Has the app serve a route: who may, what may come in, and what goes wrong are the same for all of them. */
export function serveRoute(app: App, parts: ServerParts, route: Route): void {
  const check = route.body === undefined ? null : compileSchema(route.body, ownPattern);
  const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
  app[route.method](path, async (context) => {
    const startedAt = parts.clock.now();
    let response: Response;
    let name = '';
    try {
      const call = await admitCall(parts, context, route, check);
      ({ name } = call.principal);
      response = await route.handle(call);
    } catch (error) {
      response = problemResponse(error);
      if (response.status >= 500) parts.log('error', 'request_failed', { route: route.id, error: errorField(error) });
    }
    allowOrigin(parts, context, response.headers);
    parts.log('info', 'request', {
      route: route.id,
      status: response.status,
      ms: parts.clock.now() - startedAt,
      ...(name === '' ? {} : { principal: name }),
    });
    return response;
  });
}

async function admitCall(
  parts: ServerParts,
  context: Context<{ Bindings: NodeBindings }>,
  route: Route,
  check: SchemaCheck | null,
): Promise<RouteCall> {
  const request = context.req.raw;
  const { headers } = request;
  const visitor = { host: headers.get('host') ?? hostOf(request), origin: headers.get('origin') };
  checkOrigin(parts, visitor);
  const address = context.env?.incoming?.socket?.remoteAddress ?? 'unknown';
  const token = tokenOf(headers);
  const identified = { ...visitor, token, address };
  const access = route.access ?? (route.method === 'get' ? 'read' : 'write');
  const principal = await (access === 'answer' ? identifyAnswer : identify)(parts, identified);
  const path: Readonly<Record<string, string>> = context.req.param();
  const { sessionId } = path;
  // What no id can be is in no log, and comes into no file's name.
  if (sessionId !== undefined && !isSessionId(sessionId))
    throw new RequestError('not_found', 'There is no such session.');
  if (sessionId !== undefined && access === 'read') await checkReadable(parts, principal, sessionId);
  else checkAccess(principal, access === 'read' ? 'read' : 'write', sessionId);
  const body = route.method === 'post' && route.bodyType === undefined ? await bodyOf(parts, request, check) : {};
  const key = keyOf(headers);
  const call = {
    parts,
    request,
    principal,
    token: token ?? '',
    sessionId: sessionId ?? '',
    path,
    query: readQuery(new URL(request.url).searchParams, route.query),
    body,
    key,
    inputKey: key === null ? parts.ids.create('http') : `http:${principal.name}:${key}`,
    node: context.env?.outgoing ?? null,
  };
  return { ...call, sessions: sessionsFor(call) };
}

const hostOf = (request: Request): string => new URL(request.url).host;

function keyOf(headers: Headers): string | null {
  const key = headers.get('idempotency-key');
  if (key === null || KEY.test(key)) return key;
  throw new RequestError('bad_request', 'An idempotency key has 1 to 200 printable characters, without spaces.');
}

async function bodyOf({ limits }: ServerParts, request: Request, check: SchemaCheck | null): Promise<JsonObject> {
  const body = await readJson(request, { maxBytes: limits.bodyBytes, maxDepth: limits.bodyDepth });
  const [issue] = check?.(body) ?? [];
  if (!issue) return body;
  throw new RequestError(
    'bad_request',
    `The body does not fit: ${issue.path === '' ? 'it' : issue.path} ${issue.message}.`,
  );
}

/** Pages of an origin that was allowed may read the answer. */
export function allowOrigin({ origins }: ServerParts, context: Context, headers: Headers): void {
  const origin = context.req.header('origin');
  if (origin === undefined || !origins.origins?.includes(origin)) return;
  headers.set('access-control-allow-origin', origin);
  headers.append('vary', 'origin');
}
