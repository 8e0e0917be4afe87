import { systemClock, type Http } from '@treadle/core';
import type { HttpRequest, HttpResponse } from '@treadle/core/ports';
import { DEFAULT_FIRST_BYTE_TIMEOUT_MS, DEFAULT_IDLE_TIMEOUT_MS, transportError } from './timeouts.ts';
import type { HttpTimeouts } from './timeouts.ts';

/** A response as a library gives it. */
export interface Answer {
  readonly status: number;
  /** Names are lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterator<Uint8Array>;
}

/** What a library sends, and when it has to stop. */
export interface Sending {
  readonly request: HttpRequest;
  /** Aborts when the request or its body has to stop: its time is over, its caller cancelled it, or its reader left. */
  readonly signal: AbortSignal;
}

/** How a library sends a request. */
export interface Transport {
  /** Resolves with the headers. The request and its body fail once they have to stop. */
  send(sending: Sending): Promise<Answer>;
  /** A request failed, and not because its caller cancelled it: other connections of before may be dead too. */
  failed?(): void;
}

const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

/** The length is always the body's own. */
const OURS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** A request's headers with lowercase names, without those that say how long the body is. */
export function headersOf({ headers }: HttpRequest): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lowercase = name.toLowerCase();
    if (!OURS.has(lowercase)) all[lowercase] = value;
  }
  return all;
}

const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/;
/** What a header's value mustn't have: a line end would begin another header. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * {@link headersOf}, checked as Node checks them. Other libraries quote the value in their errors, which may be a key.
 *
 * @throws `ERR_INVALID_HTTP_TOKEN` and `ERR_INVALID_CHAR`.
 */
export function checkedHeadersOf(request: HttpRequest): Record<string, string> {
  const headers = headersOf(request);
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name))
      throw transportError('ERR_INVALID_HTTP_TOKEN', `${JSON.stringify(name)} is no header's name.`);
    if (FORBIDDEN.test(value))
      throw transportError('ERR_INVALID_CHAR', `The value of the header ${name} has a character that none may have.`);
  }
  return headers;
}

/** A response's headers, with repeated ones in one line. */
export function joinedHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return all;
}

const asReason = (reason: unknown): Error =>
  reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.', reason);

/** `fetch` hides what went wrong in the cause. */
function* causesOf(thrown: unknown): Generator<NodeJS.ErrnoException> {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 4; error = error.cause, depth++) yield error;
}

/** The same code for the same failure, whichever library found it. */
const failureOf = (thrown: unknown): unknown => {
  for (const { name, code = '' } of causesOf(thrown)) {
    if (code === 'UND_ERR_CONNECT_TIMEOUT')
      return transportError('TREADLE_CONNECT_TIMEOUT', 'The connection was not made in time.', thrown);
    if (name === 'HTTPParserError' || code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
      return transportError('TREADLE_MALFORMED_RESPONSE', "The server's response is not valid HTTP.", thrown);
  }
  return thrown;
};

/** An {@link Http} over a library: with time limits, the caller's signal, and one code for each kind of failure. */
export function timedHttp(transport: Transport, options: HttpTimeouts): Http {
  const { clock = systemClock } = options;
  const firstByteTimeoutMs = options.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS;
  const idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  return async (request): Promise<HttpResponse> => {
    request.signal?.throwIfAborted();
    const control = new AbortController();
    /** Stops the request after a time. Returns what cancels that. */
    const limit = (ms: number, code: string, message: string): (() => void) =>
      clock.after(ms, () => control.abort(transportError(code, message)));
    const onAbort = (): void => control.abort(asReason(request.signal?.reason));
    request.signal?.addEventListener('abort', onAbort);
    const release = (): void => request.signal?.removeEventListener('abort', onAbort);

    /** The request is over by this failure. Returns what to throw. */
    const failed = (thrown: unknown): unknown => {
      release();
      if (request.signal?.aborted !== true) transport.failed?.();
      const failure: unknown = control.signal.aborted ? control.signal.reason : failureOf(thrown);
      // A response that was refused must not keep its connection.
      control.abort(asReason(failure));
      return failure;
    };

    const bodyOf = (source: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> => {
      let isOver = false;
      const silence = `No data for ${idleTimeoutMs} ms in the middle of the response.`;
      const iterator: AsyncIterator<Uint8Array> = {
        async next() {
          if (isOver) return DONE;
          const cancel = limit(idleTimeoutMs, 'TREADLE_IDLE_TIMEOUT', silence);
          try {
            // What has come already would be read in spite of it.
            control.signal.throwIfAborted();
            const next = await source.next();
            if (next.done !== true) return next;
          } catch (error) {
            isOver = true;
            throw failed(error);
          } finally {
            cancel();
          }
          isOver = true;
          release();
          return DONE;
        },
        async return() {
          if (isOver) return DONE;
          isOver = true;
          release();
          control.abort(transportError('ABORT_ERR', 'The reader left before the end.'));
          return DONE;
        },
      };
      return { [Symbol.asyncIterator]: () => iterator };
    };

    const slow = `No response within ${firstByteTimeoutMs} ms.`;
    const cancel = limit(firstByteTimeoutMs, 'TREADLE_FIRST_BYTE_TIMEOUT', slow);
    try {
      const { status, headers, body } = await transport.send({ request, signal: control.signal });
      return { status, headers, body: bodyOf(body), idleTimeoutMs };
    } catch (error) {
      throw failed(error);
    } finally {
      cancel();
    }
  };
}
