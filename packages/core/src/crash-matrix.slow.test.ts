// @module-tag slow

import { deepStrictEqual } from 'node:assert/strict';
import { crashMatrix, everythingScenario, type CrashCourse } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { memoryJournal, type DurableEvent } from './index.ts';
import { reduce, initialState } from './kernel/reduce.ts';
import type { SessionState } from './kernel/state.ts';

const everything = everythingScenario(() => {
  const journal = memoryJournal();
  return { open: async () => journal };
});

const folded = (log: readonly DurableEvent[]): SessionState =>
  log.reduce((state, event) => reduce(state, event), initialState('s1'));

/** Also folds each log again, as it would come out of a file. */
async function foldedTwice(): Promise<CrashCourse> {
  const course = await everything();
  return {
    ...course,
    outcome(log, deaths) {
      deepStrictEqual(folded(JSON.parse(JSON.stringify(log)) as DurableEvent[]), folded(log));
      return course.outcome(log, deaths);
    },
  };
}

describe('a run with everything in it', () => {
  it('S1, S2: survives a death at every journal write and around every effect, with nothing lost and nothing done twice', async () => {
    const { moments, courses } = await crashMatrix(foldedTwice);
    expect(courses).toBe(moments.length);
    for (const moment of [
      'before input prompt',
      'after tool_started, tool_started, tool_started, tool_started',
      'after charge',
      'before tool_ended',
      'before compacted',
      'after input approval_answer',
      'after input client_tool_results',
      'before a settlement',
      'before run_ended',
    ]) {
      expect(moments).toContain(moment);
    }
    expect(moments.length).toBeGreaterThan(200);
  }, 120_000);

  it('survives a death at every thirtieth of these moments', { tags: ['share'] }, async () => {
    const { moments, courses } = await crashMatrix(foldedTwice, { moments: (moment) => moment % 30 === 7 });
    expect(courses).toBeGreaterThanOrEqual(Math.floor(moments.length / 30));
  });

  it('survives a second death while another process goes on', async () => {
    const { moments, courses } = await crashMatrix(foldedTwice, { deaths: 2, moments: (moment) => moment % 2 === 1 });
    expect(courses).toBe(Math.floor(moments.length / 2));
  }, 120_000);
});
