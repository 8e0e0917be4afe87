import { describe, expect, it } from 'vitest';
import { createChunkQueue } from './chunk-queue.ts';

describe('a queue of chunks', () => {
  it.each([
    ['many bytes', 64 * 1024, 10],
    ['many chunks of a byte', 1, 5000],
  ])('holds its source back at %s, and lets it go on once half of it was read', async (_what, size, most) => {
    const told: string[] = [];
    const queue = createChunkQueue({
      pause: () => void told.push('pause'),
      resume: () => void told.push('resume'),
      waiting: () => undefined,
      served: () => undefined,
      abandoned: () => undefined,
    });
    let pushed = 0;
    for (; told.length === 0 && pushed < most; pushed++) queue.push(new Uint8Array(size));
    expect([told, pushed < most]).toEqual([['pause'], true]);
    const chunks = queue[Symbol.asyncIterator]();
    let read = 0;
    for (; told.length === 1; read++) await chunks.next();
    expect(told).toEqual(['pause', 'resume']);
    expect(read).toBeGreaterThan(pushed / 3);
    expect(read).toBeLessThan(pushed);
  });
});
