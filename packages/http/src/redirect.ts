import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from '@treadle/core/ports';

import { HttpProblem, shownUrl } from './problem.ts';
import { readUrl } from './target.ts';

/** One request of those that redirects make of one. */
export interface Hop {
  readonly url: URL;
  readonly method: HttpRequest['method'];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpRequest['body'];
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that say nothing of who asks. All others stay behind when a redirect leads to another origin. */
const HARMLESS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'user-agent']);

/**
 * The request a redirect asks for, or null when the response is none.
 *
 * @throws HttpProblem for an address that can't be asked, or when a body would go to another origin.
 */
export function redirectOf(hop: Hop, { statusCode = 0, headers }: IncomingMessage): Hop | null {
  const { location } = headers;
  if (!REDIRECTS.has(statusCode) || location === undefined) return null;
  const url = readUrl(location, hop.url);
  const sameOrigin = url.origin === hop.url.origin;
  const asGet = statusCode === 303 || (statusCode <= 302 && hop.method === 'POST');
  const method = asGet && hop.method !== 'HEAD' ? 'GET' : hop.method;
  const keepsBody = !asGet && hop.body !== undefined;
  if (keepsBody && !sameOrigin) {
    throw new HttpProblem(
      'redirect_refused',
      `${shownUrl(hop.url)} wants what was sent to it to be sent to ${shownUrl(url)}, which is another server.`,
    );
  }
  const kept = Object.entries(hop.headers).filter(([name]) => {
    const lower = name.toLowerCase();
    if (!sameOrigin) return HARMLESS.has(lower);
    return keepsBody || !lower.startsWith('content-');
  });
  const { body } = hop;
  return { url, method, headers: Object.fromEntries(kept), ...(keepsBody && body !== undefined ? { body } : {}) };
}
