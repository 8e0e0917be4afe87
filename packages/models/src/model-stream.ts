import type { Clock, Http, HttpResponse, ModelError, ModelEvent, ModelRequest } from '@treadle/core';
import { CANCELLED, connectionError, excerptOf, reportedError } from './errors/classify.ts';
import type { Redact } from './errors/redact.ts';
import { readWholeBody, responseProblem, sniff } from './response.ts';
import type { DecoderSink, Protocol } from './protocols/protocol.ts';

/** What all streams of one model share. */
export interface StreamSetup {
  readonly protocol: Protocol;
  readonly http: Http;
  readonly clock: Clock;
  readonly redact: Redact;
  prepare(request: ModelRequest): {
    readonly url: string;
    readonly headers: Record<string, string>;
    readonly body: string;
  };
}

type Result = IteratorResult<ModelEvent>;

const DONE: Result = { done: true, value: undefined };

/** After the last event, what may still come is read so that the connection can be kept: this much, this long. */
const DRAIN_BYTES = 64 * 1024;
const DRAIN_MS = 1000;

const drain = (body: AsyncIterator<Uint8Array>, clock: Clock): void => {
  let bytes = 0;
  let over = false;
  const leave = (): void => {
    over = true;
    body.return?.().catch(() => undefined);
  };
  const cancel = clock.after(DRAIN_MS, leave, { background: true });
  const read = (): void => {
    body.next().then(
      (result) => {
        if (over) return;
        if (result.done === true) return cancel();
        bytes += result.value.length;
        if (bytes > DRAIN_BYTES) {
          cancel();
          leave();
        } else read();
      },
      // The answer was complete before; nothing that happens to its connection now matters.
      () => cancel(),
    );
  };
  read();
};

/**
 * One model call as an iterator. It reads the body only while its consumer waits and decodes each network chunk at
 * once, into a queue: per event there is one array slot and one settled promise.
 */
export function createModelStream(
  setup: StreamSetup,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncIterator<ModelEvent> {
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

  const take = (): Result | undefined => {
    const value = queue[head];
    if (value === undefined) return over ? DONE : undefined;
    head++;
    if (head === queue.length) {
      queue = [];
      head = 0;
    }
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
    signal.removeEventListener('abort', onAbort);
  };

  const fail = (error: ModelError): void => {
    if (over) return;
    close();
    queue.push({ type: 'error', error });
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

  const sink: DecoderSink = {
    event(event) {
      if (over) return;
      queue.push(event);
      if (event.type === 'finish') close();
    },
    error: (error) => fail(reportedError(error, error.status, facts())),
    malformed: (message) => fail({ kind: 'network', message, retryable: true }),
  };
  const decoder = protocol.createDecoder(sink, request);
  const scanner = protocol.framing(decoder.frame, (message) => fail({ kind: 'other', message, retryable: false }));

  const bodyEnded = (): void => {
    scanner.end();
    decoder.end();
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
    scanner.push(result.value);
    if (over && body !== undefined) {
      const rest = body;
      body = undefined;
      drain(rest, clock);
    }
    wake();
    if (waiter !== undefined) pull();
  };

  const readWhole = async (first: IteratorResult<Uint8Array>, stream: AsyncIterator<Uint8Array>): Promise<void> => {
    const known = response;
    if (known === undefined) return;
    const text = await readWholeBody(first, stream, known.status !== 200);
    if (over) return;
    body = undefined;
    const problem = responseProblem(known, text, protocol, facts());
    if ('error' in problem) fail(problem.error);
    else if (!decoder.whole(problem.body)) {
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
    next() {
      if (!started) start();
      const ready = take();
      if (ready !== undefined) return Promise.resolve(ready);
      if (waiter !== undefined)
        return Promise.reject(new Error('A model stream has one consumer, which takes one event at a time.'));
      return new Promise((resolve) => {
        waiter = resolve;
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
