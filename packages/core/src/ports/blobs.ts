import { TreadleError } from '../errors.ts';

/** A blob by its content: `sha256-` and 64 hexadecimal digits. The same bytes have the same id everywhere. */
export interface BlobRef {
  readonly id: string;
  /** In bytes. */
  readonly size: number;
}

/** Bytes at once or in pieces. Pieces may be reused by their giver once the next one is asked for. */
export type BlobContent = Uint8Array | AsyncIterable<Uint8Array>;

/** Options of `put`. */
export interface PutBlobOptions {
  /** More bytes than this are refused with `blob_too_large`, and nothing is kept. Default: no bound. */
  readonly maxBytes?: number;
}

/** Which blobs a sweep may remove. */
export interface BlobSweep {
  /** Blobs that were put less than so many milliseconds ago stay: whoever put them may be about to name them. */
  readonly olderThanMs: number;
  /** Ids that stay whatever their age. */
  readonly inUse: { has(id: string): boolean };
}

/** What a sweep removed, and what it kept. */
export interface BlobSweepReport {
  readonly removed: number;
  readonly removedBytes: number;
  readonly kept: number;
}

/**
 * The blobs port: bytes under the hash of what they are, beside the journal and for what is too big for it. Every method
 * rejects with a `TreadleError`: `blob_not_found`, `blob_corrupt`, `blob_too_large`, or `blob_failed` where they are kept
 * can't be read or written. `blobsContract` of `@treadle/testing` checks an implementation.
 */
export interface Blobs {
  /** What keeps them, in a word: `memory`, `files`. */
  readonly backend: string;
  /**
   * Keeps bytes. Once it resolves they are as durable as this implementation can make them, so that an event may name them.
   * Bytes that are there already are kept once, and count as put just now.
   */
  put(content: BlobContent, options?: PutBlobOptions): Promise<BlobRef>;
  /** The bytes in pieces. They are checked against their id: what isn't what was put ends in `blob_corrupt`. */
  read(id: string): AsyncIterable<Uint8Array>;
  /** In bytes; null when there is no such blob. */
  size(id: string): Promise<number | null>;
  /** Removes what is old and not in use. `sweepBlobs` finds out what is. */
  sweep(sweep: BlobSweep): Promise<BlobSweepReport>;
}

const PREFIX = 'sha256-';
const ID = /^sha256-[0-9a-f]{64}$/;

/** True for what has the form of a blob's id. */
export const isBlobId = (id: string): boolean => ID.test(id);

/** The id of a blob by the SHA-256 of its bytes, in lower-case hexadecimal digits. */
export const blobIdOf = (sha256: string): string => `${PREFIX}${sha256}`;

/** The errors of the port, for implementations. */
export const blobErrors = {
  notFound: (id: string): TreadleError =>
    new TreadleError('blob_not_found', `There is no blob ${id}. It was never kept here, or a sweep has removed it.`),
  corrupt: (id: string): TreadleError =>
    new TreadleError('blob_corrupt', `The blob ${id} is not what was put: its bytes don't fit its id.`),
  tooLarge: (maxBytes: number): TreadleError =>
    new TreadleError('blob_too_large', `There are more than ${maxBytes} bytes, which is as many as may be kept.`),
};

/** All bytes of a blob, checked. */
export async function readBlob(blobs: Pick<Blobs, 'read'>, id: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.read(id)) pieces.push(piece.slice());
  return joined(pieces);
}

/** Pieces as one array. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
