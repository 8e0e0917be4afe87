import { scriptedModel, testClock } from '@treadle/testing';
import { expect, it } from 'vitest';
import { defineAgent } from '../../agent/agent.ts';
import type { Clock } from '../../ports/clock.ts';
import { createSession } from '../../session/session.ts';
import { defineTool } from '../../tools/define/define.ts';

/** A clock that counts the timers that were set for so many milliseconds, and those of them that wait. */
function counting(ms: number) {
  const clock = testClock();
  let set = 0;
  let waiting = 0;
  const counted: Clock = {
    now: () => clock.now(),
    after(after, fn, options) {
      if (after !== ms) return clock.after(after, fn, options);
      set += 1;
      waiting += 1;
      let isOver = false;
      const end = (): void => {
        if (!isOver) waiting -= 1;
        isOver = true;
      };
      const cancel = clock.after(
        after,
        () => {
          end();
          fn();
        },
        options,
      );
      return () => {
        end();
        cancel();
      };
    },
  };
  return { clock: counted, advance: (by: number) => clock.advance(by), timers: () => ({ set, waiting }) };
}

const INTERVAL_MS = 1234;

it('takes one timer for all the calls of a run, and leaves none behind', async () => {
  const { clock, timers } = counting(INTERVAL_MS);
  const quick = defineTool({ name: 'quick', description: 'Quick.', execute: () => 'done' });
  const calls = { toolCalls: [{ name: 'quick' }] };
  const agent = defineAgent({
    model: scriptedModel([calls, calls, calls, 'Done.']),
    tools: [quick],
    toolProgressMs: INTERVAL_MS,
  });
  const session = await createSession(agent, { clock });
  await session.prompt('Go.').result;
  await session.close();
  expect(timers()).toEqual({ set: 1, waiting: 0 });
});

it('reports a call at the interval from its own beginning, whenever the timer was set', async () => {
  const { clock, advance } = counting(INTERVAL_MS);
  const ends: ((text: string) => void)[] = [];
  let begun: () => void = () => {};
  const slow = defineTool({
    name: 'slow',
    description: 'Slow.',
    execute: () =>
      new Promise<string>((resolve) => {
        ends.push(resolve);
        begun();
      }),
  });
  const calls = { toolCalls: [{ name: 'slow' }] };
  const agent = defineAgent({
    model: scriptedModel([calls, calls, 'Done.']),
    tools: [slow],
    toolProgressMs: INTERVAL_MS,
  });
  const session = await createSession(agent, { clock });
  const elapsed: number[] = [];
  session.subscribe((event) => event.type === 'tool_progress' && elapsed.push(event.elapsedMs));
  const nextBegun = (): Promise<void> => new Promise((resolve) => (begun = resolve));
  const first = nextBegun();
  const run = session.prompt('Go.');
  await first;
  await advance(1000);
  const second = nextBegun();
  ends[0]?.('one');
  await second;
  await advance(INTERVAL_MS - 1);
  expect(elapsed).toEqual([]);
  await advance(1);
  expect(elapsed).toEqual([INTERVAL_MS]);
  ends[1]?.('two');
  await run.result;
});
