import type { IncomingMessage } from 'node:http';
import type { HttpRequest, HttpResponse } from '@treadle/core/ports';

import { readBody } from './body.ts';
import { exchange, NOT_CONNECTED, type Answer } from './exchange.ts';
import { limitsOf, type HttpLimits } from './limits.ts';
import { HttpProblem, shownUrl } from './problem.ts';
import { redirectOf, type Hop } from './redirect.ts';
import { addressesOf, hostnameOf, readAllowed, readUrl, systemResolve, type Resolve } from './target.ts';

/** Settings of {@link guardedHttp}. */
export interface GuardedHttpOptions extends HttpLimits {
  /**
   * What may be asked although its address is not public: hosts (`intranet.example`, `*.intranet.example`), addresses
   * (`127.0.0.1`) and ranges (`10.0.0.0/8`). A host that is named here may lead anywhere. Default: nothing.
   */
  readonly allow?: readonly string[];
  /**
   * Which redirects are followed; each is checked as the first address was. `any` (the default); `same-host`: only those
   * that stay on the host; `none`. A redirect that isn't followed is the response.
   */
  readonly redirects?: 'any' | 'same-host' | 'none';
  /** How many redirects at most. Default 5. */
  readonly maxRedirects?: number;
  /** Looks names up; the system when absent. */
  readonly resolve?: Resolve;
  /** Certificates to trust besides Node's own, as PEM. */
  readonly ca?: string;
}

/** A response, and the address that it came from after all redirects. */
export interface GuardedResponse extends HttpResponse {
  readonly url: string;
}

/** An `Http` that says where its responses came from. */
export type GuardedHttp = (request: HttpRequest) => Promise<GuardedResponse>;

const settingsOf = (options: GuardedHttpOptions) => ({
  limits: limitsOf(options),
  allowed: readAllowed(options.allow ?? []),
  redirects: options.redirects ?? 'any',
  maxRedirects: options.maxRedirects ?? 5,
  resolve: options.resolve ?? systemResolve,
  ca: options.ca,
});

type Settings = ReturnType<typeof settingsOf>;

/**
 * HTTP for addresses that a model, a page or somebody's document names. It looks a name up itself, refuses whatever is
 * not a public address before it connects, connects to the address that it checked, and checks every redirect again. Heads,
 * bodies (also after unpacking) and times have limits. Only `http:` and `https:` are asked; proxies of the environment are
 * not used.
 *
 * @throws TreadleError `invalid_definition` for an `allow` that can't be read. Requests and bodies fail with an
 * {@link HttpProblem}.
 * @example
 * ```ts
 * import { guardedHttp, HttpProblem } from '@treadle/http';
 *
 * const http = guardedHttp();
 * const request = { method: 'GET', url: 'http://0x7f.1/', headers: {} } as const;
 * await http(request).catch((error: HttpProblem) => console.log(error.code)); // address_refused
 * ```
 */
export function guardedHttp(options: GuardedHttpOptions = {}): GuardedHttp {
  const settings = settingsOf(options);
  return (request) => send(request, settings);
}

/** What can be stopped, at any moment, and what is to be let go when it is over. */
interface Course {
  readonly onStop: (stop: (problem: HttpProblem) => void) => void;
  readonly release: () => void;
  /** Rejects when the course is stopped. */
  readonly stopped: Promise<never>;
}

function startCourse({ signal }: HttpRequest, shown: string, { limits }: Settings): Course {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  stopped.catch(() => {});
  let problem: HttpProblem | null = null;
  let current: ((problem: HttpProblem) => void) | null = null;
  const stop = (why: HttpProblem): void => {
    if (problem !== null) return;
    problem = why;
    release();
    current?.(why);
    reject(why);
  };
  const cancel = limits.clock.after(limits.totalTimeoutMs, () =>
    stop(new HttpProblem('timeout', `${shown} took longer than ${limits.totalTimeoutMs} ms.`)),
  );
  const onAbort = (): void => stop(new HttpProblem('aborted', `The request to ${shown} was aborted.`, signal?.reason));
  const release = (): void => {
    cancel();
    signal?.removeEventListener('abort', onAbort);
  };
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener('abort', onAbort);
  const onStop: Course['onStop'] = (next) => {
    current = next;
    if (problem !== null) next(problem);
  };
  return { onStop, release, stopped };
}

async function send(request: HttpRequest, settings: Settings): Promise<GuardedResponse> {
  const first = readUrl(request.url);
  const course = startCourse(request, shownUrl(first), settings);
  try {
    const { method, headers, body } = request;
    let hop: Hop = { url: first, method, headers, ...(body === undefined ? {} : { body }) };
    for (let count = 0; ; count += 1) {
      const { response, close } = await sendHop(hop, settings, course);
      const next = nextHop(hop, response, settings);
      if (next === null) return asResponse(hop.url, response, settings, course);
      close();
      if (count >= settings.maxRedirects) {
        throw new HttpProblem(
          'redirect_refused',
          `${shownUrl(first)} led to more than ${settings.maxRedirects} redirects.`,
        );
      }
      hop = next;
    }
  } catch (error) {
    course.release();
    throw error;
  }
}

/** The request that a redirect asks for; null when the response is to be taken as it is. */
function nextHop(hop: Hop, response: IncomingMessage, { redirects }: Settings): Hop | null {
  if (redirects === 'none') return null;
  const next = redirectOf(hop, response);
  if (next === null || redirects === 'any') return next;
  return hostnameOf(next.url) === hostnameOf(hop.url) && next.url.port === hop.url.port ? next : null;
}

async function sendHop(hop: Hop, settings: Settings, course: Course): Promise<Answer> {
  const { limits, allowed, resolve, ca } = settings;
  const addresses = await Promise.race([addressesOf(hop.url, allowed, resolve), course.stopped]);
  for (const address of addresses) {
    const { onStop } = course;
    const answer = await exchange({ ...hop, address, limits, onStop, ...(ca === undefined ? {} : { ca }) });
    if (answer !== NOT_CONNECTED) return answer;
  }
  throw new HttpProblem('connection_failed', `Nobody answers at ${shownUrl(hop.url)}.`);
}

function asResponse(url: URL, response: IncomingMessage, { limits }: Settings, course: Course): GuardedResponse {
  const { onStop, release } = course;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = typeof value === 'string' ? value : value.join(', ');
  }
  let body: AsyncIterable<Uint8Array>;
  try {
    body = readBody(response, { limits, shown: shownUrl(url), release, onStop });
  } catch (error) {
    response.destroy();
    throw error;
  }
  return {
    status: response.statusCode ?? 0,
    headers,
    body,
    idleTimeoutMs: limits.idleTimeoutMs,
    url: url.href,
  };
}
