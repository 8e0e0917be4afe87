import { systemClock } from '@treadle/core';
import type { Http, HttpRequest, HttpResponse } from '@treadle/core';
import { DEFAULT_FIRST_BYTE_TIMEOUT_MS, DEFAULT_IDLE_TIMEOUT_MS, transportError, watchIdle } from './timeouts.ts';
import type { HttpTimeouts, IdleWatch } from './timeouts.ts';

/** A response as a library gives it. */
export interface Answer {
  readonly status: number;
  /** Names are lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterator<Uint8Array>;
}

/** How a library sends a request. */
export interface Transport {
  /** Resolves with the headers. The request and its body fail when `signal` aborts. */
  send(request: HttpRequest, signal: AbortSignal): Promise<Answer>;
  /** A request failed, and not because its caller cancelled it: other connections of before may be dead too. */
  failed?(): void;
}

const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

/** The length is always the body's own. */
const OURS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/;
/** What a header's value mustn't have: a line end would begin another header. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * A request's headers with lowercase names, without those that say how long the body is.
 *
 * @throws `ERR_INVALID_HTTP_TOKEN` and `ERR_INVALID_CHAR`. Libraries quote the value, which may be a key.
 */
export function headersOf({ headers }: HttpRequest): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name))
      throw transportError('ERR_INVALID_HTTP_TOKEN', `${JSON.stringify(name)} is no header's name.`);
    if (FORBIDDEN.test(value))
      throw transportError('ERR_INVALID_CHAR', `The value of the header ${name} has a character that none may have.`);
    const lowercase = name.toLowerCase();
    if (!OURS.has(lowercase)) all[lowercase] = value;
  }
  return all;
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

const reasonOf = ({ reason }: AbortSignal): Error =>
  reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.', reason);

/** `fetch` hides what went wrong in the cause. */
function* causesOf(thrown: unknown): Generator<NodeJS.ErrnoException> {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 4; error = error.cause, depth++) yield error;
}

/** The same code for the same failure, whichever library found it. */
const failureOf = (thrown: unknown, signal: AbortSignal): unknown => {
  if (signal.aborted) return reasonOf(signal);
  for (const { name, code = '' } of causesOf(thrown)) {
    if (code === 'UND_ERR_CONNECT_TIMEOUT')
      return transportError('TREADLE_CONNECT_TIMEOUT', 'The connection was not made in time.', thrown);
    if (name === 'HTTPParserError' || code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
      return transportError('TREADLE_MALFORMED_RESPONSE', "The server's response is not valid HTTP.", thrown);
  }
  return thrown;
};

/** One request of a transport, from its sending to the end of its body. */
interface Exchange {
  readonly control: AbortController;
  /** The caller's signal is no longer followed. */
  release(): void;
  /** What to throw for a failure. */
  fail(thrown: unknown): unknown;
}

function bodyOf(source: AsyncIterator<Uint8Array>, exchange: Exchange, idle: IdleWatch): AsyncIterable<Uint8Array> {
  let isOver = false;
  const finish = (): void => {
    isOver = true;
    idle.stop();
    exchange.release();
  };
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (isOver) return DONE;
      idle.wait();
      try {
        // What has come already would be read in spite of it.
        exchange.control.signal.throwIfAborted();
        const next = await source.next();
        idle.rest();
        if (next.done !== true) return next;
      } catch (error) {
        finish();
        throw exchange.fail(error);
      }
      finish();
      return DONE;
    },
    async return() {
      if (isOver) return DONE;
      finish();
      exchange.control.abort(transportError('ABORT_ERR', 'The reader left before the end.'));
      return DONE;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** An {@link Http} over a library: with time limits, the caller's signal, and one code for each kind of failure. */
export function timedHttp(transport: Transport, options: HttpTimeouts): Http {
  const { clock = systemClock } = options;
  const firstByteTimeoutMs = options.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS;
  const idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;

  const exchangeFor = ({ signal }: HttpRequest): Exchange => {
    signal?.throwIfAborted();
    const control = new AbortController();
    const onAbort = (): void => control.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    return {
      control,
      release: () => signal?.removeEventListener('abort', onAbort),
      fail(thrown) {
        if (signal?.aborted !== true) transport.failed?.();
        return failureOf(thrown, control.signal);
      },
    };
  };

  return async (request): Promise<HttpResponse> => {
    const exchange = exchangeFor(request);
    const { control } = exchange;
    const giveUp = (code: string, message: string): void => control.abort(transportError(code, message));
    const cancel = clock.after(firstByteTimeoutMs, () =>
      giveUp('TREADLE_FIRST_BYTE_TIMEOUT', `No response within ${firstByteTimeoutMs} ms.`),
    );
    try {
      const { status, headers, body } = await transport.send(request, control.signal);
      const idle = watchIdle(clock, idleTimeoutMs, () =>
        giveUp('TREADLE_IDLE_TIMEOUT', `No data for ${idleTimeoutMs} ms in the middle of the response.`),
      );
      return { status, headers, body: bodyOf(body, exchange, idle), idleTimeoutMs };
    } catch (error) {
      exchange.release();
      const failure = exchange.fail(error);
      // A response that was refused must not keep its connection.
      control.abort(failure);
      throw failure;
    } finally {
      cancel();
    }
  };
}
