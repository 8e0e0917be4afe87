import type { Clock, HttpBody, ModelError, ModelEvent, ModelEventIterator, ModelRequest } from '@treadle/core';
import { CANCELLED, connectionError, excerptOf, reportedError } from './errors/classify.ts';
import type { FailureFacts } from './errors/classify.ts';
import type { Redact } from './errors/redact.ts';
import { createDeadlines } from './http/deadlines.ts';
import type { Awaited, Deadlines } from './http/deadlines.ts';
import type { Call, Exchange, Receiver, ResponseFacts } from './http/exchange.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, transportError } from './http/timeouts.ts';
import { createWholeBody, responseProblem, sniff } from './response.ts';
import type { WholeBody } from './response.ts';
import type { Decoder, DecoderSink, Encoder, FrameScanner, Protocol, WireError } from './protocols/protocol.ts';
import { createUnknownTypes } from './unknown-types.ts';
import type { UnknownTypes } from './unknown-types.ts';

/** What all streams of one model share. */
export interface StreamSetup {
  readonly protocol: Protocol;
  readonly exchange: Exchange;
  /** The streams whose answer is complete, and whose body is not. */
  readonly drains: Deadlines<StreamReader>;
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

type Result = IteratorResult<ModelEvent>;

const DONE: Result = { done: true, value: undefined };

/** After the last event, what may still come is read so that the connection can be kept: this much, this long. */
const DRAIN_BYTES = 64 * 1024;
const DRAIN_MS = 1000;

/** Events that may wait for their consumer before the server is held back, and bytes that may have come meanwhile. */
const MOST_AHEAD = 1024;
const MOST_BYTES_AHEAD = 256 * 1024;

/** Events that say nothing but that somebody is still there. Comments are no events at all. */
const KEEP_ALIVES: ReadonlySet<string> = new Set(['ping', 'keepalive', 'keep-alive', 'heartbeat']);

type FinishEvent = Extract<ModelEvent, { readonly type: 'finish' }>;

/** Where what has come after the last event of an answer is waited for. */
export const createDrains = (clock: Clock): Deadlines<StreamReader> =>
  createDeadlines(clock, DRAIN_MS, (stream) => stream.leave());

/** One model call as an iterator, sent when its first event is asked for. */
export function createModelStream(setup: StreamSetup, request: ModelRequest, signal: AbortSignal): ModelEventIterator {
  return new StreamReader(setup, request, signal);
}

/**
 * What the server sends is decoded as it comes, into a queue: per event there is one array slot, and one settled promise
 * for consumers who don't ask for `ready`. When too much waits in it, the server is held back.
 *
 * It is a class, of which a run that waits for its model holds one, and nothing else of this wire: what a response is
 * read with is made when one comes. Its fields are `private` and not `#`: the engine stores to those by a slower way.
 */
class StreamReader implements ModelEventIterator, Receiver, DecoderSink, Awaited {
  due = 0;
  earlier: this | undefined = undefined;
  later: this | undefined = undefined;

  private readonly setup: StreamSetup;
  private readonly request: ModelRequest;
  private readonly signal: AbortSignal;
  private queue: ModelEvent[] = [];
  private head = 0;
  private isStarted = false;
  /** The terminal event is in the queue, or the consumer left. */
  private isOver = false;
  private isDraining = false;
  private isPaused = false;
  /** Bytes that came since the consumer last had all there was. */
  private bytesAhead = 0;
  private waiter: ((result: Result) => void) | undefined;
  /** Until the response is over, or nobody wants the rest. */
  private call: Call | undefined;
  private response: ResponseFacts | undefined;
  private decoder: Decoder | undefined;
  /** Undefined as long as it isn't known whether the body is a stream. */
  private scanner: FrameScanner | undefined;
  /** A body that is no stream. */
  private whole: WholeBody | undefined;
  private unknownTypes: UnknownTypes | undefined;
  /** Frames that said something. */
  private frames = 0;
  private drained = 0;
  private waitingSince = 0;
  private cancelQuiet: (() => void) | undefined;

  constructor(setup: StreamSetup, request: ModelRequest, signal: AbortSignal) {
    this.setup = setup;
    this.request = request;
    this.signal = signal;
  }

  ready(): ModelEvent | undefined {
    const value = this.queue[this.head];
    if (value !== undefined && ++this.head === this.queue.length) {
      this.forgetEvents();
      this.caughtUp();
    }
    return value;
  }

  /** The consumer has all there was. */
  private caughtUp(): void {
    this.bytesAhead = 0;
    if (!this.isPaused) return;
    this.isPaused = false;
    this.call?.resume();
  }

  next(): Promise<Result> {
    if (!this.isStarted) this.start();
    const ready = this.take();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.waiter !== undefined)
      return Promise.reject(new Error('A model stream has one consumer, which takes one event at a time.'));
    return new Promise((resolve) => {
      this.waiter = resolve;
      this.waitingSince = this.setup.clock.now();
      // What came may have held nothing to take.
      this.caughtUp();
      this.call?.wait();
    });
  }

  return(): Promise<Result> {
    this.isStarted = true;
    if (!this.isOver) {
      this.close();
      this.leave();
    }
    this.forgetEvents();
    this.wake();
    return Promise.resolve(DONE);
  }

  private forgetEvents(): void {
    this.queue = [];
    this.head = 0;
  }

  private take(): Result | undefined {
    const value = this.ready();
    if (value === undefined) return this.isOver ? DONE : undefined;
    return { done: false, value };
  }

  private wake(): void {
    const resolve = this.waiter;
    const result = resolve === undefined ? undefined : this.take();
    if (resolve === undefined || result === undefined) return;
    this.waiter = undefined;
    resolve(result);
  }

  private start(): void {
    this.isStarted = true;
    const { redact, exchange } = this.setup;
    if (this.signal.aborted) return this.fail(CANCELLED);
    this.signal.addEventListener('abort', this.onAbort);
    let prepared: ReturnType<StreamSetup['prepare']>;
    try {
      prepared = this.setup.prepare(this.request);
    } catch (error) {
      return this.fail({ ...connectionError(error, redact), kind: 'other', retryable: false });
    }
    const { url, headers, body } = prepared;
    try {
      const call = exchange({ method: 'POST', url, headers, body }, this);
      // It may have failed already.
      if (!this.isOver) this.call = call;
    } catch (error) {
      this.onFailure(error);
    }
  }

  private readonly onAbort = (): void => {
    if (this.isOver) return;
    this.forgetEvents();
    this.fail(CANCELLED);
    this.wake();
  };

  private close(): void {
    this.isOver = true;
    this.rest();
    this.signal.removeEventListener('abort', this.onAbort);
  }

  private fail(error: ModelError): void {
    if (this.isOver) return;
    const recovers = !error.retryable && this.setup.recovers?.(this.request, error) === true;
    this.endWith(recovers ? { ...error, retryable: true } : error);
  }

  private endWith(error: ModelError): void {
    this.close();
    this.queue.push({ type: 'error', error });
    this.leave();
  }

  /** The protocol threw, which it would do again. Nobody who tells of a response expects that, nor can help. */
  private thrown(error: unknown): void {
    if (this.isOver) this.leave();
    else {
      const known = connectionError(error, this.setup.redact);
      const message = `The response can't be read: ${known.message}`;
      this.endWith({ ...known, kind: 'other', message, retryable: false });
    }
    this.wake();
  }

  /** Nobody wants the rest of the response. */
  leave(): void {
    this.call?.cancel(this.signal.reason);
    this.call = undefined;
  }

  private facts(): FailureFacts {
    const { redact, clock } = this.setup;
    return { redact, now: clock.now(), headers: this.response?.headers ?? {} };
  }

  onResponse(response: ResponseFacts): void {
    try {
      this.open(response);
    } catch (error) {
      this.thrown(error);
    }
  }

  private open(response: ResponseFacts): void {
    const { protocol, clock } = this.setup;
    this.response = response;
    this.decoder = protocol.createDecoder(this, this.request);
    this.waitingSince = clock.now();
    const type = response.headers['content-type'] ?? '';
    const isTyped = type.startsWith(protocol.contentType) || type.toLowerCase().startsWith(protocol.contentType);
    if (response.status === 200 && isTyped) this.scanner = this.createScanner(this.decoder);
  }

  private createScanner(decoder: Decoder): FrameScanner {
    return this.setup.protocol.framing(
      (name, data, whole) => {
        this.frames++;
        decoder.frame(name, data, whole);
      },
      (message) => this.fail({ kind: 'other', message, retryable: false }),
    );
  }

  onChunk(bytes: Uint8Array): void {
    try {
      this.read(bytes);
    } catch (error) {
      this.thrown(error);
    }
  }

  private read(bytes: Uint8Array): void {
    if (this.isDraining) return this.drain(bytes.length);
    if (this.isOver) return;
    const scanner = this.scanner ?? this.scannerFor(bytes);
    if (scanner === undefined) return this.readWhole(bytes);
    const before = this.frames;
    scanner.push(bytes);
    if (this.frames !== before) this.rest();
    if (this.isOver) this.drain(0);
    this.wake();
    if (this.isOver) return;
    if (this.waiter !== undefined) {
      if (this.frames === before) this.watchQuiet();
      else this.waitingSince = this.setup.clock.now();
      this.call?.wait();
      return;
    }
    this.bytesAhead += bytes.length;
    if (this.bytesAhead >= MOST_BYTES_AHEAD || this.queue.length - this.head >= MOST_AHEAD) {
      this.isPaused = true;
      this.call?.pause();
    }
  }

  /** A body that doesn't say that it is a stream may begin like one. */
  private scannerFor(first: Uint8Array): FrameScanner | undefined {
    const { startsStream = (bytes: Uint8Array) => sniff(bytes) === 'stream' } = this.setup.protocol;
    const decoder = this.decoder;
    const isUnknown = this.response?.status === 200 && this.whole === undefined;
    if (decoder === undefined || !isUnknown || !startsStream(first)) return undefined;
    return (this.scanner = this.createScanner(decoder));
  }

  private readWhole(bytes: Uint8Array): void {
    this.whole ??= createWholeBody();
    if (this.whole.push(bytes)) return this.call?.wait();
    this.leave();
    this.wholeEnded();
  }

  onEnd(): void {
    this.call = undefined;
    if (this.isDraining) return this.setup.drains.remove(this);
    if (this.isOver) return;
    try {
      this.bodyEnded();
    } catch (error) {
      this.thrown(error);
    }
  }

  private bodyEnded(): void {
    if (this.scanner === undefined) return this.wholeEnded();
    this.scanner.end();
    this.decoder?.end();
    this.fail({
      kind: 'network',
      message: 'The stream ended early: the connection was closed before the answer was complete.',
      retryable: true,
    });
    this.wake();
  }

  onFailure(error: unknown): void {
    this.call = undefined;
    // The answer was complete before; nothing that happens to its connection now matters.
    if (this.isDraining) return this.setup.drains.remove(this);
    try {
      // An error page needn't be whole.
      if (this.whole !== undefined && this.response?.status !== 200) return this.wholeEnded();
      this.fail(this.signal.aborted ? CANCELLED : connectionError(error, this.setup.redact));
      this.wake();
    } catch (thrown) {
      this.thrown(thrown);
    }
  }

  private wholeEnded(): void {
    const { protocol, redact } = this.setup;
    const response = this.response;
    if (this.isOver || response === undefined) return;
    const text = this.whole?.text() ?? '';
    const problem = responseProblem(response, text, protocol, this.facts());
    if ('error' in problem) this.fail(problem.error);
    else if (this.decoder?.whole(problem.body) !== true) {
      this.fail({
        kind: 'other',
        message: `The server answered with JSON that is not a response of ${protocol.name}.`,
        retryable: false,
        status: response.status,
        excerpt: excerptOf(text, redact),
      });
    }
    this.wake();
  }

  /** The answer is complete: what may still come is read so that the connection can be kept. */
  private drain(bytes: number): void {
    if (this.call === undefined) return;
    if (!this.isDraining) this.setup.drains.add(this);
    this.isDraining = true;
    this.drained += bytes;
    if (this.drained <= DRAIN_BYTES) return this.call.wait();
    this.setup.drains.remove(this);
    this.leave();
  }

  private rest(): void {
    this.cancelQuiet?.();
    this.cancelQuiet = undefined;
  }

  /** Bytes came and said nothing. The transport sees that there is somebody; that the answer stands still is seen here. */
  private watchQuiet(): void {
    const { clock, pingsResetIdleTimeout } = this.setup;
    if (pingsResetIdleTimeout) return;
    const limit = this.response?.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.cancelQuiet ??= clock.after(Math.max(0, this.waitingSince + limit - clock.now()), () => {
      const message = `Nothing but signs of life for ${limit} ms in the middle of the response.`;
      this.fail(connectionError(transportError('TREADLE_IDLE_TIMEOUT', message), this.setup.redact));
      this.wake();
    });
  }

  event(event: Exclude<ModelEvent, { readonly type: 'error' }>): void {
    if (this.isOver) return;
    if (event.type === 'finish') this.finish(event);
    else this.queue.push(event);
  }

  private finish(event: FinishEvent): void {
    const unknownTypes = this.unknownTypes?.counts();
    this.queue.push(unknownTypes === undefined ? event : { ...event, unknownTypes });
    this.close();
  }

  error(error: WireError): void {
    this.fail(reportedError(error, error.status, this.facts()));
  }

  malformed(message: string): void {
    this.fail({ kind: 'network', message, retryable: true });
  }

  unknown(type: string): void {
    if (KEEP_ALIVES.has(type)) this.frames--;
    else (this.unknownTypes ??= createUnknownTypes()).add(type);
  }
}
