import { systemClock, TreadleError, type Blobs, type Clock, type Http } from '@treadle/core';
import type { BlobContent, BlobRef, BlobSweep, BlobSweepReport } from '@treadle/core/ports';
import { blobErrors, blobIdOf, isBlobId } from '@treadle/core/ports';
import { createHash, randomUUID } from 'node:crypto';
import { ask, fetchOnce, list, textOf, type Bucket, type S3Credentials } from './client.ts';

/** Options of {@link s3Blobs}. */
export interface S3BlobsOptions {
  /** The bucket's address: `https://NAME.s3.eu-west-1.amazonaws.com`, or `https://minio.example.com/NAME`. */
  readonly url: string;
  /** Signs requests, such as `awsSignature({ service: 's3', region: 'eu-west-1' })` of `@treadle/models`. */
  readonly credentials: S3Credentials;
  /** What the keys of blobs begin with: letters, digits, `-`, `_`, `.` and `/`. Default `blobs/`. */
  readonly prefix?: string;
  /** Default: the platform's `fetch`. */
  readonly http?: Http;
  /** Says how old a blob is. Default: the machine's. */
  readonly clock?: Clock;
}

interface Place extends Bucket {
  readonly prefix: string;
  readonly clock: Clock;
}

const PUT_AT = 'x-amz-meta-put-at';
/** Who removes a blob has a mark beside it for so long at most, by the server's clock. */
const MARK_MS = 60_000;

/**
 * Blobs in a bucket of S3, or of a server that speaks its protocol, for any number of processes. A blob is held in memory
 * while it is put: up to 5 GB, as S3 takes at once. What is read is checked against its id.
 *
 * @example
 * ```ts
 * import { awsSignature } from '@treadle/models';
 * import { s3Blobs } from '@treadle/store';
 *
 * const credentials = awsSignature({ service: 's3', region: 'eu-west-1' });
 * const blobs = s3Blobs({ url: 'https://my-bucket.s3.eu-west-1.amazonaws.com', credentials });
 * ```
 */
export function s3Blobs(options: S3BlobsOptions): Blobs {
  const { url, credentials, prefix = 'blobs/', http = fetchOnce, clock = systemClock } = options;
  if (!URL.canParse(url) || !/^[\w./-]*$/.test(prefix)) {
    throw new TreadleError(
      'invalid_definition',
      's3Blobs needs the url of a bucket, such as https://NAME.s3.eu-west-1.amazonaws.com, and a plain prefix.',
    );
  }
  const place: Place = { url: url.replace(/\/+$/, ''), credentials, http, prefix, clock };
  return {
    backend: 's3',
    put: (content, { maxBytes = Number.POSITIVE_INFINITY } = {}) => put(place, content, maxBytes),
    read: (id) => read(place, id),
    size: async (id) => (isBlobId(id) ? ((await head(place, id))?.size ?? null) : null),
    sweep: (sweep) => sweepBucket(place, sweep),
  };
}

async function put(place: Place, content: BlobContent, maxBytes: number): Promise<BlobRef> {
  const body = await bytesOf(content, maxBytes);
  const id = blobIdOf(createHash('sha256').update(body).digest('hex'));
  // A sweep marks a blob, looks at its age, and removes it. A blob that is there, and isn't marked, stays.
  do {
    const headers = { [PUT_AT]: String(place.clock.now()) };
    await textOf(await ask(place, { method: 'PUT', key: `${place.prefix}${id}`, headers, body }));
  } while ((await isMarked(place, id)) || (await head(place, id)) === null);
  return { id, size: body.length };
}

async function bytesOf(content: BlobContent, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content instanceof Uint8Array ? [content] : content) {
    size += piece.length;
    if (size > maxBytes) throw blobErrors.tooLarge(maxBytes);
    // Its giver may use it again.
    pieces.push(piece.slice());
  }
  return Buffer.concat(pieces, size);
}

async function* read(place: Place, id: string): AsyncGenerator<Uint8Array> {
  if (!isBlobId(id)) throw blobErrors.notFound(id);
  const response = await ask(place, { method: 'GET', key: `${place.prefix}${id}` });
  if (response.status === 404) {
    await textOf(response);
    throw blobErrors.notFound(id);
  }
  const hash = createHash('sha256');
  for await (const piece of response.body) {
    hash.update(piece);
    yield piece;
  }
  if (blobIdOf(hash.digest('hex')) !== id) throw blobErrors.corrupt(id);
}

interface Head {
  readonly size: number;
  /** Milliseconds since 1970: by the clock of who put it last. */
  readonly putAt: number;
}

async function head(place: Place, id: string): Promise<Head | null> {
  const response = await ask(place, { method: 'HEAD', key: `${place.prefix}${id}` });
  await textOf(response);
  if (response.status === 404) return null;
  const { headers } = response;
  const putAt = headers[PUT_AT] ?? '';
  return {
    size: Number(headers['content-length']),
    putAt: putAt === '' ? Date.parse(headers['last-modified'] ?? '') : Number(putAt),
  };
}

const marksOf = ({ prefix }: Place, id: string): string => `${prefix}removing/${id}/`;

async function isMarked(place: Place, id: string): Promise<boolean> {
  for await (const { objects, now } of list(place, marksOf(place, id)))
    if (objects.some(({ modifiedAt }) => now - modifiedAt < MARK_MS)) return true;
  return false;
}

async function sweepBucket(place: Place, { olderThanMs, inUse }: BlobSweep): Promise<BlobSweepReport> {
  const report = { removed: 0, removedBytes: 0, kept: 0 };
  const { clock, prefix } = place;
  for await (const { objects } of list(place, `${prefix}sha256-`)) {
    for (const { key, size, modifiedAt } of objects) {
      const id = key.slice(prefix.length);
      if (!isBlobId(id)) continue;
      const mayGo = !inUse.has(id) && modifiedAt + olderThanMs <= clock.now();
      if (mayGo && (await remove(place, id, olderThanMs))) {
        report.removed += 1;
        report.removedBytes += size;
      } else report.kept += 1;
    }
  }
  return report;
}

/** Removes a blob that is still old once it is marked. */
async function remove(place: Place, id: string, olderThanMs: number): Promise<boolean> {
  const mark = `${marksOf(place, id)}${randomUUID()}`;
  const at = performance.now();
  await textOf(await ask(place, { method: 'PUT', key: mark, body: new Uint8Array() }));
  try {
    const found = await head(place, id);
    const isOld = found !== null && found.putAt + olderThanMs <= place.clock.now();
    // A mark that is nearly over protects nobody.
    if (!isOld || performance.now() - at > MARK_MS / 2) return false;
    await textOf(await ask(place, { method: 'DELETE', key: `${place.prefix}${id}` }));
    return true;
  } finally {
    await textOf(await ask(place, { method: 'DELETE', key: mark }));
  }
}
