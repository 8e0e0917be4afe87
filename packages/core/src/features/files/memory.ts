import { type Clock, systemClock } from '../../ports/clock.ts';
import { blobErrors, blobIdOf, joined, type BlobContent, type Blobs } from '../../ports/blobs.ts';

/**
 * Blobs in this process's memory, for tests and for sessions that needn't outlive it.
 *
 * @example
 * ```ts
 * import { memoryBlobs } from '@treadle/core';
 * import { readBlob } from '@treadle/core/ports';
 *
 * const blobs = memoryBlobs();
 * const { id, size } = await blobs.put(new TextEncoder().encode('abc'));
 * console.log(id.slice(0, 15), size); // sha256-ba7816bf 3
 * console.log(new TextDecoder().decode(await readBlob(blobs, id))); // abc
 * ```
 */
export function memoryBlobs(options: { readonly clock?: Clock } = {}): Blobs {
  const { clock = systemClock } = options;
  const kept = new Map<string, { readonly bytes: Uint8Array; putAt: number }>();
  const find = (id: string): Uint8Array => {
    const blob = kept.get(id);
    if (!blob) throw blobErrors.notFound(id);
    return blob.bytes;
  };
  return {
    backend: 'memory',
    async put(content, { maxBytes = Number.POSITIVE_INFINITY } = {}) {
      const bytes = await collected(content, maxBytes);
      const id = blobIdOf(hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))));
      const known = kept.get(id);
      if (known) known.putAt = clock.now();
      else kept.set(id, { bytes, putAt: clock.now() });
      return { id, size: bytes.length };
    },
    async *read(id) {
      // A copy: what a reader does with it must not change what is kept.
      yield find(id).slice();
    },
    size: async (id) => kept.get(id)?.bytes.length ?? null,
    async sweep({ olderThanMs, inUse }) {
      const before = clock.now() - olderThanMs;
      let removed = 0;
      let removedBytes = 0;
      for (const [id, { bytes, putAt }] of kept) {
        if (putAt > before || inUse.has(id)) continue;
        kept.delete(id);
        removed += 1;
        removedBytes += bytes.length;
      }
      return { removed, removedBytes, kept: kept.size };
    },
  };
}

async function collected(content: BlobContent, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content instanceof Uint8Array ? [content] : content) {
    size += piece.length;
    if (size > maxBytes) throw blobErrors.tooLarge(maxBytes);
    pieces.push(piece.slice());
  }
  return joined(pieces) as Uint8Array<ArrayBuffer>;
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
