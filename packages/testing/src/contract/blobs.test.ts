import { type Blobs, memoryBlobs } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { blobsContract, testClock } from '../index.ts';

/** Names of the cases that blobs break. */
async function broken(flaw: (blobs: Blobs) => Partial<Blobs>): Promise<string[]> {
  const names: string[] = [];
  const make = () => {
    const clock = testClock();
    const blobs = memoryBlobs({ clock });
    return { blobs: { ...blobs, ...flaw(blobs) }, advance: clock.advance };
  };
  for (const { name, run } of blobsContract(make)) await run().catch(() => names.push(name));
  return names;
}

describe('blobsContract', () => {
  it('finds nothing wrong with blobs in memory', async () => {
    expect(await broken(() => ({}))).toEqual([]);
  });

  it.each<[string, (blobs: Blobs) => Partial<Blobs>, RegExp]>([
    [
      'remove all that is old',
      (blobs) => ({ sweep: (s) => blobs.sweep({ ...s, inUse: new Set() }) }),
      /only what is old/,
    ],
    [
      'remove all that nobody uses',
      (blobs) => ({ sweep: (s) => blobs.sweep({ ...s, olderThanMs: -1 }) }),
      /only what is old/,
    ],
    ['remove nothing', () => ({ sweep: async () => ({ removed: 0, removedBytes: 0, kept: 1 }) }), /only what is old/],
    ['take any number of bytes', (blobs) => ({ put: (content) => blobs.put(content) }), /more bytes/],
    [
      'lend out what they keep',
      (blobs) => {
        const lent = new Map<string, Uint8Array>();
        return {
          async put(content, options) {
            const ref = await blobs.put(content, options);
            if (content instanceof Uint8Array) lent.set(ref.id, content);
            return ref;
          },
          async *read(id) {
            const known = lent.get(id);
            if (known) yield known;
            else yield* blobs.read(id);
          },
        };
      },
      /not changed by/,
    ],
  ])('notices blobs that %s', async (_, flaw, name) => {
    expect(await broken(flaw)).toEqual(expect.arrayContaining([expect.stringMatching(name) as string]));
  });
});
