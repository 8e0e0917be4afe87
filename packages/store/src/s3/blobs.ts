import { systemClock, TreadleError, type Blobs, type Clock, type Http } from '@treadle/core';
import type { BlobContent, BlobRef, BlobSweep, BlobSweepReport, HttpResponse } from '@treadle/core/ports';
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
/**
 * Who removes an object has a mark beside it for so long at most, by the server's clock. A request that was signed longer than
 * 15 minutes ago is refused, so one that is late comes while there is a mark, or is without effect.
 */
const MARK_MS = 20 * 60_000;
/** Milliseconds after its mark in which an object may be removed. */
const REMOVE_WITHIN_MS = 60_000;
/** Where a blob may be: in the second place while it is removed from the first. */
const PLACES = ['', '.2'];
const MOST_TRIES = 20;
const WAIT_MS = 500;

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
    size: async (id) => (isBlobId(id) ? sizeOf(place, id) : null),
    sweep: (sweep) => sweepBucket(place, sweep),
  };
}

async function put(place: Place, content: BlobContent, maxBytes: number): Promise<BlobRef> {
  const body = await bytesOf(content, maxBytes);
  const id = blobIdOf(createHash('sha256').update(body).digest('hex'));
  // A sweep marks an object, looks at its age, and removes it. One that is there, and isn't marked, stays.
  for (let tried = 0; tried < MOST_TRIES; tried += 1) {
    // Whoever has died while it removed one leaves its mark.
    if (tried >= PLACES.length) await new Promise<void>((resolve) => void place.clock.after(WAIT_MS, resolve));
    const name = `${id}${PLACES[tried % PLACES.length]}`;
    const headers = { [PUT_AT]: String(place.clock.now()) };
    await textOf(await ask(place, { method: 'PUT', key: `${place.prefix}${name}`, headers, body }));
    if (!(await isMarked(place, name)) && (await head(place, name)) !== null) return { id, size: body.length };
  }
  throw new TreadleError('blob_failed', `The blob ${id} is being removed from the S3 bucket. Put it again later.`);
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
  const response = await found(place, id);
  if (!response) throw blobErrors.notFound(id);
  const hash = createHash('sha256');
  for await (const piece of response.body) {
    hash.update(piece);
    yield piece;
  }
  if (blobIdOf(hash.digest('hex')) !== id) throw blobErrors.corrupt(id);
}

async function found(place: Place, id: string): Promise<HttpResponse | null> {
  for (const where of PLACES) {
    const response = await ask(place, { method: 'GET', key: `${place.prefix}${id}${where}` });
    if (response.status !== 404) return response;
    await textOf(response);
  }
  return null;
}

async function sizeOf(place: Place, id: string): Promise<number | null> {
  for (const where of PLACES) {
    const there = await head(place, `${id}${where}`);
    if (there) return there.size;
  }
  return null;
}

interface Head {
  readonly size: number;
  /** Milliseconds since 1970: by the clock of who put it last. */
  readonly putAt: number;
}

async function head(place: Place, name: string): Promise<Head | null> {
  const response = await ask(place, { method: 'HEAD', key: `${place.prefix}${name}` });
  await textOf(response);
  if (response.status === 404) return null;
  const { headers } = response;
  const putAt = headers[PUT_AT] ?? '';
  return {
    size: Number(headers['content-length']),
    putAt: putAt === '' ? Date.parse(headers['last-modified'] ?? '') : Number(putAt),
  };
}

const marksOf = ({ prefix }: Place, name: string): string => `${prefix}removing/${name}/`;

async function isMarked(place: Place, name: string): Promise<boolean> {
  for await (const { objects, now } of list(place, marksOf(place, name)))
    if (objects.some(({ modifiedAt }) => now - modifiedAt < MARK_MS)) return true;
  return false;
}

async function sweepBucket(place: Place, { olderThanMs, inUse }: BlobSweep): Promise<BlobSweepReport> {
  const report = { removed: 0, removedBytes: 0, kept: 0 };
  const { clock, prefix } = place;
  for await (const { objects } of list(place, `${prefix}sha256-`)) {
    for (const { key, size, modifiedAt } of objects) {
      const name = key.slice(prefix.length);
      const id = name.replace(/\.2$/, '');
      if (!isBlobId(id)) continue;
      const mayGo = !inUse.has(id) && modifiedAt + olderThanMs <= clock.now();
      if (mayGo && (await remove(place, name, olderThanMs))) {
        report.removed += 1;
        report.removedBytes += size;
      } else report.kept += 1;
    }
  }
  return report;
}

/** Removes an object that is still old once it is marked. Its mark stays where nobody knows whether it was removed yet. */
async function remove(place: Place, name: string, olderThanMs: number): Promise<boolean> {
  const mark = `${marksOf(place, name)}${randomUUID()}`;
  const at = performance.now();
  await textOf(await ask(place, { method: 'PUT', key: mark, body: new Uint8Array() }));
  const found = await head(place, name);
  const isOld = found !== null && found.putAt + olderThanMs <= place.clock.now();
  // A mark that is nearly over protects nobody.
  const mayGo = isOld && performance.now() - at < REMOVE_WITHIN_MS;
  // Once: of several requests one may be answered, and another come late.
  if (mayGo) await textOf(await ask(place, { method: 'DELETE', key: `${place.prefix}${name}` }, 1));
  await textOf(await ask(place, { method: 'DELETE', key: mark }));
  return mayGo;
}
