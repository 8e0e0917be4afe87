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
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  let paused = false;
  let state: 'open' | 'ended' | 'closed' = 'open';
  let failure: Error | undefined;
  let waiter: { resolve(result: IteratorResult<Uint8Array>): void; reject(error: Error): void } | undefined;

  const settle = (): void => {
    if (waiter === undefined) return;
    const { resolve, reject } = waiter;
    waiter = undefined;
    hooks.served();
    if (failure === undefined) resolve(DONE);
    else reject(failure);
  };

  const next = (): Promise<IteratorResult<Uint8Array>> => {
    const chunk = chunks.shift();
    if (chunk !== undefined) {
      bytes -= chunk.length;
      if (paused && bytes < HIGH_WATER_MARK / 2 && chunks.length < MOST_CHUNKS / 2) {
        paused = false;
        hooks.resume();
      }
      return Promise.resolve({ done: false, value: chunk });
    }
    if (failure !== undefined) return Promise.reject(failure);
    if (state !== 'open') return Promise.resolve(DONE);
    if (waiter !== undefined)
      return Promise.reject(new Error('A body has one reader, which reads one chunk at a time.'));
    return new Promise((resolve, reject) => {
      waiter = { resolve, reject };
      hooks.waiting();
    });
  };

  const leave = (): Promise<IteratorResult<Uint8Array>> => {
    const early = state === 'open';
    state = 'closed';
    chunks = [];
    if (early) hooks.abandoned();
    settle();
    return Promise.resolve(DONE);
  };

  return {
    push(chunk) {
      if (state !== 'open') return;
      if (waiter !== undefined) {
        const { resolve } = waiter;
        waiter = undefined;
        hooks.served();
        resolve({ done: false, value: chunk });
        return;
      }
      chunks.push(chunk);
      bytes += chunk.length;
      if (!paused && (bytes > HIGH_WATER_MARK || chunks.length > MOST_CHUNKS)) {
        paused = true;
        hooks.pause();
      }
    },
    end() {
      if (state !== 'open') return;
      state = 'ended';
      settle();
    },
    fail(error) {
      if (state !== 'open') return;
      state = 'ended';
      failure = error;
      settle();
    },
    [Symbol.asyncIterator]: () => ({ next, return: leave }),
  };
}
