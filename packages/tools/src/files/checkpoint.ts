import type { ToolContext } from '@treadle/core';
import { blobIdOf } from '@treadle/core/ports';
import { createHash } from 'node:crypto';
import { relative, resolve } from 'node:path';
import type { OpenedFile } from '../root/open.ts';
import { FileProblem } from '../root/problem.ts';
import type { Root, UpdateOptions } from '../root/root.ts';

/** Keeps what a file holds before a call changes it, where the session keeps anything. */
export function checkpointing(root: Root, { checkpoint }: ToolContext): Pick<UpdateOptions, 'beforeReplace'> {
  if (!checkpoint) return {};
  return {
    async beforeReplace({ real, current, content }) {
      const before = current ? () => contentOf(current) : null;
      try {
        await checkpoint({
          root: root.path,
          path: relative(root.path, resolve(root.path, real)),
          before,
          after: idOfBytes(content),
        });
      } catch (error) {
        const message = `${real} was not changed: what it holds could not be kept for a rewind.`;
        throw new FileProblem('io', message, error);
      }
    },
  };
}

const PIECE = 65_536;

/** The bytes of an open file, from its beginning, wherever its handle stands. */
export async function* contentOf({ handle }: OpenedFile): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(PIECE);
  for (let at = 0; ;) {
    const { bytesRead } = await handle.read(buffer, 0, PIECE, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The id that a content would have as a blob, which comes in pieces. */
export function contentHash(): { update(piece: Uint8Array): void; id(): string } {
  const hash = createHash('sha256');
  return { update: (piece) => void hash.update(piece), id: () => blobIdOf(hash.digest('hex')) };
}

/** The id that bytes would have as a blob. */
export function idOfBytes(bytes: Uint8Array): string {
  const hash = contentHash();
  hash.update(bytes);
  return hash.id();
}

/** The id that a file's bytes would have as a blob. */
export async function idOfFile(file: OpenedFile): Promise<string> {
  const hash = contentHash();
  for await (const piece of contentOf(file)) hash.update(piece);
  return hash.id();
}
