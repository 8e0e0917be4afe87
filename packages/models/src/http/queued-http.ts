import type { Http, HttpRequest, HttpResponse } from '@treadle/core';
import { createChunkQueue } from './chunk-queue.ts';
import type { ChunkQueue, ChunkQueueHooks } from './chunk-queue.ts';
import { sendsDirectly } from './exchange.ts';
import type { Call, Exchange, Receiver, ResponseFacts } from './exchange.ts';
import { transportError } from './timeouts.ts';

type Resolve = (response: HttpResponse) => void;
type Reject = (error: Error) => void;

/** A transport as others know it: a promise of a response, whose body waits in a queue until it is read. */
export function queuedHttp(exchange: Exchange): Http {
  const http = (request: HttpRequest): Promise<HttpResponse> =>
    new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      new QueuedResponse(request.signal, resolve, reject).begin(exchange, request);
    });
  return sendsDirectly(http, exchange);
}

const abortError = (signal: AbortSignal | undefined): Error => {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.');
};

class QueuedResponse implements Receiver, ChunkQueueHooks {
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: Resolve;
  readonly #reject: Reject;
  #call: Call | undefined;
  #queue: ChunkQueue | undefined;

  constructor(signal: AbortSignal | undefined, resolve: Resolve, reject: Reject) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(exchange: Exchange, request: HttpRequest): void {
    this.#signal?.addEventListener('abort', this.#onAbort);
    try {
      this.#call = exchange(request, this);
    } catch (error) {
      this.onFailure(error as Error);
    }
  }

  readonly #onAbort = (): void => {
    this.#call?.cancel();
    this.onFailure(abortError(this.#signal));
  };

  #leaveSignal(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  onResponse({ status, headers, idleTimeoutMs }: ResponseFacts): void {
    this.#queue = createChunkQueue(this);
    const limit = idleTimeoutMs === undefined ? {} : { idleTimeoutMs };
    this.#resolve({ status, headers, body: this.#queue, ...limit });
  }

  onChunk(bytes: Uint8Array): void {
    // A copy: the bytes are good only now, and whoever reads the queue does so later.
    this.#queue?.push(Buffer.from(bytes));
  }

  onEnd(): void {
    this.#leaveSignal();
    this.#queue?.end();
  }

  onFailure(error: Error): void {
    this.#leaveSignal();
    if (this.#queue === undefined) this.#reject(error);
    else this.#queue.fail(error);
  }

  pause(): void {
    this.#call?.pause();
  }

  resume(): void {
    this.#call?.resume();
  }

  waiting(): void {
    this.#call?.wait();
  }

  served(): void {
    // The call knows: a chunk came, or it is over.
  }

  abandoned(): void {
    this.#leaveSignal();
    this.#call?.cancel();
  }
}
