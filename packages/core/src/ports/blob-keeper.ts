import { mustBeCount, mustBeWhole } from '../check-numbers.ts';
import { TreadleError } from '../errors.ts';
import type { ModelMessage } from '../messages/message.ts';
import type { Blobs } from './blobs.ts';

/** How a session uses its blobs. */
export interface BlobOptions {
  readonly store: Blobs;
  /** Images and files with more base64 than this are kept as blobs, in characters. Default 32,768. */
  readonly inlineLength?: number;
  /** Bytes of one blob at most: what is longer is cut. Default 1 GiB. */
  readonly maxBytes?: number;
}

/** The blobs of a session, every default filled in. */
export interface BlobKeeper extends Required<BlobOptions> {
  /** Messages as they are sent, with what is in their blobs: read once, so that they keep their identity. */
  readonly sent: WeakMap<ModelMessage, ModelMessage>;
  /** Files that this process has checkpointed since somebody last said something. */
  checkpointed: Set<string>;
}

const DEFAULT_INLINE_LENGTH = 32_768;
/** Bytes of a tool's stream that are taken, with blobs or without. */
export const DEFAULT_MOST_BYTES = 2 ** 30;

/** @throws TreadleError `invalid_definition` when a number makes no sense. */
export function blobKeeper(given: Blobs | BlobOptions | undefined): BlobKeeper | null {
  if (given === undefined) return null;
  const options = 'store' in given ? given : { store: given };
  const { store, inlineLength = DEFAULT_INLINE_LENGTH, maxBytes = DEFAULT_MOST_BYTES } = options;
  if (typeof store?.put !== 'function')
    throw new TreadleError('invalid_definition', 'blobs.store must be blobs, such as fileBlobs of @treadle/store.');
  mustBeWhole('blobs.inlineLength', inlineLength);
  mustBeCount('blobs.maxBytes', maxBytes);
  return { store, inlineLength, maxBytes, sent: new WeakMap(), checkpointed: new Set() };
}
