const queues = new Map<string, Promise<void>>();

/**
 * Runs `work` when every earlier work under the same key is over, so that two edits of one file in this process follow
 * each other instead of losing one.
 */
export async function exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
  const earlier = queues.get(key);
  const done = Promise.withResolvers<void>();
  queues.set(key, done.promise);
  try {
    await earlier;
    return await work();
  } finally {
    if (queues.get(key) === done.promise) queues.delete(key);
    done.resolve();
  }
}
