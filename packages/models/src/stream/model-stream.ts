import type { ModelError } from '@treadle/core';
import { checkUsage, type ModelEvent, type ModelEventIterator, type ModelRequest } from '@treadle/core/model';
import type { HttpBody, HttpResponse } from '@treadle/core/ports';
import { defined } from '@treadle/core/json';
import { CANCELLED, connectionError, excerptOf, type FailureFacts, reportedError } from '../errors/classify.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, transportError } from '../http/timeouts.ts';
import type { Decoder, DecoderSink, FrameScanner, WireError } from '../protocols/shared/protocol.ts';
import {
  checkHeaders,
  chunksOf,
  createWholeBody,
  type ResponseFacts,
  responseProblem,
  sniff,
  type WholeBody,
} from './response.ts';
import { createUnknownTypes } from '../unknown-types.ts';
import {
  type Body,
  DONE,
  DRAIN_BYTES,
  DRAIN_MS,
  type FinishEvent,
  KEEP_ALIVES,
  leaveBody,
  MOST_SILENT,
  type Result,
  type StreamSetup,
} from './setup.ts';

/** One model call as an iterator, sent when its first event is asked for. */
export function createModelStream(setup: StreamSetup, request: ModelRequest, signal: AbortSignal): ModelEventIterator {
  return new StreamReader(setup, request, signal);
}

/**
 * Reads a response chunk by chunk, while somebody waits for an event, and queues the events of each chunk. So a consumer
 * that is slower than the server holds it back.
 *
 * Its fields are `#`, so that nobody who prints a stream sees the key.
 */
class StreamReader implements ModelEventIterator, DecoderSink {
  readonly #setup: StreamSetup;
  readonly #request: ModelRequest;
  readonly #signal: AbortSignal;
  readonly #control = new AbortController();
  #queue: ModelEvent[] = [];
  #isStarted = false;
  #isReading = false;
  /** The terminal event is in the queue, or the consumer left. */
  #isOver = false;
  /** The answer came to its end, and its body perhaps not. */
  #isComplete = false;
  #waiter: ((result: Result) => void) | undefined;
  #body: Body | undefined;
  /** The body of the request. */
  #sent: HttpBody | undefined;
  #response: ResponseFacts | undefined;
  /** What the request lost because its model doesn't take it. */
  #lost: ReturnType<StreamSetup['prepare']>['warnings'] | undefined;
  #decoder: Decoder | undefined;
  /** Undefined until it is known that the body is a stream. */
  #scanner: FrameScanner | undefined;
  /** A body that is no stream. */
  #whole: WholeBody | undefined;
  readonly #unknownTypes = createUnknownTypes();
  /** Frames that said something. */
  #frames = 0;
  #silent = 0;
  #waitingSince = 0;
  #cancelQuiet: (() => void) | undefined;

  constructor(setup: StreamSetup, request: ModelRequest, signal: AbortSignal) {
    this.#setup = setup;
    this.#request = request;
    this.#signal = signal;
  }

  ready(): ModelEvent | undefined {
    return this.#queue.shift();
  }

  next(): Promise<Result> {
    const ready = this.#take();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.#waiter !== undefined)
      return Promise.reject(new Error('A model stream has one consumer, which takes one event at a time.'));
    return new Promise((resolve) => {
      this.#waiter = resolve;
      this.#waitingSince = this.#setup.clock.now();
      if (this.#isStarted) void this.#read();
      else this.#start();
    });
  }

  return(): Promise<Result> {
    this.#isStarted = true;
    if (!this.#isOver) {
      this.#close();
      this.#leave();
    }
    this.#queue = [];
    this.#wake();
    return Promise.resolve(DONE);
  }

  #take(): Result | undefined {
    const value = this.ready();
    if (value === undefined) return this.#isOver ? DONE : undefined;
    return { done: false, value };
  }

  #wake(): void {
    const resolve = this.#waiter;
    const result = resolve === undefined ? undefined : this.#take();
    if (resolve === undefined || result === undefined) return;
    this.#waiter = undefined;
    resolve(result);
  }

  #start(): void {
    this.#isStarted = true;
    if (this.#signal.aborted) this.#fail(CANCELLED);
    else {
      this.#signal.addEventListener('abort', this.#onAbort);
      void this.#send();
    }
    this.#wake();
  }

  readonly #onAbort = (): void => {
    if (this.#isOver) return;
    this.#queue = [];
    this.#fail(CANCELLED);
    this.#wake();
  };

  async #send(): Promise<void> {
    let prepared: ReturnType<StreamSetup['prepare']>;
    try {
      await this.#setup.ready?.(this.#control.signal);
      prepared = this.#setup.prepare(this.#request);
      this.#lost = prepared.warnings;
      this.#sent = prepared.body;
    } catch (error) {
      this.#fail({ ...connectionError(error, this.#setup.redact), kind: 'other', retryable: false });
      return this.#wake();
    }
    try {
      const { url, headers, body } = prepared;
      this.#open(await this.#setup.http({ method: 'POST', url, headers, body, signal: this.#control.signal }));
    } catch (error) {
      return this.#failed(error);
    }
    await this.#read();
  }

  #open(response: HttpResponse): void {
    this.#body = chunksOf(response);
    // The consumer left while the headers came.
    if (this.#isOver) return leaveBody(this.#body);
    checkHeaders(response);
    this.#response = response;
    this.#waitingSince = this.#setup.clock.now();
    try {
      this.#prepareToDecode(response);
    } catch (error) {
      this.#thrown(error);
      this.#wake();
    }
  }

  #prepareToDecode({ status, headers }: ResponseFacts): void {
    const { protocol } = this.#setup;
    this.#decoder = protocol.createDecoder(this, this.#request);
    const type = headers['content-type'] ?? '';
    const isTyped = type.toLowerCase().startsWith(protocol.contentType);
    if (status === 200 && isTyped) this.#scanner = this.#createScanner(this.#decoder);
  }

  #createScanner(decoder: Decoder): FrameScanner {
    return this.#setup.protocol.framing(
      (name, data, whole) => {
        this.#frames++;
        const before = this.#queue.length;
        decoder.frame(name, data, whole);
        if (this.#queue.length === before) this.#silence(data.length);
      },
      (message) => this.#fail({ kind: 'other', message, retryable: false }),
    );
  }

  #silence(characters: number): void {
    this.#silent += characters;
    if (this.#silent <= MOST_SILENT) return;
    const message = `The response was stopped: ${MOST_SILENT} characters of it gave neither text nor a call.`;
    this.#fail({ kind: 'other', code: 'reply_limit', message, retryable: false });
  }

  /** Reads as long as somebody waits for an event. */
  async #read(): Promise<void> {
    const body = this.#body;
    if (body === undefined || this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#waiter !== undefined && !this.#isOver) this.#received(await body.next());
    } catch (error) {
      this.#failed(error);
    }
    this.#isReading = false;
    if (this.#isComplete) await this.#drain(body);
  }

  #received(next: IteratorResult<Uint8Array>): void {
    if (this.#isOver) return;
    const isEnd = next.done === true;
    try {
      if (isEnd) this.#bodyEnded();
      else this.#decode(next.value);
    } catch (error) {
      this.#thrown(error);
    }
    this.#wake();
  }

  #decode(bytes: Uint8Array): void {
    const scanner = this.#scanner ?? this.#scannerFor(bytes);
    if (scanner === undefined) return this.#readWhole(bytes);
    const before = this.#frames;
    scanner.push(bytes);
    if (this.#isOver) return;
    if (this.#frames === before) return this.#watchQuiet();
    this.#stopWatching();
    this.#waitingSince = this.#setup.clock.now();
  }

  /** A body that doesn't say that it is a stream may begin like one. */
  #scannerFor(first: Uint8Array): FrameScanner | undefined {
    const { startsStream = (bytes: Uint8Array) => sniff(bytes) === 'stream' } = this.#setup.protocol;
    const decoder = this.#decoder;
    const isUnknown = this.#response?.status === 200 && this.#whole === undefined;
    if (decoder === undefined || !isUnknown || !startsStream(first)) return undefined;
    return (this.#scanner = this.#createScanner(decoder));
  }

  #readWhole(bytes: Uint8Array): void {
    this.#whole ??= createWholeBody();
    if (this.#whole.push(bytes)) return;
    this.#leave();
    this.#wholeEnded();
  }

  #bodyEnded(): void {
    this.#body = undefined;
    if (this.#scanner === undefined) return this.#wholeEnded();
    this.#scanner.end();
    this.#decoder?.end();
    this.#fail({
      kind: 'network',
      message: 'The stream ended early: the connection was closed before the answer was complete.',
      retryable: true,
    });
  }

  #wholeEnded(): void {
    const { protocol, redact } = this.#setup;
    const response = this.#response;
    if (this.#isOver || response === undefined) return;
    const text = this.#whole?.text() ?? '';
    const problem = responseProblem(response, text, protocol, this.#facts());
    if ('error' in problem) return this.#fail(problem.error);
    if (this.#decoder?.whole(problem.body) === true) return;
    this.#fail({
      kind: 'other',
      message: `The server answered with JSON that is not a response of ${protocol.name}.`,
      retryable: false,
      status: response.status,
      excerpt: excerptOf(text, redact),
    });
  }

  /** The answer is complete: what may still come is read so that the connection can be kept. */
  async #drain(body: Body): Promise<void> {
    if (this.#body === undefined) return;
    const cancel = this.#setup.clock.after(DRAIN_MS, () => this.#leave(), { background: true });
    try {
      for (let bytes = 0; bytes <= DRAIN_BYTES;) {
        const next = await body.next();
        if (next.done === true) return;
        bytes += next.value.length;
      }
      this.#leave();
    } catch {
      // The answer was complete before.
    } finally {
      cancel();
    }
  }

  #close(): void {
    this.#isOver = true;
    this.#stopWatching();
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** Nobody wants the rest of the response. */
  #leave(): void {
    this.#control.abort(this.#signal.reason);
    leaveBody(this.#body);
    this.#body = undefined;
  }

  #fail(error: ModelError): void {
    if (this.#isOver) return;
    const recovers = !error.retryable && this.#setup.recovers?.(this.#request, error) === true;
    this.#endWith(recovers ? { ...error, retryable: true } : error);
  }

  #endWith(error: ModelError): void {
    this.#close();
    const usage = this.#decoder?.usage?.();
    this.#queue.push({ type: 'error', error, ...(usage && { usage: checkUsage(usage).usage }) });
    this.#leave();
  }

  /** The transport failed. */
  #failed(error: unknown): void {
    if (this.#isOver) return;
    try {
      // An error page needn't be whole.
      if (this.#whole !== undefined && this.#response?.status !== 200) this.#wholeEnded();
      else this.#fail(this.#signal.aborted ? CANCELLED : connectionError(error, this.#setup.redact));
    } catch (thrown) {
      this.#thrown(thrown);
    }
    this.#wake();
  }

  /** The protocol threw, which it would do again. */
  #thrown(error: unknown): void {
    if (this.#isOver) return this.#leave();
    const known = connectionError(error, this.#setup.redact);
    const message = `The response can't be read: ${known.message}`;
    this.#endWith({ ...known, kind: 'other', message, retryable: false });
  }

  #facts(): FailureFacts {
    const { redact, clock } = this.#setup;
    return { redact, now: clock.now(), headers: this.#response?.headers ?? {} };
  }

  #stopWatching(): void {
    this.#cancelQuiet?.();
    this.#cancelQuiet = undefined;
  }

  /** Bytes came and said nothing. The transport sees that there is somebody; that the answer stands still is seen here. */
  #watchQuiet(): void {
    const { clock, pingsResetIdleTimeout } = this.#setup;
    if (pingsResetIdleTimeout) return;
    const limit = this.#response?.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.#cancelQuiet ??= clock.after(Math.max(0, this.#waitingSince + limit - clock.now()), () => {
      const message = `Nothing but signs of life for ${limit} ms in the middle of the response.`;
      this.#fail(connectionError(transportError('TREADLE_IDLE_TIMEOUT', message), this.#setup.redact));
      this.#wake();
    });
  }

  event(event: Exclude<ModelEvent, { readonly type: 'error' }>): void {
    if (this.#isOver) return;
    if (event.type === 'finish') this.#finish(event);
    else this.#queue.push(event);
  }

  #finish(event: FinishEvent): void {
    const { usage, warning } = checkUsage(event.usage);
    const missed = this.#sent === undefined ? null : this.#setup.finished(this.#request, this.#sent, usage);
    this.#sent = undefined;
    const found = [...(this.#lost?.() ?? []), ...(event.warnings ?? []), warning, missed].filter((one) => one !== null);
    const warnings = found.length > 0 ? found : undefined;
    this.#queue.push({ ...event, usage, ...defined({ unknownTypes: this.#unknownTypes.counts(), warnings }) });
    this.#isComplete = true;
    this.#close();
  }

  error(error: WireError): void {
    this.#fail(reportedError(error, error.status, this.#facts()));
  }

  malformed(message: string): void {
    this.#fail({ kind: 'network', message, retryable: true });
  }

  unknown(type: string): void {
    if (KEEP_ALIVES.has(type)) this.#frames--;
    else this.#unknownTypes.add(type);
  }
}
