/** Chunks between a source that pushes and a reader that pulls. */
export interface ChunkQueue extends AsyncIterable<Uint8Array> {
  push(chunk: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

/** What a queue asks of its source and its surroundings. */
export interface ChunkQueueHooks {
  /** Too much waits unread. */
  pause(): void;
  resume(): void;
  /** The reader waits for a chunk. */
  waiting(): void;
  /** The reader's wait is over. */
  served(): void;
  /** The reader went before the end. */
  abandoned(): void;
}

/** Bytes that may wait unread before the source is paused. */
const HIGH_WATER_MARK = 256 * 1024;

/** Chunks that may, for small ones cost more than their bytes. */
const MOST_CHUNKS = 1024;

const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

/**
 * A queue that is its own async iterator, without the cost of an async generator per chunk. One reader; what was
 * received before a failure is delivered before it.
 */
export function createChunkQueue(hooks: ChunkQueueHooks): ChunkQueue {
  return new Chunks(hooks);
}

interface Waiter {
  resolve(result: IteratorResult<Uint8Array>): void;
  reject(error: Error): void;
}

/** A class for its iterator's name: of a literal that has one the engine makes a kind of object of its own, each time. */
class Chunks implements ChunkQueue, AsyncIterator<Uint8Array> {
  readonly #hooks: ChunkQueueHooks;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isPaused = false;
  #state: 'open' | 'ended' | 'closed' = 'open';
  #failure: Error | undefined;
  #waiter: Waiter | undefined;

  constructor(hooks: ChunkQueueHooks) {
    this.#hooks = hooks;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  push(chunk: Uint8Array): void {
    if (this.#state !== 'open') return;
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      this.#waiter = undefined;
      this.#hooks.served();
      return waiter.resolve({ done: false, value: chunk });
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#isPaused && (this.#bytes > HIGH_WATER_MARK || this.#chunks.length > MOST_CHUNKS)) {
      this.#isPaused = true;
      this.#hooks.pause();
    }
  }

  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#settle();
  }

  fail(error: Error): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#failure = error;
    this.#settle();
  }

  #settle(): void {
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    this.#waiter = undefined;
    this.#hooks.served();
    if (this.#failure === undefined) waiter.resolve(DONE);
    else waiter.reject(this.#failure);
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#bytes -= chunk.length;
      if (this.#isPaused && this.#bytes < HIGH_WATER_MARK / 2 && this.#chunks.length < MOST_CHUNKS / 2) {
        this.#isPaused = false;
        this.#hooks.resume();
      }
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#state !== 'open') return Promise.resolve(DONE);
    if (this.#waiter !== undefined)
      return Promise.reject(new Error('A body has one reader, which reads one chunk at a time.'));
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      this.#hooks.waiting();
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    const early = this.#state === 'open';
    this.#state = 'closed';
    this.#chunks = [];
    if (early) this.#hooks.abandoned();
    this.#settle();
    return Promise.resolve(DONE);
  }
}
