import type { PatternMatcher } from '@treadle/core/ports';
import type { ServerResponse } from 'node:http';
import type { JsonObject, JsonSchema } from '@treadle/core';
import { compileSchema, isJsonObject, type SchemaCheck } from '@treadle/core/json';
import type { Context, Hono } from 'hono';
import type { BlankSchema } from 'hono/types';
import { BODY_IS_READ, readJson } from '../../json-body.ts';
import { errorField } from '../../log.ts';
import { isSessionId } from '../../operations/schemas.ts';
import type { ServerParts } from '../../parts.ts';
import { problemResponse, RequestError } from '../../problem.ts';
import {
  admitted,
  checkAccess,
  checkOrigin,
  checkReadable,
  identify,
  identifyAnswer,
  isCrossSite,
  tokenOf,
} from '../../security/admit.ts';
import { cookieIn } from '../../security/tokens.ts';
import { readQuery } from './query.ts';
import type { Route, RouteCall } from './route.ts';
import { sessionsFor } from './sessions.ts';

/** What Node's adapter puts beside a request. Under other servers there is nothing. */
interface NodeBindings {
  readonly incoming?: {
    readonly socket?: { readonly remoteAddress?: string };
    readonly readableDidRead?: boolean;
    /** Set where a body parser has read the body. */
    readonly rawBody?: unknown;
    readonly headers?: Readonly<Record<string, unknown>>;
  };
  readonly outgoing?: ServerResponse;
}

export interface AppEnvironment {
  Bindings: NodeBindings;
}

export type App = Hono<AppEnvironment, BlankSchema, string>;

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
      response = retryLater(parts, route, context.req.raw, error) ?? problemResponse(error);
      if (response.status >= 500) parts.log('error', 'request_failed', { route: route.id, error: errorField(error) });
    }
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
  const isRead = route.method === 'get' && !isCrossSite(headers);
  const token =
    tokenOf(headers) ?? (isRead && parts.cookie !== null ? cookieIn(headers.get('cookie'), parts.cookie) : null);
  const identified = { ...visitor, token, headers, address };
  const access = route.access ?? (route.method === 'get' ? 'read' : 'write');
  const path: Readonly<Record<string, string>> = context.req.param();
  const { sessionId } = path;
  const url = new URL(request.url);
  const ticket = isStream(route) && token === null ? url.searchParams.get('ticket') : null;
  const principal =
    ticket !== null && sessionId !== undefined
      ? await admitted(parts, await parts.tickets.admit(ticket, sessionId, headers.get('last-event-id')), address)
      : await (access === 'answer' ? identifyAnswer : identify)(parts, identified);
  // What no id can be is in no log, and comes into no file's name.
  if (sessionId !== undefined && !isSessionId(sessionId))
    throw new RequestError('not_found', 'There is no such session.');
  if (sessionId !== undefined && access === 'read') await checkReadable(parts, principal, sessionId);
  else checkAccess(principal, access === 'read' ? 'read' : 'write', sessionId);
  if (route.method === 'post' && isBodyGone(context.env)) throw new RequestError('bad_request', BODY_IS_READ);
  const body =
    route.method === 'post' && route.bodyType === undefined ? await bodyOf(parts, request, check, route.body) : {};
  const key = keyOf(headers);
  const call = {
    parts,
    request,
    principal,
    token: token ?? '',
    idSuffix: ticket === null ? '' : parts.tickets.idSuffix(principal, sessionId ?? ''),
    sessionId: sessionId ?? '',
    path,
    query: readQuery(url.searchParams, route.query),
    body,
    key,
    inputKey: key === null ? parts.ids.create('http') : `http:${principal.name}:${key}`,
    node: context.env?.outgoing ?? null,
  };
  return { ...call, sessions: sessionsFor(call) };
}

const isStream = ({ method, success }: Route): boolean =>
  method === 'get' && success.contentType === 'text/event-stream';

const PASSING: ReadonlySet<string> = new Set(['too_many_requests', 'too_many_connections', 'draining']);

/**
 * An `EventSource` gives up for good at 429 and 503. It is told to come back instead. Null for other errors, and for other
 * clients.
 */
function retryLater({ limits }: ServerParts, route: Route, { headers }: Request, error: unknown): Response | null {
  if (!isStream(route) || headers.get('accept') !== 'text/event-stream') return null;
  if (!(error instanceof RequestError) || !PASSING.has(error.code)) return null;
  const waitMs = Math.max(limits.retryMs, 1000 * Number(error.headers['retry-after'] ?? 0));
  return new Response(`retry: ${waitMs}\n\n`, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
}

/** True where something has read a body and kept nothing of it. */
function isBodyGone({ incoming }: NodeBindings = {}): boolean {
  if (incoming?.readableDidRead !== true || incoming.rawBody !== undefined) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers ?? {};
  return encoding !== undefined || (length !== undefined && length !== '0');
}

const hostOf = (request: Request): string => new URL(request.url).host;

function keyOf(headers: Headers): string | null {
  const key = headers.get('idempotency-key');
  if (key === null || KEY.test(key)) return key;
  throw new RequestError('bad_request', 'An idempotency key has 1 to 200 printable characters, without spaces.');
}

async function bodyOf(
  { limits }: ServerParts,
  request: Request,
  check: SchemaCheck | null,
  schema: JsonSchema | undefined,
): Promise<JsonObject> {
  const body = await readJson(request, { maxBytes: limits.bodyBytes, maxDepth: limits.bodyDepth });
  const [issue] = check?.(body) ?? [];
  if (!issue) return body;
  throw new RequestError(
    'bad_request',
    `The body does not fit: ${issue.path === '' ? 'it' : issue.path} ${issue.message}.${lineToWrite(issue.path, body, schema)}`,
  );
}

/** What to write where a value of a few is expected. */
function lineToWrite(path: string, body: JsonObject, schema: JsonSchema | undefined): string {
  const properties = isJsonObject(schema?.['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema?.['required']) ? schema['required'] : [];
  const name = path.slice(1) || String(required.find((key) => typeof key === 'string' && !Object.hasOwn(body, key)));
  const field = properties[name];
  const choices: readonly unknown[] = isJsonObject(field) && Array.isArray(field['enum']) ? field['enum'] : [];
  if (choices.length === 0) return '';
  return ` Write: ${choices.map((choice) => JSON.stringify({ [name]: choice })).join(' or ')}`;
}
