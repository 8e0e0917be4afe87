import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { askCallback, type CanUseTool, type PermissionAnswer } from './callback.ts';

const question = {
  sessionId: 's',
  runId: 'r',
  callId: 'c',
  label: 'Run',
  reason: 'why',
  rule: null,
  access: null,
  suggestions: [],
};

function ask(canUseTool: unknown, allowBypass = false): { answer: Promise<PermissionAnswer>; pass(ms: number): void } {
  const clock = testClock();
  const asking = {
    canUseTool: canUseTool as CanUseTool,
    timeoutMs: 60_000,
    allowBypass,
    warn: () => {},
    clock,
    signal: new AbortController().signal,
  };
  return { answer: askCallback(asking, 'bash', { command: 'ls' }, question), pass: (ms) => void clock.advance(ms) };
}

const denied = (message: string): PermissionAnswer => ({ allow: false, message, interrupt: false, updates: [] });

describe('A permission callback', () => {
  it('allows, with other arguments and updates where it says so', async () => {
    const updates = [{ type: 'addRules', rules: ['bash(ls)'], behavior: 'allow', destination: 'session' }];
    expect(await ask(() => ({ behavior: 'allow' })).answer).toEqual({ allow: true, input: null, updates: [] });
    const answer = ask(async () => ({ behavior: 'allow', updatedInput: { a: 1 }, updatedPermissions: updates })).answer;
    expect(await answer).toEqual({ allow: true, input: { a: 1 }, updates });
  });

  it('denies with words, and may end the run', async () => {
    const answer = ask(() => ({ behavior: 'deny', message: 'Not today.', interrupt: true })).answer;
    expect(await answer).toEqual({ allow: false, message: 'Not today.', interrupt: true, updates: [] });
  });

  it.each<[string, unknown, string]>([
    ['throws', () => Promise.reject(new Error('gone')), 'The permission callback failed: gone'],
    ['answers nothing', () => null, 'gave no answer'],
    ['answers a word', () => 'allow', 'gave no answer'],
    ['answers another behaviour', () => ({ behavior: 'yes' }), 'neither allow nor deny'],
    ['answers input that is no object', () => ({ behavior: 'allow', updatedInput: 'ls' }), 'updatedInput is no object'],
    ['answers updates that are none', () => ({ behavior: 'allow', updatedPermissions: [{}] }), 'must be one of'],
    [
      'wants bypass where the agent has none',
      () => ({ behavior: 'allow', updatedPermissions: [{ type: 'setMode', mode: 'bypass', destination: 'session' }] }),
      'needs allowBypass',
    ],
  ])('that %s denies', async (_, canUseTool, words) => {
    const answer = await ask(canUseTool).answer;
    expect(answer.allow).toBe(false);
    expect(answer.allow ? '' : answer.message).toContain(words);
  });

  it('that throws at once denies', async () => {
    const answer = await ask(() => {
      throw new Error('broken');
    }).answer;
    expect(answer).toEqual(denied('The permission callback failed: broken'));
  });

  it('that is silent denies when its time is over, and is told so by its signal', async () => {
    let signal: AbortSignal | undefined;
    const { answer, pass } = ask((_name: string, _input: unknown, asked: { signal: AbortSignal }) => {
      ({ signal } = asked);
      return new Promise(() => {});
    });
    pass(60_000);
    expect(await answer).toEqual(denied('The permission callback took more than 60000 ms.'));
    expect(signal?.aborted).toBe(true);
  });
});
