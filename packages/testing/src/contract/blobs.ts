import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Blobs } from '@treadle/core';
import { blobIdOf, readBlob } from '@treadle/core/ports';
import { contractOf, type Cases, type ContractCase } from './case.ts';
import { rejects, turnOfLoop } from './journal/support.ts';

/** Fresh blobs for one case of the contract. */
export interface BlobsUnderTest {
  readonly blobs: Blobs;
  /** Lets so many milliseconds pass on the clock that the blobs were given. */
  readonly advance: (ms: number) => Promise<void>;
  /** The same blobs once more, as another process would open them. Those that live in one process leave it out. */
  readonly open?: () => Blobs | Promise<Blobs>;
  /** Called after the case, whatever came of it. */
  readonly dispose?: () => Promise<void>;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = async (blobs: Blobs, id: string): Promise<string> => new TextDecoder().decode(await readBlob(blobs, id));
const hashOf = (bytes: Uint8Array): string => blobIdOf(createHash('sha256').update(bytes).digest('hex'));
const NOBODY: ReadonlySet<string> = new Set();
const HOUR = 3_600_000;

async function* pieces(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  // One array, as a reader of a file has it: whoever keeps a piece has to copy it.
  const buffer = new Uint8Array(64);
  for (const text of texts) {
    const { written } = new TextEncoder().encodeInto(text, buffer);
    await turnOfLoop();
    yield buffer.subarray(0, written);
  }
}

const CASES: Cases<BlobsUnderTest> = {
  async 'gives back what was put, under the hash of it'({ blobs }) {
    const { id, size } = await blobs.put(bytesOf('abc'));
    assert.equal(id, 'sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.equal(size, 3);
    assert.equal(await textOf(blobs, id), 'abc');
    assert.equal(await blobs.size(id), 3);
  },
  async 'keeps nothing at all as well'({ blobs }) {
    const { id, size } = await blobs.put(new Uint8Array());
    assert.equal(size, 0);
    assert.equal(id, hashOf(new Uint8Array()));
    assert.equal((await readBlob(blobs, id)).length, 0);
  },
  async 'keeps a stream as what its pieces make'({ blobs }) {
    const { id, size } = await blobs.put(pieces(['one ', '', 'two ', 'three']));
    assert.equal(id, hashOf(bytesOf('one two three')));
    assert.equal(size, 13);
    assert.equal(await textOf(blobs, id), 'one two three');
  },
  async 'keeps the same bytes once, whoever puts them and when'({ blobs, open }) {
    const other = (await open?.()) ?? blobs;
    const put = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? blobs : other).put(bytesOf('same'))),
    );
    assert.deepEqual(new Set(put.map(({ id }) => id)).size, 1);
    const { kept } = await blobs.sweep({ olderThanMs: HOUR, inUse: NOBODY });
    assert.equal(kept, 1);
  },
  async 'is not changed by what becomes of the bytes that were put, or were read'({ blobs }) {
    const bytes = bytesOf('abc');
    const { id } = await blobs.put(bytes);
    bytes.fill(0);
    (await readBlob(blobs, id)).fill(0);
    for await (const piece of blobs.read(id)) piece.fill(0);
    assert.equal(await textOf(blobs, id), 'abc');
  },
  async 'keeps every byte of a large one'({ blobs }) {
    const large = new Uint8Array(3_000_000).map((_, index) => (index * 7919) >> 3);
    const { id } = await blobs.put(large);
    assert.equal(hashOf(await readBlob(blobs, id)), id);
  },
  async 'keeps nothing of a stream that fails, and fails with it'({ blobs }) {
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield bytesOf('half');
      await turnOfLoop();
      throw new Error('the wire is cut');
    };
    await assert.rejects(blobs.put(failing()), /the wire is cut/);
    assert.equal(await blobs.size(hashOf(bytesOf('half'))), null);
    assert.equal((await blobs.sweep({ olderThanMs: HOUR, inUse: NOBODY })).kept, 0);
  },
  async 'refuses more bytes than it may keep, and keeps none of them'({ blobs }) {
    await blobs.put(pieces(['1234', '5678']), { maxBytes: 8 });
    await rejects(blobs.put(pieces(['1234', '5678', '9']), { maxBytes: 8 }), 'blob_too_large');
    await rejects(blobs.put(bytesOf('123456789'), { maxBytes: 8 }), 'blob_too_large');
    assert.equal((await blobs.sweep({ olderThanMs: HOUR, inUse: NOBODY })).kept, 1);
  },
  async 'knows nothing of ids that were never put, nor of what is no id'({ blobs }) {
    for (const id of [hashOf(bytesOf('never')), '', 'abc', 'sha256-', '../../etc/passwd', 'sha256-../secret']) {
      await rejects(readBlob(blobs, id), 'blob_not_found');
      assert.equal(await blobs.size(id), null);
    }
  },
  async 'sweeps away only what is old and not in use'({ blobs, advance }) {
    const used = await blobs.put(bytesOf('old and in use'));
    const unused = await blobs.put(bytesOf('old'));
    await advance(HOUR);
    const young = await blobs.put(bytesOf('young'));
    const report = await blobs.sweep({ olderThanMs: HOUR / 2, inUse: new Set([used.id]) });
    assert.deepEqual(report, { removed: 1, removedBytes: 3, kept: 2 });
    assert.equal(await textOf(blobs, used.id), 'old and in use');
    assert.equal(await textOf(blobs, young.id), 'young');
    await rejects(readBlob(blobs, unused.id), 'blob_not_found');
    assert.equal(await blobs.size(unused.id), null);
  },
  async 'is young again when it is put again'({ blobs, advance }) {
    const { id } = await blobs.put(bytesOf('again'));
    await advance(HOUR);
    await blobs.put(bytesOf('again'));
    assert.equal((await blobs.sweep({ olderThanMs: HOUR / 2, inUse: NOBODY })).removed, 0);
    assert.equal(await textOf(blobs, id), 'again');
    await advance(HOUR);
    assert.equal((await blobs.sweep({ olderThanMs: HOUR / 2, inUse: NOBODY })).removed, 1);
  },
  async 'never loses to a sweep what was put meanwhile'({ blobs, advance, open }) {
    const other = (await open?.()) ?? blobs;
    for (let round = 0; round < 20; round += 1) {
      const text = `round ${round % 3}`;
      await blobs.put(bytesOf(text));
      await advance(HOUR);
      const sweeps = [other, blobs].map((each) => each.sweep({ olderThanMs: HOUR / 2, inUse: NOBODY }));
      const { id } = await blobs.put(bytesOf(text));
      assert.equal(await textOf(other, id), text, `while it is swept, round ${round}`);
      await Promise.all(sweeps);
      assert.equal(await textOf(other, id), text, `after it was swept, round ${round}`);
    }
  },
  async 'has for another process what one has put'({ blobs, open }) {
    const { id } = await blobs.put(bytesOf('shared'));
    const other = (await open?.()) ?? blobs;
    assert.equal(await textOf(other, id), 'shared');
  },
};

/**
 * What every `Blobs` must do, as a list of cases for any test runner. `make` is called for each case.
 *
 * @example
 * ```ts
 * import { memoryBlobs } from '@treadle/core';
 * import { blobsContract, testClock } from '@treadle/testing';
 *
 * const make = () => {
 *   const clock = testClock();
 *   return { blobs: memoryBlobs({ clock }), advance: clock.advance };
 * };
 * // With any runner: for (const { name, run } of blobsContract(make)) it(name, run);
 * for (const { run } of blobsContract(make)) await run();
 * ```
 */
export function blobsContract(make: () => BlobsUnderTest | Promise<BlobsUnderTest>): ContractCase[] {
  return contractOf(CASES, make, undefined);
}
