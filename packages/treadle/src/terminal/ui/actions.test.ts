import type { SessionInput } from '@treadle/core/events';

import { describe, expect, it } from 'vitest';

import { createActions, type ActionsParts } from './actions.ts';

/** A terminal whose run is open since `startedAt`; null without one. */
function world() {
  const now = { at: 0, startedAt: null as number | null, draft: '' };
  const [posted, left, hints]: [string[], number[], (string | null)[]] = [[], [], []];
  const input: Partial<ActionsParts['input']> = {
    get text() {
      return now.draft;
    },
    take() {
      const { draft } = now;
      now.draft = '';
      return draft;
    },
  };
  const parts: Partial<ActionsParts> = {
    device: { now: () => now.at } as ActionsParts['device'],
    host: {} as ActionsParts['host'],
    shell: { stop: () => false, running: null } as ActionsParts['shell'],
    ui: {
      get state() {
        return { queued: [], run: now.startedAt === null ? null : { startedAt: now.startedAt } };
      },
    } as unknown as ActionsParts['ui'],
    input: input as ActionsParts['input'],
    post: async ({ type }: SessionInput) => void posted.push(type),
    setHint: (text) => void hints.push(text),
    leave: (code) => void left.push(code),
  };
  const actions = createActions(parts as ActionsParts);
  const press = (at: number): void => {
    now.at = at;
    actions.first({ name: 'ctrl+c', sequence: '\u0003' });
  };
  return { now, press, posted, left, hints };
}

describe('Ctrl+C', () => {
  it('interrupts a run, and leaves it behind when pressed again before it has ended', () => {
    const { now, press, posted, left, hints } = world();
    now.startedAt = 7;
    press(1000);
    expect(posted).toEqual(['cancel']);
    expect(hints).toEqual(['Ctrl+C again leaves.']);
    press(60_000);
    expect(left).toEqual([130]);
  });

  it('leaves in the same way when the run has ended between the two', () => {
    const { now, press, left } = world();
    now.startedAt = 7;
    press(1000);
    now.startedAt = null;
    press(1100);
    expect(left).toEqual([130]);
  });

  it('interrupts each run', () => {
    const { now, press, posted, left } = world();
    now.startedAt = 7;
    press(1000);
    now.startedAt = 1050;
    press(1100);
    expect(posted).toEqual(['cancel', 'cancel']);
    expect(left).toEqual([]);
  });

  it('leaves with 0 when it is pressed twice while nothing goes on, also after an interruption', () => {
    const { now, press, left } = world();
    now.startedAt = 7;
    press(1000);
    now.startedAt = null;
    press(4000);
    expect(left).toEqual([]);
    press(7000);
    expect(left).toEqual([]);
    press(8000);
    expect(left).toEqual([0]);
  });

  it('puts a draft aside first', () => {
    const { now, press, posted, left } = world();
    now.startedAt = 7;
    now.draft = 'a draft';
    press(1000);
    expect(now.draft).toBe('');
    expect(posted).toEqual([]);
    press(1100);
    expect(posted).toEqual(['cancel']);
    expect(left).toEqual([]);
  });
});
