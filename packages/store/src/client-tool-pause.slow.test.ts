// @module-tag slow

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { crashAtRandom } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { clientToolCourse } from './test-support/client-tool-run.ts';

const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

describe('a run that waits for its client, and goes on in another process', () => {
  it('S1, S2: has one result per call and the same history a hundred times, whatever died on the way', async () => {
    const { courses, deaths, lives } = await crashAtRandom(() => clientToolCourse('SQLite', place, false), {
      courses: 100,
      seed: 5,
      latest: 30,
    });
    expect(courses).toBe(100);
    expect(deaths).toBeGreaterThan(100);
    // Three processes have work to do when none dies.
    expect(lives - deaths).toBeGreaterThan(150);
  }, 60_000);

  it('has them in a few courses', { tags: ['share'] }, async () => {
    const { courses } = await crashAtRandom(() => clientToolCourse('SQLite', place, false), {
      courses: 4,
      seed: 5,
      latest: 30,
    });
    expect(courses).toBe(4);
  });

  it('S1, S2: does so too when those are processes that are killed', async () => {
    const { deaths, lives } = await crashAtRandom(() => clientToolCourse('files', place, true), {
      courses: 2,
      seed: 8,
      latest: 30,
    });
    expect(deaths).toBeGreaterThan(0);
    expect(lives).toBeGreaterThan(4);
  }, 60_000);
});
