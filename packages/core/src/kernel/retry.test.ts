import { describe, expect, it } from 'vitest';
import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  type AgentDefinition,
  type DurableEvent,
  type Model,
  type RunResult,
  type TreadleEvent,
} from '../index.ts';

const overloaded: Turn = { error: { status: 529, kind: 'api', retryable: true, message: 'Overloaded.' } };

interface Played {
  readonly result: RunResult;
  readonly events: readonly TreadleEvent[];
  /** What the run waited for, in milliseconds. */
  readonly waited: number;
}

/** Plays one prompt, moving the clock on whenever the run waits for it. */
async function play(model: Model, options: Partial<AgentDefinition> = {}): Promise<Played> {
  const clock = testClock();
  const begin = clock.now();
  const session = await createSession(defineAgent({ model, ...options }), { clock, random: () => 0.5 });
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  const run = session.prompt('Go.');
  let settled = false;
  const done = run.result.finally(() => {
    settled = true;
  });
  while (!settled) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const failed = events.findLast((event) => event.type === 'attempt_failed' || event.type === 'turn_started');
    if (failed?.type === 'attempt_failed' && failed.retry)
      await clock.advance(failed.at + failed.retry.delayMs - clock.now());
  }
  return { result: await done, events, waited: clock.now() - begin };
}

const ofType = <Type extends DurableEvent['type']>(events: readonly TreadleEvent[], type: Type) =>
  events.filter((event): event is Extract<DurableEvent, { type: Type }> => event.type === type);

describe('a model call that fails', () => {
  it('waits longer each time by the factor of the agent', async () => {
    const model = scriptedModel([overloaded, overloaded, overloaded, 'Hello.']);
    const { events } = await play(model, { retry: { initialDelayMs: 100, multiplier: 3, maxDelayMs: 500 } });
    expect(ofType(events, 'attempt_failed').map(({ retry }) => retry?.delayMs)).toEqual([100, 300, 500]);
  });

  it('is tried again after a wait, with an event for each attempt, and the run goes on', async () => {
    const { result, events, waited } = await play(scriptedModel([overloaded, overloaded, 'Hello.']));
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.', turns: 1 });
    expect(ofType(events, 'attempt_failed').map(({ attempt, retry }) => [attempt, retry?.delayMs])).toEqual([
      [1, 1000],
      [2, 2000],
    ]);
    expect(ofType(events, 'turn_started').map(({ turnIndex, attempt }) => [turnIndex, attempt])).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
    ]);
    expect(waited).toBe(3000);
  });

  it('four times ends the run with the error', async () => {
    const { result, waited } = await play(scriptedModel(Array.from({ length: 9 }, () => overloaded)));
    expect(result).toMatchObject({ status: 'model_error', error: { status: 529 }, turns: 1 });
    expect(waited).toBe(7000);
  });

  it('and asks for seven seconds gets them', async () => {
    const { waited } = await play(scriptedModel([{ error: { status: 429, retryAfterMs: 7000 } }, 'Hello.']));
    expect(waited).toBe(7000);
  });

  it('and asks for a day ends the run at once, saying so', async () => {
    const { result, waited } = await play(scriptedModel([{ error: { status: 429, retryAfterMs: 86_400_000 } }]));
    expect(result.status).toBe('model_error');
    expect(result.message).toContain('more than the 120 s that are allowed');
    expect(waited).toBe(0);
  });

  it.each([400, 401, 403, 404, 413])('with status %i is not tried again', async (status) => {
    const { result } = await play(scriptedModel([{ error: { status } }, 'Hello.']));
    expect(result.status).toBe('model_error');
  });

  it('after text ends the run without `afterText`, and the text is kept and not repeated', async () => {
    const model = scriptedModel([
      { text: 'Once upon a time', error: { kind: 'network', afterDeltas: Infinity } },
      'Hello.',
    ]);
    const { result } = await play(model, { retry: { afterText: false } });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
    expect(result.finalMessage).toMatchObject({ stopReason: 'error', content: [{ text: 'Once upon a time' }] });
    expect(model.requests).toHaveLength(1);
  });

  it('after text is tried again, and the text is marked as void first', async () => {
    const model = scriptedModel([{ text: 'Once upon', error: { kind: 'network', afterDeltas: Infinity } }, 'Hello.']);
    const { result, events } = await play(model);
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(result.text).toBe('Hello.');
    const order = events
      .map(({ type }) => type)
      .filter((type) => type === 'message_discarded' || type === 'turn_started');
    expect(order).toEqual(['turn_started', 'message_discarded', 'turn_started']);
  });

  it('in the middle of a tool call is tried again, and the broken call never runs', async () => {
    let ran = 0;
    const count = defineTool({ name: 'count', description: 'Counts.', execute: () => String(++ran) });
    const broken: Turn = { toolCalls: [{ name: 'count' }], error: { kind: 'network', afterDeltas: 1 } };
    const { result, events } = await play(scriptedModel([broken, { toolCalls: [{ name: 'count' }] }, 'Hello.']), {
      tools: [count],
    });
    expect(result.status).toBe('completed');
    expect(ran).toBe(1);
    expect(ofType(events, 'message_discarded')).toHaveLength(1);
  });

  it('is paid for: what it used counts, in the result as in the log', async () => {
    const cost = (usage: { input: number | null }): number => (usage.input ?? 0) / 10;
    const model: Model = scriptedModel(['Hello.'], { cost });
    let calls = 0;
    const failsFirst: Model = {
      ...model,
      stream(request, signal) {
        if (++calls > 1) return model.stream(request, signal);
        const usage = { input: 100, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
        const error = { kind: 'api', message: 'Overloaded.', retryable: true } as const;
        return (async function* () {
          yield { type: 'error', error, usage } as const;
        })();
      },
    };
    const { result, events } = await play(failsFirst);
    expect(result).toMatchObject({ usage: { input: 110 }, cost: 11 });
    expect(ofType(events, 'run_ended')[0]).toMatchObject({ usage: { input: 110 }, cost: 11 });
  });

  it('can be cancelled while it waits', async () => {
    const clock = testClock();
    const session = await createSession(defineAgent({ model: scriptedModel([overloaded]) }), { clock });
    const failed = Promise.withResolvers<void>();
    session.subscribe((event) => {
      if (event.type === 'attempt_failed') failed.resolve();
    });
    const run = session.prompt('Go.');
    await failed.promise;
    await run.abort();
    expect((await run.result).status).toBe('aborted');
  });
});

describe('fallback models', () => {
  const second = () =>
    scriptedModel(['From the second.', 'Again from the second.'], { provider: 'other', id: 'second', cost: () => 2 });

  it('take over when retrying the first is over, keep the run, and are named in what they say', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
    const fallback = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.'], {
      provider: 'other',
      id: 'second',
      cost: () => 2,
    });
    const first = scriptedModel([overloaded, overloaded]);
    const { result, events } = await play(first, { fallbacks: [fallback], retry: { maxRetries: 1 }, tools: [look] });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 2 });
    expect(result.finalMessage).toMatchObject({ provider: 'other', model: 'second', cost: 2 });
    expect(first.requests).toHaveLength(2);
    expect(
      ofType(events, 'turn_started').map(({ turnIndex, attempt, modelIndex }) => [turnIndex, attempt, modelIndex]),
    ).toEqual([
      [0, 1, undefined],
      [0, 2, undefined],
      [0, 3, 1],
      [1, 1, 1],
    ]);
  });

  it('take over at once from a model that refuses to serve', async () => {
    const { result, waited } = await play(scriptedModel([{ error: { status: 401 } }]), { fallbacks: [second()] });
    expect(result.text).toBe('From the second.');
    expect(waited).toBe(0);
  });

  it('do not take over for failures they are not for', async () => {
    const { result } = await play(scriptedModel([{ error: { status: 401 } }]), {
      fallbacks: [second()],
      fallbackOn: ['network'],
    });
    expect(result.status).toBe('model_error');
  });

  it('do not take over after text without `afterText`', async () => {
    const model = scriptedModel([{ text: 'Once', error: { kind: 'network', afterDeltas: Infinity } }]);
    const { result } = await play(model, { fallbacks: [second()], retry: { afterText: false } });
    expect(result.status).toBe('model_error');
  });

  it('that all fail end the run with the last error', async () => {
    const last = scriptedModel([{ error: { status: 403, message: 'No entry.' } }]);
    const { result } = await play(scriptedModel([{ error: { status: 401 } }]), { fallbacks: [last] });
    expect(result.error?.message).toBe('No entry.');
  });
});
