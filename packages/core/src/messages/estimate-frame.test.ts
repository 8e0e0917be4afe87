import { describe, expect, it } from 'vitest';
import { UNKNOWN_USAGE } from '../entries/model.ts';
import type { Message } from '../index.ts';
import { assistant, user } from '../test-support/views.ts';
import { estimateMessage } from './estimate.ts';
import { measureView } from './estimate-frame.ts';
import { anchorOf, NO_ANCHOR, promptTokens } from './anchor.ts';

const reply = (input: number | null): Message =>
  assistant('a', [{ type: 'text', text: 'abcd' }], { ...UNKNOWN_USAGE, input, cacheRead: 100 });

describe('the size of a view', () => {
  it('is what the provider reported, and an estimate of what came after', () => {
    const view = [user('u1', 'x'.repeat(4000)), reply(900), user('u2', 'abcd')];
    const last = view[1];
    const anchor = last?.role === 'assistant' ? anchorOf(last, 1) : null;
    expect(anchor).toEqual({ count: 1, tokens: 1000 });
    expect(measureView(view, anchor ?? NO_ANCHOR, 5000)).toBe(1000 + 5 + 5);
  });

  it('is estimated, system prompt and tools included, while nothing is reported', () => {
    expect(measureView([user('u1', 'abcd'), user('u2', 'abcd')], NO_ANCHOR, 70)).toBe(80);
  });

  it('takes no report for one: usage that is unknown, or nothing', () => {
    expect(promptTokens(UNKNOWN_USAGE)).toBeNull();
    expect(promptTokens({ ...UNKNOWN_USAGE, input: 0 })).toBeNull();
    expect(promptTokens({ ...UNKNOWN_USAGE, cacheWrite: 3 })).toBe(3);
  });

  it.each(['with reports', 'without'])('costs as much on turn 400 as on turn 2: the new messages, %s', (how) => {
    const view: Message[] = [];
    let calls = 0;
    const estimate = (message: Message): number => {
      calls += 1;
      return estimateMessage(message);
    };
    let anchor = NO_ANCHOR;
    const perTurn: number[] = [];
    for (let turn = 0; turn < 400; turn++) {
      view.push(user(`u${turn}`, 'Go on.'));
      const said = assistant(`a${turn}`, [{ type: 'text', text: 'Yes.' }], {
        ...UNKNOWN_USAGE,
        input: 10 * view.length,
      });
      if (how === 'with reports' && said.role === 'assistant') anchor = anchorOf(said, view.length) ?? anchor;
      view.push(said);
      calls = 0;
      measureView(view, anchor, 0, estimate);
      perTurn.push(calls);
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2);
  });

  it('begins anew when a list was shortened in place', () => {
    const view = [user('u1', 'abcd'), user('u2', 'abcd')];
    measureView(view, NO_ANCHOR, 0);
    view.pop();
    expect(measureView(view, NO_ANCHOR, 0)).toBe(5);
  });
});
