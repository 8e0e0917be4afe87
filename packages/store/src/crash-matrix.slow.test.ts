// @module-tag slow

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { crashMatrix, everythingScenario } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { newStore, programOf } from './test-support/stores.ts';

// What dies here is a process, and not the machine: so the journal may be in memory, where a sync costs nothing.
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

describe('a run with everything in it', () => {
  it('S1, S2: on SQLite, is brought to its end by another process wherever one died', async () => {
    const { moments, courses, acknowledged } = await crashMatrix(everythingScenario(() => newStore('SQLite', place)));
    expect(moments.length).toBeGreaterThan(200);
    expect(courses).toBeGreaterThanOrEqual(moments.length - 2);
    expect(acknowledged).toBeGreaterThan(5000);
  }, 180_000);

  // All of its moments are for `npm run test:crash`: a look at a folder of files costs more than a look at a database.
  it('S1, S2: on files, is brought to its end by another process wherever one died', async () => {
    const { courses } = await crashMatrix(
      everythingScenario(() => newStore('files', place)),
      // An odd step meets moments before and after writes.
      { moments: (moment) => moment % 19 === 4 },
    );
    expect(courses).toBeGreaterThanOrEqual(8);
  });

  it.each(['SQLite', 'files'] as const)(
    'on %s, is brought to its end by another process after a few deaths',
    { tags: ['share'] },
    async (kind) => {
      const { courses } = await crashMatrix(
        everythingScenario(() => newStore(kind, place)),
        { moments: (moment) => moment % 97 === 5 },
      );
      expect(courses).toBeGreaterThanOrEqual(2);
    },
  );

  it.each(['SQLite', 'files'] as const)(
    'S1, S2: on %s, is brought to its end by another process wherever one was killed',
    async (kind) => {
      const scenario = everythingScenario(() => {
        const store = newStore(kind, place);
        return { ...store, process: programOf('./everything-process.ts', store.at) };
      });
      const { courses } = await crashMatrix(scenario, { moments: (moment) => moment % 47 === 11 });
      expect(courses).toBeGreaterThanOrEqual(3);
    },
    60_000,
  );
});
