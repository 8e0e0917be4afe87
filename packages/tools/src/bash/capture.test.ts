import fc from 'fast-check';
import { expect, test } from 'vitest';
import { capture, type Spill } from './capture.ts';

function memorySpill(): { spill: Spill; written: () => Buffer } {
  const parts: Uint8Array[] = [];
  return {
    spill: {
      path: 'spill',
      write: (bytes) => {
        parts.push(Buffer.from(bytes));
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    },
    written: () => Buffer.concat(parts),
  };
}

test('head and tail are the ends of the output, and the spill is all of it up to the cap, however it is cut', async () => {
  const sizes = fc.record({ keepBytes: fc.integer({ min: 1, max: 20 }), maxBytes: fc.integer({ min: 20, max: 60 }) });
  const chunks = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(sizes, chunks, async ({ keepBytes, maxBytes }, pieces) => {
      const { spill, written } = memorySpill();
      let fits = true;
      const one = capture({ keepBytes, maxBytes, openSpill: () => Promise.resolve(spill) });
      for (const piece of pieces) fits = await one.push(Buffer.from(piece));
      const all = Buffer.concat(pieces);
      const { head, tail, omitted, bytes, spill: spilled } = await one.finish();
      expect(bytes).toBe(all.length);
      expect(head.length + tail.length).toBe(Math.min(all.length, keepBytes));
      expect(head).toEqual(all.subarray(0, head.length));
      expect(tail).toEqual(all.subarray(all.length - tail.length));
      expect(omitted).toBe(Math.max(0, all.length - keepBytes));
      expect(spilled === undefined).toBe(all.length <= keepBytes);
      if (spilled !== undefined) expect(written()).toEqual(all.subarray(0, maxBytes));
      expect(fits).toBe(all.length <= maxBytes);
    }),
  );
});

test('a disk that fills up is reported and does not stop the program', async () => {
  const spill: Spill = {
    path: 'spill',
    write: () => Promise.reject(new Error('no space left')),
    close: () => Promise.resolve(),
  };
  const one = capture({ keepBytes: 4, maxBytes: 100, openSpill: () => Promise.resolve(spill) });
  await one.push(Buffer.from('0123456789'));
  const { head, tail, spillError, spill: spilled } = await one.finish();
  expect([String(head), String(tail)]).toEqual(['01', '89']);
  expect(spillError).toMatchObject({ message: 'no space left' });
  expect(spilled).toEqual({ path: 'spill', bytes: 0 });
});
