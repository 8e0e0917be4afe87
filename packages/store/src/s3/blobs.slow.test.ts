// @module-tag slow

import { awsSignature } from '@treadle/models';
import { readBlob } from '@treadle/core/ports';
import { blobsContract, testClock } from '@treadle/testing';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import { describe, expect, it } from 'vitest';
import { s3Blobs } from '../index.ts';
import { fetchOnce } from './client.ts';

const KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

/** A server that knows one key, with a bucket `kept`. Signatures are tested with AWS's own examples, in `@treadle/models`. */
async function world() {
  const directory = await mkdtemp(join(tmpdir(), 'treadle-s3-'));
  const server = new S3rver({
    directory,
    address: '127.0.0.1',
    port: 0,
    silent: true,
    configureBuckets: [{ name: 'kept', configs: [] }],
  });
  const { port } = await server.run();
  const clock = testClock(Date.now());
  const credentials = awsSignature({ service: 's3', region: 'us-east-1', credentials: KEYS });
  const options = { url: `http://127.0.0.1:${port}/kept`, credentials, clock };
  return {
    clock,
    directory,
    options,
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

describe('the contract of blobs, in S3', () => {
  const cases = blobsContract(async () => {
    const w = await world();
    return {
      blobs: s3Blobs(w.options),
      advance: w.clock.advance,
      open: () => s3Blobs(w.options),
      dispose: () => w[Symbol.asyncDispose](),
    };
  });
  it.each(cases)('$name', ({ run }) => run());
});

describe('blobs in S3', () => {
  it('refuse what was damaged in the bucket', { tags: ['share'] }, async () => {
    await using w = await world();
    const blobs = s3Blobs(w.options);
    const { id } = await blobs.put(Buffer.from('whole'));
    const files = await readdir(w.directory, { recursive: true });
    const file = files.find((name) => name.includes(id) && name.endsWith('object'));
    await writeFile(join(w.directory, file ?? ''), 'wrong');
    await expect(readBlob(blobs, id)).rejects.toMatchObject({ code: 'blob_corrupt' });
  });

  it('fail with a code where the key is unknown or the bucket is missing, and name no key', async () => {
    await using w = await world();
    const wrong = awsSignature({ service: 's3', region: 'us-east-1', credentials: { ...KEYS, accessKeyId: 'NOBODY' } });
    await expect(s3Blobs({ ...w.options, credentials: wrong }).put(Buffer.from('a'))).rejects.toMatchObject({
      code: 'blob_failed',
      message: expect.stringMatching(/^The S3 bucket refused PUT blobs\/sha256-\w+: 403 \w+\.$/) as string,
    });
    const missing = s3Blobs({ ...w.options, url: w.options.url.replace('kept', 'none') });
    await expect(missing.put(Buffer.from('a'))).rejects.toMatchObject({ code: 'blob_failed' });
    await expect(missing.sweep({ olderThanMs: 0, inUse: new Set() })).rejects.toMatchObject({ code: 'blob_failed' });
  });

  it('are asked for again where the server fails, three times at most', async () => {
    await using w = await world();
    let failures = 2;
    const http: typeof fetchOnce = async (request) => {
      if (request.method !== 'PUT' || failures === 0) return fetchOnce(request);
      failures -= 1;
      return { status: 503, headers: {}, body: new Blob(['<Code>SlowDown</Code>']).stream() };
    };
    const blobs = s3Blobs({ ...w.options, http });
    await blobs.put(Buffer.from('a'));
    failures = 3;
    await expect(blobs.put(Buffer.from('b'))).rejects.toMatchObject({
      code: 'blob_failed',
      message: expect.stringContaining('SlowDown') as string,
    });
  });

  it('stay when they are put again, however late their removal comes to the server', async () => {
    await using w = await world();
    let late: (() => Promise<unknown>) | null = null;
    const http: typeof fetchOnce = async (request) => {
      if (request.method !== 'DELETE' || late !== null || request.url.includes('/removing/')) return fetchOnce(request);
      late = () => fetchOnce(request);
      throw new Error('The connection was lost.');
    };
    const [sweeping, blobs] = [s3Blobs({ ...w.options, http }), s3Blobs(w.options)];
    const { id } = await blobs.put(Buffer.from('a'));
    await w.clock.advance(10_000);
    const all = { olderThanMs: 5000, inUse: new Set<string>() };
    await expect(sweeping.sweep(all)).rejects.toMatchObject({ code: 'blob_failed' });
    expect(await blobs.put(Buffer.from('a'))).toEqual({ id, size: 1 });
    await (late as (() => Promise<unknown>) | null)?.();
    expect(Buffer.from(await readBlob(blobs, id)).toString()).toBe('a');
    expect(await blobs.size(id)).toBe(1);
    // Where it is now, it is swept as it was before.
    await w.clock.advance(10_000);
    expect(await blobs.sweep({ ...all, inUse: new Set([id]) })).toEqual({ removed: 0, removedBytes: 0, kept: 1 });
    expect(await blobs.sweep(all)).toEqual({ removed: 1, removedBytes: 1, kept: 0 });
    await expect(readBlob(blobs, id)).rejects.toMatchObject({ code: 'blob_not_found' });
  });

  it('are swept page by page', async () => {
    const page = (name: string, next: string): string =>
      `<ListBucketResult><IsTruncated>${next !== ''}</IsTruncated>${next}<Contents><Key>blobs/sha256-${name.repeat(64)}` +
      '</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>7</Size></Contents></ListBucketResult>';
    const asked: (string | null)[] = [];
    const http: typeof fetchOnce = async ({ url }) => {
      const token = new URL(url).searchParams.get('continuation-token');
      asked.push(token);
      const next = '<NextContinuationToken>a&amp;b</NextContinuationToken>';
      return { status: 200, headers: {}, body: new Blob([token === null ? page('a', next) : page('b', '')]).stream() };
    };
    const inUse = new Set(['a', 'b'].map((name) => `sha256-${name.repeat(64)}`));
    const blobs = s3Blobs({ url: 'http://127.0.0.1/kept', credentials: { authorize: () => ({}) }, http });
    expect(await blobs.sweep({ olderThanMs: 1000, inUse })).toEqual({ removed: 0, removedBytes: 0, kept: 2 });
    expect(asked).toEqual([null, 'a&b']);
  });

  it.each([{ url: 'no address' }, { prefix: 'a b' }])('refuse %j', (wrong) => {
    const options = { url: 'http://127.0.0.1/kept', credentials: { authorize: () => ({}) } };
    expect(() => s3Blobs({ ...options, ...wrong })).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });
});
