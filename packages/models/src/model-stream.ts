import type {
  Clock,
  Http,
  HttpBody,
  HttpResponse,
  ModelError,
  ModelEvent,
  ModelEventIterator,
  ModelRequest,
} from '@treadle/core';
import { CANCELLED, connectionError, excerptOf, reportedError } from './errors/classify.ts';
import type { Redact } from './errors/redact.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, transportError } from './http/timeouts.ts';
import { readWholeBody, responseProblem, sniff } from './response.ts';
import type { Decoder, DecoderSink, Encoder, FrameHandler, FrameScanner, Protocol } from './protocols/protocol.ts';
import { createUnknownTypes } from './unknown-types.ts';

/** What all streams of one model share. */
export interface StreamSetup {
  readonly protocol: Protocol;
  readonly http: Http;
  readonly clock: Clock;
  readonly redact: Redact;
  /** Whether an error that isn't worth trying again is so after all; see `Encoder`. */
  readonly recovers: Encoder['recovers'];
  /** Whether what only keeps the connection alive counts as an answer that goes on. */
  readonly pingsResetIdleTimeout: boolean;
  prepare(request: ModelRequest): {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: HttpBody;
  };
}

/** What a response is read with. */
interface Reader {
  readonly decoder: Decoder;
  readonly scanner: FrameScanner;
}

type Result = IteratorResult<ModelEvent>;

const DONE: Result = { done: true, value: undefined };

/** After the last event, what may still come is read so that the connection can be kept: this much, this long. */
const DRAIN_BYTES = 64 * 1024;
const DRAIN_MS = 1000;

/** Events that say nothing but that somebody is still there. Comments are no events at all. */
const KEEP_ALIVES: ReadonlySet<string> = new Set(['ping', 'keepalive', 'keep-alive', 'heartbeat']);

const drain = (body: AsyncIterator<Uint8Array>, clock: Clock): void => {
  let bytes = 0;
  let over = false;
  let cancel: (() => void) | undefined;
  const end = (): void => {
    over = true;
    cancel?.();
  };
  const leave = (): void => {
    end();
    body.return?.().catch(() => undefined);
  };
  const read = (): void => {
    body.next().then(
      (result) => {
        if (over) return;
        if (result.done === true) return end();
        bytes += result.value.length;
        if (bytes > DRAIN_BYTES) leave();
        else read();
      },
      // The answer was complete before; nothing that happens to its connection now matters.
      end,
    );
  };
  read();
  // Most bodies have ended by now, which their first answer says; only for others there is something to wait for.
  void Promise.resolve().then(() => {
    if (!over) cancel = clock.after(DRAIN_MS, leave, { background: true });
  });
};

/**
 * One model call as an iterator. It reads the body only while its consumer waits and decodes each network chunk at
 * once, into a queue: per event there is one array slot, and one settled promise for consumers who don't ask for `ready`.
 */
export function createModelStream(setup: StreamSetup, request: ModelRequest, signal: AbortSignal): ModelEventIterator {
  const { protocol, clock, redact } = setup;
  let queue: ModelEvent[] = [];
  let head = 0;
  let started = false;
  /** The terminal event is in the queue, or the consumer left. */
  let over = false;
  let waiter: ((result: Result) => void) | undefined;
  /** Cancels the request when the caller's signal does, and when the consumer leaves. */
  const own = new AbortController();
  let body: AsyncIterator<Uint8Array> | undefined;
  let response: HttpResponse | undefined;
  /** Frames that said something. */
  let frames = 0;
  let waitingSince = 0;
  let cancelQuiet: (() => void) | undefined;

  const rest = (): void => {
    cancelQuiet?.();
    cancelQuiet = undefined;
  };

  /** Bytes came and said nothing. The transport sees that there is somebody; that the answer stands still is seen here. */
  const watchQuiet = (): void => {
    if (setup.pingsResetIdleTimeout) return;
    const limit = response?.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    cancelQuiet ??= clock.after(Math.max(0, waitingSince + limit - clock.now()), () => {
      const message = `Nothing but signs of life for ${limit} ms in the middle of the response.`;
      failed(transportError('TREADLE_IDLE_TIMEOUT', message));
    });
  };

  const shift = (): ModelEvent | undefined => {
    const value = queue[head];
    if (value !== undefined && ++head === queue.length) {
      queue = [];
      head = 0;
    }
    return value;
  };

  const take = (): Result | undefined => {
    const value = shift();
    if (value === undefined) return over ? DONE : undefined;
    return { done: false, value };
  };

  const wake = (): void => {
    if (waiter === undefined) return;
    const result = take();
    if (result === undefined) return;
    const resolve = waiter;
    waiter = undefined;
    resolve(result);
  };

  const close = (): void => {
    over = true;
    rest();
    signal.removeEventListener('abort', onAbort);
  };

  const fail = (error: ModelError): void => {
    if (over) return;
    close();
    const recovers = !error.retryable && setup.recovers?.(request, error) === true;
    queue.push({ type: 'error', error: recovers ? { ...error, retryable: true } : error });
    leaveBody();
  };

  const leaveBody = (): void => {
    // Ending the iteration closes the connection; whether that worked can't matter to anybody any more.
    body?.return?.().catch(() => undefined);
    body = undefined;
  };

  const onAbort = (): void => {
    if (over) return;
    queue = [];
    head = 0;
    fail(CANCELLED);
    own.abort(signal.reason);
    wake();
  };

  const failed = (thrown: unknown): void => {
    fail(signal.aborted ? CANCELLED : connectionError(thrown, redact));
    wake();
  };

  const facts = (): { redact: Redact; now: number; headers: Readonly<Record<string, string>> } => ({
    redact,
    now: clock.now(),
    headers: response?.headers ?? {},
  });

  /** What reads a response, made when one comes: a thousand calls that wait for theirs have nothing to read yet. */
  let reader: Reader | undefined;
  const createReader = (): Reader => {
    const unknown = createUnknownTypes();
    const sink: DecoderSink = {
      event(event) {
        if (over) return;
        if (event.type === 'finish') {
          const unknownTypes = unknown.counts();
          queue.push(unknownTypes === undefined ? event : { ...event, unknownTypes });
          close();
        } else queue.push(event);
      },
      error: (error) => fail(reportedError(error, error.status, facts())),
      malformed: (message) => fail({ kind: 'network', message, retryable: true }),
      unknown(type) {
        if (KEEP_ALIVES.has(type)) frames--;
        else unknown.add(type);
      },
    };
    const decoder = protocol.createDecoder(sink, request);
    const onFrame: FrameHandler = (name, data, whole) => {
      frames++;
      decoder.frame(name, data, whole);
    };
    const scanner = protocol.framing(onFrame, (message) => fail({ kind: 'other', message, retryable: false }));
    return { decoder, scanner };
  };

  const bodyEnded = (): void => {
    reader?.scanner.end();
    reader?.decoder.end();
    fail({
      kind: 'network',
      message: 'The stream ended early: the connection was closed before the answer was complete.',
      retryable: true,
    });
    wake();
  };

  const pull = (): void => {
    if (body === undefined) return;
    body.next().then(received, failed);
  };

  const received = (result: IteratorResult<Uint8Array>): void => {
    // Left or cancelled meanwhile.
    if (over) return wake();
    if (result.done === true) return bodyEnded();
    const before = frames;
    reader?.scanner.push(result.value);
    if (frames !== before) rest();
    if (over && body !== undefined) {
      const remainder = body;
      body = undefined;
      drain(remainder, clock);
    }
    wake();
    if (waiter === undefined) return;
    if (frames === before) watchQuiet();
    else waitingSince = clock.now();
    pull();
  };

  const readWhole = async (first: IteratorResult<Uint8Array>, stream: AsyncIterator<Uint8Array>): Promise<void> => {
    const known = response;
    if (known === undefined) return;
    const text = await readWholeBody(first, stream, known.status !== 200);
    if (over) return;
    body = undefined;
    const problem = responseProblem(known, text, protocol, facts());
    if ('error' in problem) fail(problem.error);
    else if (reader?.decoder.whole(problem.body) !== true) {
      fail({
        kind: 'other',
        message: `The server answered with JSON that is not a response of ${protocol.name}.`,
        retryable: false,
        status: known.status,
        excerpt: excerptOf(text, redact),
      });
    }
    wake();
  };

  const opened = async (answer: HttpResponse): Promise<void> => {
    const stream = answer.body[Symbol.asyncIterator]();
    body = stream;
    // Left or cancelled while the headers came.
    if (over) return leaveBody();
    response = answer;
    reader = createReader();
    waitingSince = clock.now();
    const typed = (answer.headers['content-type'] ?? '').toLowerCase().startsWith(protocol.contentType);
    if (answer.status === 200 && typed) return pull();
    const first = await stream.next();
    const startsStream = protocol.startsStream ?? ((chunk) => sniff(chunk) === 'stream');
    const isStream = answer.status === 200 && first.done !== true && startsStream(first.value);
    if (isStream) received(first);
    else await readWhole(first, stream);
  };

  const start = (): void => {
    started = true;
    if (signal.aborted) return fail(CANCELLED);
    signal.addEventListener('abort', onAbort);
    let prepared: ReturnType<StreamSetup['prepare']>;
    try {
      prepared = setup.prepare(request);
    } catch (error) {
      return fail({ ...connectionError(error, redact), kind: 'other', retryable: false });
    }
    setup
      .http({ method: 'POST', ...prepared, signal: own.signal })
      .then(opened)
      .catch(failed);
  };

  return {
    ready: shift,
    next() {
      if (!started) start();
      const ready = take();
      if (ready !== undefined) return Promise.resolve(ready);
      if (waiter !== undefined)
        return Promise.reject(new Error('A model stream has one consumer, which takes one event at a time.'));
      return new Promise((resolve) => {
        waiter = resolve;
        waitingSince = clock.now();
        pull();
      });
    },
    return() {
      started = true;
      if (!over) {
        close();
        own.abort();
      }
      queue = [];
      head = 0;
      leaveBody();
      wake();
      return Promise.resolve(DONE);
    },
  };
}
