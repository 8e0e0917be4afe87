import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '@treadle/core';
import { crashMatrix, everythingScenario, type CrashStore } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { fileJournal, sqliteJournal } from './index.ts';

/** A store that each process opens for itself. */
function storeIn(openAt: (folder: string) => Journal): CrashStore {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-crash-'));
  const opened: Journal[] = [];
  return {
    async open() {
      const journal = openAt(folder);
      opened.push(journal);
      return journal;
    },
    async dispose() {
      await Promise.all(opened.map((journal) => journal.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const journals: readonly [string, (folder: string) => Journal][] = [
  ['SQLite', (folder) => sqliteJournal({ path: join(folder, 'journal.db') })],
  ['files', (folder) => fileJournal({ folder, pollMs: 10 })],
];

// Every moment is for the journal in memory; these write to a disk. An odd step meets moments before and after writes.
const EVERY = 19;

describe.each(journals)('a run with everything in it, on %s', (_, openAt) => {
  it('S1: is brought to its end by another process wherever one died', async () => {
    const { moments, courses } = await crashMatrix(
      everythingScenario(() => storeIn(openAt)),
      { moments: (moment) => moment % EVERY === 4 },
    );
    expect(moments.length).toBeGreaterThan(200);
    expect(courses).toBeGreaterThanOrEqual(8);
  });
});
