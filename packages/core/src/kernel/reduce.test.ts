import { describe, expect, it } from 'vitest';
import type { DurableEventBody } from '../entries/events.ts';
import { initialState, reduce } from '../entries/kernel.ts';
import type { DurableEvent } from '../index.ts';

const created: DurableEventBody = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' };
const noted: DurableEventBody = { type: 'task_updated', at: 2, taskId: 't', status: 'running' };
const numbered = (body: DurableEventBody, seq: number): DurableEvent => ({ ...body, seq });

describe('a log that is folded', () => {
  it.each<[string, readonly DurableEvent[], number]>([
    ['begins with another event than the first', [numbered(created, 2)], 0],
    ['has a gap', [numbered(created, 1), numbered(noted, 3)], 1],
    ['says an event twice', [numbered(created, 1), numbered(created, 1)], 1],
    ['goes back', [numbered(created, 1), numbered(noted, 2), numbered(noted, 1)], 2],
  ])('is refused when it %s, and the state stays what it was', (_, events, kept) => {
    const state = initialState('s');
    for (const event of events.slice(0, -1)) reduce(state, event);
    const before = structuredClone(state);
    const last = events.at(-1) ?? expect.fail('no event');
    expect(() => reduce(state, last)).toThrow(
      expect.objectContaining({ code: 'journal_corrupt', message: expect.stringContaining('a gap or a repeat') }),
    );
    expect(state).toEqual(before);
    expect(state.seq).toBe(kept);
  });
});
