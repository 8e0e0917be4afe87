import { memoryJournal } from '@treadle/core';
import { sweepBlobs } from '@treadle/core/features';
import { readBlob } from '@treadle/core/ports';
import { blobsContract, testClock } from '@treadle/testing';
import { mkdtemp, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileBlobs } from '../index.ts';

async function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'treadle-blobs-'));
}

async function world() {
  const path = await folder();
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const clock = testClock();
  const blobs = fileBlobs({ folder: join(path, 'deep', 'blobs'), clock });
  const files = async (): Promise<string[]> =>
    (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  return { path, clock, blobs, files };
}

describe('the contract of blobs, in files', () => {
  const cases = blobsContract(async () => {
    const path = await folder();
    const clock = testClock();
    return {
      blobs: fileBlobs({ folder: path, clock }),
      advance: clock.advance,
      open: () => fileBlobs({ folder: path, clock }),
      dispose: () => rm(path, { recursive: true, force: true }),
    };
  });
  it.each(cases)('$name', ({ run }) => run());
});

describe('blobs in files', () => {
  it('are for their owner only', async () => {
    const { blobs, files } = await world();
    await blobs.put(Buffer.from('private'));
    const [file = ''] = await files();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('that were damaged are refused, and whole again once they are put again', async () => {
    const { blobs, files } = await world();
    const { id } = await blobs.put(Buffer.from('whole'));
    const [file = ''] = await files();
    for (const damage of [() => truncate(file, 3), () => writeFile(file, 'wrong'), () => writeFile(file, 'whole!')]) {
      await damage();
      await expect(readBlob(blobs, id)).rejects.toMatchObject({ code: 'blob_corrupt' });
    }
    await blobs.put(Buffer.from('whole'));
    expect(Buffer.from(await readBlob(blobs, id)).toString()).toBe('whole');
  });

  it('leave nothing beside them, and what a process left that died while it wrote is swept away when it is old', async () => {
    const { blobs, files, clock, path } = await world();
    await blobs.put(Buffer.from('one'));
    await expect(blobs.put(Buffer.from('too long'), { maxBytes: 3 })).rejects.toThrow();
    expect(await files()).toHaveLength(1);
    await writeFile(join(path, 'deep', 'blobs', 'temporary', 'left'), 'half');
    await clock.advance(Date.now() + 1_000_000 - clock.now());
    await blobs.put(Buffer.from('one'));
    await blobs.sweep({ olderThanMs: 500_000, inUse: new Set() });
    expect(await files()).toHaveLength(1);
  });

  it('that a sweep had set aside when it died are there, and back in their place after the next one', async () => {
    const { blobs, files, clock } = await world();
    const { id } = await blobs.put(Buffer.from('one'));
    const [file = ''] = await files();
    await rename(file, `${file}.a1.removed`);
    expect(Buffer.from(await readBlob(blobs, id)).toString()).toBe('one');
    await clock.advance(10_000);
    await blobs.sweep({ olderThanMs: 0, inUse: new Set([id]) });
    expect(await files()).toEqual([file]);
    await rename(file, `${file}.a1.removed`);
    await blobs.sweep({ olderThanMs: 0, inUse: new Set() });
    expect(await files()).toEqual([]);
  });

  it('S6: fail with a code when there is no room for them, or no folder', async () => {
    const { path } = await world();
    await writeFile(join(path, 'file'), '');
    const blobs = fileBlobs({ folder: join(path, 'file', 'blobs') });
    await expect(blobs.put(Buffer.from('a'))).rejects.toMatchObject({ code: 'blob_failed' });
    expect(() => fileBlobs({ folder: '' })).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });
});

describe('sweepBlobs', () => {
  const HOUR = 3_600_000;

  it('keeps what a log names, also through a fork whose parent was removed', async () => {
    const { blobs, clock } = await world();
    const journal = memoryJournal();
    const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
    const [inLog, inFork, unnamed] = await Promise.all(
      ['in a log', 'in a fork', 'unnamed'].map((text) => blobs.put(Buffer.from(text))),
    );
    const name = (sessionId: string, id: string | undefined) =>
      journal.post(
        sessionId,
        { type: 'steering', message: { content: [{ type: 'text', text: `see ${id}` }] } },
        `${id}`,
        1,
      );
    await journal.create('log', created('log'));
    await name('log', inLog?.id);
    await journal.create('parent', created('parent'));
    await name('parent', inFork?.id);
    await journal.create('fork', created('fork'), { sessionId: 'parent', seq: 2 });
    await journal.remove('parent');
    await clock.advance(25 * HOUR);
    expect(await sweepBlobs({ blobs, journals: [journal] })).toEqual({ removed: 1, removedBytes: 7, kept: 2 });
    expect(await blobs.size(unnamed?.id ?? '')).toBeNull();
    await journal.remove('log');
    await journal.remove('fork');
    expect(await sweepBlobs({ blobs, journals: [journal] })).toMatchObject({ removed: 2, kept: 0 });
  });

  it('removes nothing when a log can not be read', async () => {
    const { blobs, clock } = await world();
    const { id } = await blobs.put(Buffer.from('a'));
    await clock.advance(25 * HOUR);
    const journal = memoryJournal();
    await journal.close();
    await expect(sweepBlobs({ blobs, journals: [journal] })).rejects.toMatchObject({ code: 'journal_failed' });
    expect(await blobs.size(id)).toBe(1);
  });
});
