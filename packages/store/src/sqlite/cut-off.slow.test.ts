// @module-tag slow

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DurableEvent, Journal } from '@treadle/core';
import { logOf } from '@treadle/testing';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { sqliteJournal } from '../index.ts';
import { loadSqlite } from './load.ts';

const { DatabaseSync } = loadSqlite();
const folders: string[] = [];
const journals: Journal[] = [];

function newPath(): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'treadle-cut-off-'));
  folders.push(folder);
  return join(folder, 'journal.db');
}

/** Each for a machine of its own: what another machine held is nobody's here. */
function open(path: string): Journal {
  const processes = { self: () => ({ pid: 1, start: null, host: path }), isGone: () => true };
  const journal = sqliteJournal({ path, processes });
  journals.push(journal);
  return journal;
}

afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const created = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' } as const;
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;
const SECTOR = 512;

interface Moment {
  readonly database: Buffer;
  readonly log: Buffer;
  readonly events: readonly DurableEvent[];
}

/** What is on the disk, and what has been acknowledged. */
async function lookAt(path: string, journal: Journal): Promise<Moment> {
  const log = `${path}-wal`;
  return {
    database: readFileSync(path),
    log: existsSync(log) ? readFileSync(log) : Buffer.alloc(0),
    events: await logOf(journal, 's'),
  };
}

/** A journal with so many events, and what was on the disk after each of its writes. */
async function written(path: string, count: number): Promise<{ journal: Journal; moments: Moment[] }> {
  const journal = open(path);
  await journal.create('s', created);
  const moments = [await lookAt(path, journal)];
  for (let index = 1; index < count; index += 1) {
    await journal.post('s', note('x'.repeat((index * 797) % 3000)), `k${index}`, 2);
    moments.push(await lookAt(path, journal));
  }
  return { journal, moments };
}

/** Puts files somewhere else, as a machine finds them. */
function put(database: Buffer, log: Buffer): string {
  const path = newPath();
  writeFileSync(path, database);
  if (log.length > 0) writeFileSync(`${path}-wal`, log);
  return path;
}

/** Reads what is there, and goes on from it. */
async function readAndGoOn(path: string): Promise<readonly DurableEvent[]> {
  const journal = open(path);
  const events = await logOf(journal, 's');
  const { seq } = await journal.post('s', note('Further.'), 'further', 3);
  expect(seq).toBe(events.length + 1);
  await journal.close();
  return events;
}

describe('what is cut off', () => {
  it('S3: of the write-ahead log, at any byte of the last three writes, is what wasn’t whole, and nothing else', async () => {
    const { moments } = await written(newPath(), 8);
    const [from = 0, to = 0] = [moments.at(-4)?.log.length, moments.at(-1)?.log.length];
    const cuts = Array.from({ length: to - from }, (_, index) => from + index)
      // Every byte around the frames of pages, where something begins or ends, and some of what is in a page.
      .filter((cut) => (cut - 32) % 4120 < 30 || (cut - 32) % 4120 > 4112 || cut % 331 === 0);
    expect(cuts.length).toBeGreaterThan(200);
    for (const cut of cuts) {
      const last = moments.findLast(({ log }) => log.length <= cut);
      const whole = moments.at(-1);
      const events = await readAndGoOn(
        put(whole?.database ?? Buffer.alloc(0), (whole?.log ?? Buffer.alloc(0)).subarray(0, cut)),
      );
      expect(events, `cut at ${cut}`).toEqual(last?.events);
    }
  }, 60_000);

  it(
    'S3: of the database, at any place, is said, and the file is left as it is',
    { tags: ['share'], timeout: 60_000 },
    async () => {
      const path = newPath();
      const { journal } = await written(path, 8);
      await journal.close();
      expect(readdirSync(join(path, '..'))).toEqual(['journal.db']);
      const whole = readFileSync(path);
      for (let length = whole.length - 1; length >= 64; length -= length > whole.length - 20 ? 1 : 509) {
        const copy = put(whole.subarray(0, length), Buffer.alloc(0));
        const cut = open(copy);
        for (const call of [
          () => cut.list(),
          () => logOf(cut, 's'),
          () => cut.post('s', note('x'), 'x', 3),
          () => cut.claim('s', { id: 'a', label: 'a' }),
        ]) {
          await expect(call(), `cut to ${length}`).rejects.toMatchObject({ code: 'journal_corrupt' });
        }
        await cut.close();
        expect(readFileSync(copy).equals(whole.subarray(0, length))).toBe(true);
        expect(readdirSync(join(copy, '..'))).toEqual(['journal.db']);
      }
      expect(await readAndGoOn(put(whole, Buffer.alloc(0)))).toHaveLength(8);
    },
  );
});

/** Each sector is the old one or the new one. Where the old file had none yet, it is zeros; it ends where `length` says. */
function mixed(before: Buffer, after: Buffer, isNew: (sector: number) => boolean): Buffer {
  const length = Math.max(before.length, after.length);
  const mix = Buffer.alloc(length);
  before.copy(mix);
  for (let sector = 0; sector * SECTOR < length; sector += 1) {
    if (isNew(sector)) after.copy(mix, sector * SECTOR, sector * SECTOR, (sector + 1) * SECTOR);
  }
  return mix;
}

const bits = fc.infiniteStream(fc.boolean());
const choice = (stream: Stream<boolean>): ((sector: number) => boolean) => {
  const known: boolean[] = [];
  return (sector) => {
    while (known.length <= sector) known.push(stream.next().value === true);
    return known[sector] === true;
  };
};
type Stream<Value> = IterableIterator<Value>;

describe('a power failure while SQLite moves its log into the database', () => {
  /** Moves all there is, as SQLite does by itself when the log has grown. */
  function checkpoint(path: string): void {
    const db = new DatabaseSync(path);
    expect(db.prepare('PRAGMA wal_checkpoint(FULL)').get()).toMatchObject({ busy: 0 });
    db.close();
  }

  it('S5: loses nothing, whichever blocks of the database were kept, dropped or reordered', async () => {
    const path = newPath();
    const { journal, moments } = await written(path, 12);
    const before = moments.at(-1);
    checkpoint(path);
    const after = await lookAt(path, journal);
    expect(after.database.length).toBeGreaterThan((before?.database.length ?? 0) + 10 * SECTOR);
    let torn = 0;
    await fc.assert(
      fc.asyncProperty(bits, async (stream) => {
        // The log was synced before the first page of it is written into the database.
        const database = mixed(before?.database ?? Buffer.alloc(0), after.database, choice(stream));
        if (!database.equals(after.database)) torn += 1;
        expect(await readAndGoOn(put(database, before?.log ?? Buffer.alloc(0)))).toEqual(after.events);
      }),
      { numRuns: 40, seed: 1 },
    );
    expect(torn).toBeGreaterThan(30);
  });

  it('S5: has what was acknowledged when the log is begun anew, whichever of its blocks were kept, dropped or reordered', async () => {
    const path = newPath();
    const { journal } = await written(path, 12);
    checkpoint(path);
    const before = await lookAt(path, journal);
    // The next write is at the beginning of the log again, over what was there.
    await journal.post('s', note('Once more.'), 'more', 2);
    const after = await lookAt(path, journal);
    expect(after.log.length).toBe(before.log.length);
    expect(after.log.equals(before.log)).toBe(false);
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(bits, fc.constantFrom(0.5, 0.9, 1), fc.integer(), async (stream, share, salt) => {
        const isNew = choice(stream);
        const log = mixed(before.log, after.log, (sector) => ((sector * 7 + salt) % 10) / 10 < share || isNew(sector));
        const events = await readAndGoOn(put(after.database, log));
        expect([before.events, after.events]).toContainEqual(events);
        seen.add(events.length);
      }),
      { numRuns: 60, seed: 1 },
    );
    // Some were torn, and some had all of it.
    expect(seen.size).toBe(2);
  });
});
