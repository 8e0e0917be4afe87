import type { JsonObject, JsonSchema } from '@treadle/core';
import type { ServerParts } from '../../parts.ts';
import type { Principal } from '../../security/tokens.ts';
import type { NodeResponse } from '../../streams/response-sink.ts';

/** A request that was let in. */
export interface Call {
  readonly parts: ServerParts;
  readonly request: Request;
  readonly principal: Principal;
  /** The token that it was let in with. It comes into no log and no answer. */
  readonly token: string;
  /** What stands in the path, decoded and checked. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The JSON body, fitting the route's schema; `{}` where it has none. */
  readonly body: JsonObject;
  /** What the request is known by when it is made again; null when it has no idempotency key. */
  readonly key: string | null;
  /** Node's own response, where there is one: streams write to it directly. */
  readonly node: NodeResponse | null;
}

/** One operation of the API: what serves it is what describes it. */
export interface Route {
  readonly method: 'get' | 'post' | 'delete';
  /** With names in braces, as OpenAPI has it: `/v1/sessions/{sessionId}`. */
  readonly path: string;
  /** Its name in the description. */
  readonly id: string;
  readonly summary: string;
  /** What a token must be allowed: to look, or to change something. `answer`: it is the token of a question. */
  readonly access: 'read' | 'write' | 'answer';
  readonly query?: Readonly<Record<string, { readonly schema: JsonSchema; readonly description: string }>>;
  /** Of a JSON body; bodies are checked against it. */
  readonly body?: JsonSchema;
  /** The type of a body that isn't JSON and is read by the handler. */
  readonly bodyType?: string;
  /** The status of success, and what it is. */
  readonly success: { readonly status: number; readonly description: string; readonly contentType?: string };
  /** Codes of the errors that are its own, beside those that every request may have. */
  readonly problems?: readonly string[];
  handle(call: Call): Promise<Response>;
}

export const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  });
