import type { Clock, ModelEvent, ModelMessage, ModelRequest } from '@treadle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { offlineModel } from './model.ts';
import { eventsOf, type Reply } from './stream.ts';

const request = (text: string, extra: Partial<ModelRequest> = {}): ModelRequest => ({
  system: '',
  messages: [
    { role: 'user', id: 'm1', at: 0, origin: 'prompt', content: [{ type: 'text', text }] } satisfies ModelMessage,
  ],
  tools: ['list_files', 'read_file', 'search', 'write_file', 'edit_file', 'bash'].map((name) => ({
    name,
    description: name,
    parameters: { type: 'object' },
  })),
  ...extra,
});

const call = (argumentsText: string, i = 0): Reply['calls'][number] => ({
  type: 'tool_call',
  providerCallId: `c${i}`,
  name: 'read_file',
  argumentsText,
});

function drain(reply: Reply, extra: Partial<ModelRequest> = {}): ModelEvent[] {
  const source = eventsOf(reply, request('', extra), 'm');
  const events: ModelEvent[] = [];
  for (let event = source.next(); event !== undefined; event = source.next()) events.push(event);
  return events;
}

const collect = async (events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> => {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

const replies = fc.record({
  text: fc.string({ unit: 'binary', maxLength: 200 }),
  calls: fc
    .array(fc.string({ unit: 'binary', maxLength: 100 }), { maxLength: 3 })
    .map((texts) => texts.map((text, i) => call(JSON.stringify({ path: text }), i))),
  inputTokens: fc.nat(),
});

describe('the stream of a reply', () => {
  it('joins to the text and the arguments, in well-formed pieces, every block ended once', () => {
    fc.assert(
      fc.property(replies, (reply) => {
        const events = drain(reply);
        const wellFormed = events.every(
          (event) => !('text' in event) || !reply.text.isWellFormed() || event.text.isWellFormed(),
        );
        expect(wellFormed).toBe(true);
        expect(events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : [])).join('')).toBe(reply.text);
        const ended = events.flatMap((event) => (event.type === 'block_end' ? [event] : []));
        expect(ended.map((event) => event.index)).toEqual(ended.map((_, i) => i));
        const expected = [...(reply.text === '' ? [] : [{ type: 'text', text: reply.text }]), ...reply.calls];
        expect(ended.map((event) => event.block)).toEqual(expected);
        for (const { index, block } of ended) {
          if (block.type !== 'tool_call') continue;
          const pieces = events.flatMap((event) =>
            event.type === 'tool_arguments_delta' && event.index === index ? [event.text] : [],
          );
          expect(pieces.join('')).toBe(block.argumentsText);
        }
        expect(events[0]?.type).toBe('start');
        expect(events.at(-1)).toMatchObject({
          type: 'finish',
          stopReason: reply.calls.length > 0 ? 'tool_use' : 'stop',
        });
        expect(events.filter((event) => event.type === 'finish')).toHaveLength(1);
      }),
    );
  });

  it('comes in small pieces', () => {
    const events = drain({
      text: 'word '.repeat(100),
      calls: [call(JSON.stringify({ path: 'a'.repeat(300) }))],
      inputTokens: 0,
    });
    expect(events.filter((event) => event.type === 'text_delta').length).toBeGreaterThan(20);
    expect(events.filter((event) => event.type === 'tool_arguments_delta').length).toBeGreaterThan(20);
  });

  it('stops at the output limit: the text is cut, and a call that does not fit is never finished', () => {
    fc.assert(
      fc.property(replies, fc.integer({ min: 1, max: 60 }), (reply, maxTokens) => {
        const events = drain(reply, { maxTokens });
        const characters = reply.text.length + reply.calls.reduce((sum, one) => sum + one.argumentsText.length, 0);
        const finish = events.at(-1);
        const fits = characters <= maxTokens * 4;
        expect(finish?.type === 'finish' && finish.stopReason === 'length').toBe(!fits);
        const finished = events.filter((event) => event.type === 'block_end' && event.block.type === 'tool_call');
        if (!fits) expect(finished.length).toBeLessThanOrEqual(Math.max(0, reply.calls.length - 1));
        if (finish?.type === 'finish') expect(finish.usage.output).toBeLessThanOrEqual(maxTokens + 1);
      }),
    );
  });

  it('stops before a stop sequence', () => {
    const events = drain(
      { text: 'one two three two', calls: [call('{}')], inputTokens: 0 },
      { stopSequences: ['three', 'two'] },
    );
    expect(events.at(-2)).toEqual({ type: 'block_end', index: 0, block: { type: 'text', text: 'one ' } });
    expect(events.at(-1)).toMatchObject({ type: 'finish', stopReason: 'stop', rawStopReason: 'stop_sequence' });
  });
});

describe('the offline model', () => {
  it('names itself, and costs nothing', async () => {
    const model = offlineModel();
    expect([model.provider, model.id]).toEqual(['offline', 'offline-1']);
    expect(model.cost?.({ input: 1e6, output: 1e6, cacheRead: 0, cacheWrite: 0, reasoning: 0 })).toBe(0);
    const events = await collect(model.stream(request('hello'), new AbortController().signal));
    const text = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : [])).join('');
    expect(text).toContain('offline model');
    expect(text).toContain('no language model');
    expect(text).toContain('--model anthropic/');
    expect(events.some((event) => event.type === 'tool_call_start')).toBe(false);
  });

  it('gives the same stream for the same request', async () => {
    const ask = (): Promise<ModelEvent[]> =>
      collect(offlineModel().stream(request('what is in this folder?'), new AbortController().signal));
    expect(await ask()).toEqual(await ask());
  });

  it('estimates its usage from what it was sent', async () => {
    const usage = async (text: string): Promise<number> => {
      const events = await collect(offlineModel().stream(request(text), new AbortController().signal));
      const last = events.at(-1);
      return last?.type === 'finish' ? (last.usage.input ?? -1) : -1;
    };
    expect((await usage(`hello ${'x'.repeat(4000)}`)) - (await usage('hello '))).toBe(1000);
  });

  it('ends a stream that is aborted with one error of kind cancelled', async () => {
    const controller = new AbortController();
    const events: ModelEvent[] = [];
    for await (const event of offlineModel().stream(request('hello'), controller.signal)) {
      events.push(event);
      if (events.length === 3) controller.abort();
    }
    expect(events).toHaveLength(4);
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'cancelled', retryable: false } });
  });

  it('is over when its reader leaves', async () => {
    const iterator = offlineModel().stream(request('hello'), new AbortController().signal)[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('waits between events when asked to, and wakes for an abort', async () => {
    const waiting: (() => void)[] = [];
    let cancelled = 0;
    const clock: Clock = {
      now: () => 0,
      after: (_, fn) => {
        waiting.push(fn);
        return () => {
          cancelled += 1;
        };
      },
    };
    const controller = new AbortController();
    const stream = offlineModel({ delayMs: 20, clock }).stream(request('hello'), controller.signal);
    const iterator = stream[Symbol.asyncIterator]();
    const first = iterator.next();
    waiting.shift()?.();
    expect(await first).toMatchObject({ value: { type: 'start' } });
    const second = iterator.next();
    expect(waiting).toHaveLength(1);
    controller.abort();
    expect(await second).toMatchObject({ value: { type: 'error', error: { kind: 'cancelled' } } });
    expect(cancelled).toBe(2);
  });
});
