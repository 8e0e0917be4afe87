// @module-tag slow

import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import { longLog } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { systemFiles, type JournalFileSystem } from './file-system.ts';
import { fileJournal } from './journal.ts';

const folders: string[] = [];
const journals: Journal[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-index-'));
  folders.push(folder);
  return folder;
}

function open(folder: string, fileSystem: JournalFileSystem = systemFiles): Journal {
  const journal = fileJournal({ folder, fileSystem, onDamage: () => {} });
  journals.push(journal);
  return journal;
}

afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A file system that counts the bytes that are read. */
function countingFiles() {
  const counting = {
    bytes: 0,
    files: {
      ...nodeFiles,
      async open(path: string, flags: string, mode?: number) {
        const file = await nodeFiles.open(path, flags, mode);
        const read = file.read.bind(file) as (...args: unknown[]) => Promise<{ readonly bytesRead: number }>;
        return Object.assign(file, {
          async read(...args: unknown[]) {
            const done = await read(...args);
            counting.bytes += done.bytesRead;
            return done;
          },
        });
      },
      async readFile(path: string, encoding: 'utf8') {
        const text = await nodeFiles.readFile(path, encoding);
        counting.bytes += text.length;
        return text;
      },
    } as JournalFileSystem,
  };
  return counting;
}

const input: SessionInput = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Again.' }] }] };

async function seqsFrom(journal: Journal, from: number, most = 5): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of journal.read('s', from)) if (seqs.push(seq) === most) break;
  return seqs;
}

/** A log of this many events in a folder, and where its files are. */
async function longLogIn(
  count: number,
): Promise<{ folder: string; log: string; index: string; keys: [string, number][] }> {
  const folder = newFolder();
  const journal = fileJournal({ folder });
  await longLog(journal, 's', count);
  const keys: [string, number][] = [];
  for await (const event of journal.read('s', 1))
    if (event.type === 'input_received') keys.push([event.key, event.seq]);
  await journal.close();
  const [name = ''] = readdirSync(join(folder, 'logs'));
  const place = join(folder, 'logs', name);
  return { folder, log: join(place, 'log.jsonl'), index: join(place, 'index.json'), keys };
}

/** What a handle that has just been opened finds, whatever has become of the index. */
async function expectWhole(folder: string, count: number, keys: readonly [string, number][]): Promise<void> {
  const journal = open(folder);
  for (const from of [1, 2, 256, 257, 258, 4096, 5000, 5001, 5002, count]) {
    expect((await seqsFrom(journal, from))[0]).toBe(from);
  }
  const { sessions } = await journal.list();
  expect(sessions).toMatchObject([{ sessionId: 's', seq: count, firstPrompt: 'Look around.' }]);
  for (const at of [0, 1, Math.floor(keys.length / 2), keys.length - 1]) {
    const [key = '', seq] = keys[at] ?? [];
    expect(await journal.post('s', input, key, 1)).toEqual({ seq, duplicate: true });
  }
  const claim = await journal.claim('s', { id: 'a', label: 'a' });
  expect(claim.seq).toBe(count);
  await journal.close();
}

describe('the index of a log', () => {
  it('S11: lets a log be opened, written to and read anywhere by reading no more of it, however long it is', async () => {
    const bytes: number[] = [];
    for (const count of [6001, 31_001]) {
      const { folder, keys } = await longLogIn(count);
      const counting = countingFiles();
      const journal = open(folder, counting.files);
      await journal.list();
      const claim = await journal.claim('s', { id: 'a', label: 'a' });
      expect(claim.seq).toBe(count);
      expect(await journal.post('s', input, keys[1]?.[0] ?? '', 1)).toMatchObject({ duplicate: true });
      expect(await journal.post('s', input, 'new', 1)).toEqual({ seq: count + 1, duplicate: false });
      for (const from of [1, 3000, count - 5]) await seqsFrom(journal, from);
      bytes.push(counting.bytes);
      await journal.close();
    }
    const [short = 0, long = 0] = bytes;
    expect(long).toBeLessThan(1.2 * short);
  });

  it('is a cache: without it, or when it is damaged, cut, of another log or half there, the log is read anew', async () => {
    const count = 5500;
    const { folder, index, keys } = await longLogIn(count);
    const whole = readFileSync(index, 'utf8');
    await expectWhole(folder, count, keys);
    for (let at = 0; at < whole.length; at += 97) {
      writeFileSync(index, whole.slice(0, at) + (whole[at] === '1' ? '2' : '1') + whole.slice(at + 1));
      const journal = open(folder);
      expect((await seqsFrom(journal, count))[0]).toBe(count);
      await journal.close();
    }
    for (const spoil of [
      () => writeFileSync(index, whole.slice(0, 40)),
      () => writeFileSync(index, JSON.stringify({ sum: 0, index: {} })),
      () => truncateSync(index, 0),
      () => rmSync(index),
    ]) {
      writeFileSync(index, whole);
      spoil();
      await expectWhole(folder, count, keys);
    }
  });

  it('is not believed of a log that was cut off before its end, or is another one', { tags: ['share'] }, async () => {
    const { folder, log, keys } = await longLogIn(5500);
    const bytes = readFileSync(log);
    let end = 0;
    for (let n = 0; n < 4500; n += 1) end = bytes.indexOf(10, end) + 1;
    truncateSync(log, end + 7);
    const journal = open(folder);
    expect((await journal.claim('s', { id: 'a', label: 'a' })).seq).toBe(4500);
    expect((await journal.post('s', input, keys[1]?.[0] ?? '', 1)).duplicate).toBe(true);
    expect((await journal.post('s', input, 'new', 1)).seq).toBe(4501);
    await journal.close();
    expect(await seqsFrom(open(folder), 4500)).toEqual([4500, 4501]);
  });

  it('S4: hides no damage: who reads the damaged event is told, and those before it can be read', async () => {
    const { folder, log } = await longLogIn(5500);
    const bytes = readFileSync(log);
    let end = 0;
    for (let n = 0; n < 999; n += 1) end = bytes.indexOf(10, end) + 1;
    bytes[end + 100] = (bytes[end + 100] ?? 0) ^ 1;
    writeFileSync(log, bytes);
    const journal = open(folder);
    expect((await seqsFrom(journal, 5000))[0]).toBe(5000);
    const seqs: number[] = [];
    const reading = (async () => {
      for await (const { seq } of journal.read('s', 1)) seqs.push(seq);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'journal_corrupt' });
    expect(seqs.at(-1)).toBe(999);
  });

  it('is kept up by several processes, each of which knows only what it has read', async () => {
    const folder = newFolder();
    const [a, b] = [open(folder), open(folder)];
    await longLog(a, 's', 4500);
    expect(await b.post('s', input, 'one', 1)).toMatchObject({ duplicate: false });
    const claim = await a.claim('s', { id: 'a', label: 'a' });
    const noted = Array.from({ length: 1000 }, (_, n) => {
      return { type: 'task_updated', at: 2, taskId: `t${n}`, status: 'running' } as const;
    });
    for (let seq = claim.seq, n = 0; n < 9; n += 1, seq += 1000) await a.append('s', claim.epoch, seq, noted);
    expect((await a.post('s', input, 'two', 1)).duplicate).toBe(false);
    for (const journal of [b, a, open(folder)]) {
      for (const key of ['one', 'two']) expect((await journal.post('s', input, key, 1)).duplicate).toBe(true);
    }
  });
});
