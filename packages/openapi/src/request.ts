import type { JsonObject } from '@treadle/core';
import type { HttpRequest } from '@treadle/core/ports';

import { writeBody } from './body.ts';
import type { Operation } from './operations.ts';
import { OpenApiProblem } from './problem.ts';
import type { Proof } from './security.ts';
import { encodeText, headerText, pathText, queryPairs } from './serialize.ts';

/** What a request is written with. */
export interface RequestFacts {
  readonly server: URL;
  readonly proof: Proof;
  /** Headers of the application's own, which no argument replaces. */
  readonly headers: Readonly<Record<string, string>>;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.5';

/**
 * A request, and its address as a model and a log may see it: without credentials.
 *
 * @throws OpenApiProblem `bad_argument` for what can't be sent, or would be sent to another address.
 */
export function writeRequest(
  operation: Operation,
  args: JsonObject,
  facts: RequestFacts,
): { readonly request: HttpRequest; readonly shownUrl: string } {
  const { server, proof } = facts;
  const headers: Record<string, string> = { accept: ACCEPT };
  const query: string[] = [];
  const cookies: string[] = [];
  const values = new Map<string, string>();
  for (const { key, name, in: place, style, asJson } of operation.parameters) {
    const given = args[key];
    if (given === undefined) continue;
    const value = asJson ? JSON.stringify(given) : given;
    if (place === 'path') values.set(name, pathText(name, value, style));
    else if (place === 'query') query.push(...queryPairs(name, value, style));
    else if (place === 'header') headers[name.toLowerCase()] = headerText(value, style);
    else cookies.push(`${encodeText(name)}=${encodeText(headerText(value, style))}`);
  }
  const url = addressOf(operation.path, values, server);
  const own = url.search.slice(1);
  const asked = [...(own === '' ? [] : [own]), ...query];
  const proved = proof.query.map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`);
  const at = (pairs: readonly string[]): string =>
    `${url.origin}${url.pathname}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
  const body = operation.body === null ? undefined : args[operation.bodyKey];
  const written = operation.body === null || body === undefined ? null : writeBody(body, operation.body);
  if (written !== null) headers['content-type'] = written.type;
  if (operation.idempotencyHeader !== null) headers[operation.idempotencyHeader.toLowerCase()] = facts.idempotencyKey;
  const all = [...cookies, ...proof.cookies.map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)];
  if (all.length > 0) headers['cookie'] = all.join('; ');
  Object.assign(headers, proof.headers, lowerCase(facts.headers));
  checkHeaders(headers);
  return {
    shownUrl: at(asked),
    request: {
      method: operation.method,
      url: at([...asked, ...proved]),
      headers,
      signal: facts.signal,
      ...(written === null ? {} : { body: written.body }),
    },
  };
}

/** A segment that a URL takes for "here" or "one up", in all spellings. */
const DOTS = /^(?:\.|%2e){1,2}$/i;

/** The address of a path below a server. Whatever the values are, it has the path's segments, on the server's origin. */
function addressOf(path: string, values: ReadonlyMap<string, string>, server: URL): URL {
  const [template = ''] = path.split('#');
  const filled = template.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const value = values.get(name);
    if (value === undefined || value === '') {
      throw new OpenApiProblem('bad_argument', `${whole} of the path must not be empty.`);
    }
    return value;
  });
  const base = server.pathname.replace(/\/+$/, '');
  const [pathname = ''] = filled.split('?');
  if (pathname.split('/').some((segment) => DOTS.test(segment))) {
    throw new OpenApiProblem('bad_argument', 'A part of the path must not be "." or "..": that is another address.');
  }
  const url = URL.parse(`${server.origin}${base}${filled}`);
  const segments = `${base}${pathname}`.split('/').length;
  if (url === null || url.origin !== server.origin || url.pathname.split('/').length !== segments) {
    throw new OpenApiProblem('bad_argument', 'The path would be one of another address.');
  }
  return url;
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** A line end in a header would begin another one. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)) continue;
    throw new OpenApiProblem('bad_argument', `The header ${JSON.stringify(name.slice(0, 60))} can't be sent as it is.`);
  }
}
