import { describe, expect, it } from 'vitest';
import { logOf, testClock } from '@treadle/testing';
import type { ModelEvent } from '../entries/model.ts';
import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  type AgentDefinition,
  type Journal,
  type Model,
} from '../index.ts';

const LEASE_MS = 3000;

/** A journal whose claims must be renewed, and what the next renewal says: at first that the session is still held. */
function leasedJournal() {
  const inner = memoryJournal();
  let answer = (): Promise<boolean> => Promise.resolve(true);
  let renewals = 0;
  const journal: Journal = {
    ...inner,
    async claim(sessionId, owner) {
      const claim = await inner.claim(sessionId, owner);
      return {
        ...claim,
        leaseMs: LEASE_MS,
        renew: () => {
          renewals += 1;
          return answer();
        },
      };
    },
  };
  return {
    journal,
    renewals: () => renewals,
    /** Another process has the session. */
    lose: () => (answer = () => Promise.resolve(false)),
    /** Nobody can say. */
    fail: () => (answer = () => Promise.reject(new Error('The disk is gone.'))),
  };
}

/** Waits until it is aborted, and says when it began and when it was. */
function waiting() {
  const begun = Promise.withResolvers<void>();
  const seen = { isAborted: false };
  const wait = (signal: AbortSignal): Promise<void> => {
    begun.resolve();
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        seen.isAborted = true;
        resolve();
      });
    });
  };
  return { begun: begun.promise, seen, wait };
}

const usage = { input: 1, output: 1, cacheRead: null, cacheWrite: null, reasoning: null };

/** Calls `act` first, and then says that it is done. */
const acting = (between?: (signal: AbortSignal) => Promise<void>): Model => ({
  provider: 'p',
  id: 'm',
  async *stream({ messages }, signal): AsyncGenerator<ModelEvent> {
    yield { type: 'start' };
    if (between) await between(signal);
    const isDone = messages.some(({ role }) => role === 'tool');
    const block = isDone
      ? ({ type: 'text', text: 'Done.' } as const)
      : ({ type: 'tool_call', providerCallId: 'c', name: 'act', argumentsText: '{}' } as const);
    yield { type: 'block_end', index: 0, block };
    yield { type: 'finish', stopReason: isDone ? 'stop' : 'tool_use', usage };
  },
});

const act = (execute: (signal: AbortSignal) => unknown = () => 'done') =>
  defineTool({ name: 'act', description: 'Acts.', execute: (_, { signal }) => execute(signal) as string });

async function start(definition: AgentDefinition) {
  const { journal, ...lease } = leasedJournal();
  const clock = testClock();
  const session = await createSession(defineAgent(definition), { journal, id: 's1', clock });
  const run = session.prompt('Go.');
  const result = run.result.catch((error: unknown) => error);
  return { journal, clock, result, ...lease };
}

describe('a drive whose session was taken over', () => {
  const cases: [string, (wait: (signal: AbortSignal) => Promise<void>) => AgentDefinition][] = [
    ['its model', (wait) => ({ model: acting(wait) })],
    ['a tool', (wait) => ({ model: acting(), tools: [act(wait)] })],
    [
      'a hook',
      (wait) => ({
        model: acting(),
        tools: [act()],
        hooks: [
          defineHook('before_tool', async (_, { signal }) => {
            await wait(signal);
            return undefined;
          }),
        ],
      }),
    ],
  ];

  it.each(cases)('stops %s as soon as a renewal says so, and does nothing more', async (_, definitionOf) => {
    const { begun, seen, wait } = waiting();
    const { journal, clock, lose, renewals, result } = await start(definitionOf(wait));
    await begun;
    await clock.advance(LEASE_MS / 3);
    expect(renewals()).toBe(1);
    expect(seen.isAborted).toBe(false);
    const before = (await logOf(journal, 's1')).length;
    lose();
    await clock.advance(LEASE_MS / 3);
    expect(seen.isAborted).toBe(true);
    // A tool that was stopped may take a moment to say what it had done.
    await clock.advance(1000);
    expect(await result).toMatchObject({ code: 'fenced' });
    const log = await logOf(journal, 's1');
    expect(log.slice(before).filter(({ type }) => STARTS.has(type))).toEqual([]);
    expect(log.some(({ type }) => type === 'run_ended')).toBe(false);
    // Nobody renews what is gone.
    await clock.advance(10 * LEASE_MS);
    expect(renewals()).toBe(2);
  });

  it('does not wait for its next attempt', async () => {
    const failing: Model = {
      provider: 'p',
      id: 'm',
      async *stream(): AsyncGenerator<ModelEvent> {
        yield {
          type: 'error',
          error: { kind: 'rate_limited', message: 'Later.', retryable: true, retryAfterMs: 60_000 },
        };
      },
    };
    const { journal, clock, lose, result } = await start({ model: failing });
    await clock.advance(LEASE_MS);
    lose();
    await clock.advance(LEASE_MS / 3);
    expect(await result).toMatchObject({ code: 'fenced' });
    expect((await logOf(journal, 's1')).at(-1)?.type).toBe('attempt_failed');
  });

  it('goes on after a renewal that fails: the next one may succeed', async () => {
    const { begun, seen, wait } = waiting();
    const { clock, fail, renewals, result } = await start({ model: acting(wait) });
    await begun;
    fail();
    await clock.advance(LEASE_MS);
    expect(renewals()).toBe(3);
    expect(seen.isAborted).toBe(false);
    expect(await Promise.race([result, Promise.resolve('running')])).toBe('running');
  });
});

/** What a drive does next, as opposed to what it has done. */
const STARTS: ReadonlySet<string> = new Set([
  'turn_started',
  'tool_started',
  'compacted',
  'run_ended',
  'decision_made',
]);
