import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { cacheHitRate } from '../entries/model.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  type DurableEvent,
  type Model,
  type RunResult,
  type Usage,
} from '../index.ts';

const make = defineTool({ name: 'make', description: 'Makes.', execute: () => 'made' });

interface Ended {
  readonly result: RunResult;
  readonly ended: Extract<DurableEvent, { type: 'run_ended' }> | undefined;
}

async function runOn(model: Model): Promise<Ended> {
  const session = await createSession(
    defineAgent({ model, tools: [make], retry: { afterText: true, initialDelayMs: 0 } }),
  );
  const run = session.prompt('Go.');
  let ended: Ended['ended'];
  for await (const event of run) if (isDurable(event) && event.type === 'run_ended') ended = event;
  return { result: await run.result, ended };
}

describe('the cache-hit rate', () => {
  const turns = (cacheRead: number | null): Turn[] => [
    { toolCalls: [{ name: 'make' }], usage: { input: 100, cacheRead: 0, cacheWrite: 0 } },
    { text: 'Made.', usage: { input: 20, cacheRead, cacheWrite: 0 } },
  ];

  it('of a run is the share of all of its prompts, and of a message that of its own', async () => {
    const { result } = await runOn(scriptedModel(turns(80)));
    expect(result.cacheHitRate).toBe(0.4);
    const rates = result.messages.flatMap((message) =>
      message.role === 'assistant' ? [cacheHitRate(message.usage)] : [],
    );
    expect(rates).toEqual([0, 0.8]);
  });

  it('of a run is unknown when one of its prompts was not counted', async () => {
    // The share of the others would look like one of all.
    const { result } = await runOn(scriptedModel(turns(null)));
    expect(result).toMatchObject({ cacheHitRate: null, usage: { input: 120, cacheRead: 0 } });
  });

  it('of a run is unknown when nothing was counted', async () => {
    const { result } = await runOn(scriptedModel([{ text: 'Hi.', usage: null }]));
    expect(result.cacheHitRate).toBeNull();
  });
});

describe('the cost', () => {
  const cost = (usage: { readonly output: number | null }): number | null => usage.output;

  it('of a run is the sum of its messages’', async () => {
    const turns = [
      { toolCalls: [{ name: 'make' }], usage: { output: 3 } },
      { text: 'Made.', usage: { output: 4 } },
    ];
    const { result, ended } = await runOn(scriptedModel(turns, { cost }));
    expect(result.cost).toBe(7);
    expect(ended?.cost).toBe(7);
    expect(result.messages.flatMap((message) => (message.role === 'assistant' ? [message.cost] : []))).toEqual([3, 4]);
  });

  it('P34: of a run is unknown, not 0, when the usage of one message is', async () => {
    const turns = [
      { toolCalls: [{ name: 'make' }], usage: null },
      { text: 'Made.', usage: { output: 4 } },
    ];
    const { result, ended } = await runOn(scriptedModel(turns, { cost }));
    expect(result.cost).toBeNull();
    expect(ended?.cost).toBeNull();
  });

  it('of an attempt that broke off after it had begun is unknown, and of one that was refused is nothing', async () => {
    const error = { kind: 'network', message: 'Reset.', retryable: true } as const;
    const broken = await runOn(
      scriptedModel([{ text: 'Half', error: { ...error, afterDeltas: 1 } }, 'Whole.'], { cost }),
    );
    expect(broken.result).toMatchObject({ status: 'completed', text: 'Whole.', cost: null });
    expect(broken.ended?.cost).toBeNull();
    const refused = await runOn(scriptedModel([{ error }, { text: 'Whole.', usage: { output: 4 } }], { cost }));
    expect(refused.result).toMatchObject({ status: 'completed', cost: 4 });
    expect(refused.ended?.cost).toBe(4);
  });
});

describe('the messages', () => {
  it.each([1, 3, 20])('have the results of %i calls in the order of the calls, whenever each came', async (count) => {
    const ends: (() => void)[] = [];
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: () =>
        new Promise<string>((resolve) => {
          ends.push(() => resolve('done'));
          // The last that began is the first that ends.
          if (ends.length === count) for (const end of ends.toReversed()) end();
        }),
    });
    const toolCalls = Array.from({ length: count }, () => ({ name: 'wait' }));
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls }, 'Done.']),
      tools: [wait],
      toolExecution: { mode: 'parallel', concurrency: count },
    });
    const session = await createSession(agent);
    const { messages } = await session.prompt('Go.').result;
    const asked = messages.flatMap((message) =>
      message.role === 'assistant' ? message.content.flatMap((block) => ('callId' in block ? [block.callId] : [])) : [],
    );
    const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
    expect(asked).toHaveLength(count);
    expect(answered).toEqual(asked);
  });
});

it('L57: a result has the usage of each model that replied', async () => {
  const usage = { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 };
  const cost = ({ output }: Usage): number => output ?? 0;
  const call: Turn = { toolCalls: [{ name: 'make' }], usage };
  const first = scriptedModel([call, call, { error: { kind: 'auth' } }], { id: 'first', cost });
  const second = scriptedModel([{ text: 'Made.', usage: { ...usage, output: 5 } }], { id: 'second' });
  const session = await createSession(defineAgent({ model: first, fallbacks: [second], tools: [make] }));
  const { modelUsage } = await session.prompt('Go.').result;
  expect(modelUsage).toMatchObject({
    'scripted/first': { usage: { input: 20, output: 2 }, cost: 2 },
    'scripted/second': { usage: { input: 10, output: 5 }, cost: null },
  });
});

describe('the time of a run', () => {
  it('is that from its start to its end, and what of it models took', async () => {
    const clock = testClock();
    const busy = { error: { kind: 'rate_limited', message: 'Busy.', retryable: true } } as const;
    const replies: (Turn | string)[] = [busy, { toolCalls: [{ name: 'wait' }] }, 'Done.'];
    const model = scriptedModel(async () => {
      await clock.advance(100);
      return replies.shift() ?? '';
    });
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: async () => {
        await clock.advance(5000);
        return 'waited';
      },
    });
    const agent = defineAgent({ model, tools: [wait], retry: { initialDelayMs: 0 } });
    const { durationMs, apiDurationMs } = await (await createSession(agent, { clock })).prompt('Go.').result;
    expect({ durationMs, apiDurationMs }).toEqual({ durationMs: 5300, apiDurationMs: 300 });
  });
});
