import { errorText, TreadleError, type Clock, type Http } from '@treadle/core';
import type { HttpBody, HttpRequest, HttpResponse } from '@treadle/core/ports';

/** A request that wants credentials, exactly as it will be sent. Header names are lowercase; `host` is in the URL. */
export interface UnauthorizedRequest {
  readonly method: HttpRequest['method'];
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
}

/**
 * Where the credentials of a model's requests come from, when they are more than a key: a token that expires, or a
 * signature over the request.
 *
 * @example
 * ```ts
 * import type { CredentialProvider } from '@treadle/models';
 *
 * let token: Promise<string> | undefined;
 * const fetchToken = async (): Promise<string> => 'from your own token service';
 *
 * const credentials: CredentialProvider = {
 *   authorize: async () => ({ authorization: `Bearer ${await (token ??= fetchToken())}` }),
 *   invalidate: () => {
 *     token = undefined;
 *   },
 * };
 * ```
 */
export interface CredentialProvider {
  /**
   * Headers to add to a request; they win over those it has. Asked for every request, so keep what took effort to get.
   * What it throws ends the model call with an error of kind `auth`.
   */
  authorize(
    request: UnauthorizedRequest,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /**
   * The provider refused what `authorize` gave (401 or 403): forget it. The request is then authorized and sent once
   * more. Without this method a refusal is final.
   */
  invalidate?(): Promise<void> | void;
}

/** Credentials could not be had. Says why; `cause` is what was thrown. */
export class CredentialsError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'CredentialsError';
  }
}

/** Milliseconds that credentials may take: a metadata server that isn't there, a login command that waits for input. */
const CREDENTIALS_TIMEOUT_MS = 60_000;

/** `work`, unless the signal or the clock comes first. */
async function bounded<Value>(
  work: (signal: AbortSignal) => Promise<Value> | Value,
  signal: AbortSignal | undefined,
  clock: Clock,
): Promise<Value> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = (reason: unknown): void => {
    own.abort(reason);
    reject(reason instanceof Error ? reason : new Error('The request was cancelled.', { cause: reason }));
  };
  const onAbort = (): void => leave(signal?.reason);
  const cancelTimer = clock.after(CREDENTIALS_TIMEOUT_MS, () =>
    leave(new Error(`They took longer than ${CREDENTIALS_TIMEOUT_MS / 1000} seconds.`)),
  );
  signal?.addEventListener('abort', onAbort);
  try {
    return await Promise.race([left, work(own.signal)]);
  } finally {
    cancelTimer();
    signal?.removeEventListener('abort', onAbort);
  }
}

const isRefusal = (response: HttpResponse): boolean => response.status === 401 || response.status === 403;

/** Ends a response nobody wants to read. */
const discard = (response: HttpResponse): void => {
  // Whether its connection closes well can't matter to the request that follows.
  response.body[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined);
};

/**
 * Counts the invalidations of each provider, whose credentials several models may share: of the requests refused for the
 * same credentials only one forgets them.
 */
const generations = new WeakMap<CredentialProvider, number>();

/**
 * An `Http` that authorizes each request, and one that the other side refuses once more, with new credentials.
 *
 * @param onCredentials Is told the headers before they are sent, so that they can be kept out of errors.
 */
export function authorizedHttp(
  http: Http,
  credentials: CredentialProvider,
  clock: Clock,
  onCredentials: (headers: Readonly<Record<string, string>>) => void,
): Http {
  const authorized = async (request: HttpRequest): Promise<HttpRequest> => {
    const { method, url, headers, body = '', signal } = request;
    try {
      const added = await bounded((own) => credentials.authorize({ method, url, headers, body }, own), signal, clock);
      const lowercased = Object.fromEntries(Object.entries(added).map(([name, value]) => [name.toLowerCase(), value]));
      onCredentials(lowercased);
      return { ...request, headers: { ...headers, ...lowercased } };
    } catch (error) {
      // A library that isn't installed, and the like: it says itself what to do.
      if (error instanceof TreadleError) throw error;
      throw new CredentialsError(`No credentials for this request: ${errorText(error)}`, error);
    }
  };

  return async (request) => {
    const before = generations.get(credentials) ?? 0;
    const first = await http(await authorized(request));
    if (!isRefusal(first) || credentials.invalidate === undefined) return first;
    discard(first);
    if ((generations.get(credentials) ?? 0) === before) {
      generations.set(credentials, before + 1);
      await bounded(() => credentials.invalidate?.(), request.signal, clock);
    }
    return http(await authorized(request));
  };
}
