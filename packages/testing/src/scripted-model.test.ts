import type { ModelEvent, ModelRequest } from '@treadle/core/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scriptedModel, testClock } from './index.ts';

const request = (over: Partial<ModelRequest> = {}): ModelRequest => ({ system: '', messages: [], tools: [], ...over });
const never = new AbortController().signal;

async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('scriptedModel', () => {
  it('streams thinking, text and tool calls in this order and finishes with the turn’s usage', async () => {
    const model = scriptedModel(
      [{ toolCalls: [{ name: 'add', arguments: { a: 1 } }], text: 'Hi', thinking: 'Hm', usage: { output: 7 } }],
      { chunkSize: Number.POSITIVE_INFINITY },
    );
    expect(await collect(model.stream(request(), never))).toEqual([
      { type: 'start' },
      { type: 'thinking_delta', index: 0, text: 'Hm' },
      { type: 'block_end', index: 0, block: { type: 'thinking', text: 'Hm' } },
      { type: 'text_delta', index: 1, text: 'Hi' },
      { type: 'block_end', index: 1, block: { type: 'text', text: 'Hi' } },
      { type: 'tool_call_start', index: 2, providerCallId: 'call_1_1', name: 'add' },
      { type: 'tool_arguments_delta', index: 2, text: '{"a":1}' },
      {
        type: 'block_end',
        index: 2,
        block: { type: 'tool_call', providerCallId: 'call_1_1', name: 'add', argumentsText: '{"a":1}' },
      },
      {
        type: 'finish',
        stopReason: 'tool_use',
        usage: { input: 10, output: 7, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      },
    ]);
  });

  it('cuts any text into deltas of the asked size that join to the text and never split a character', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 9 }), async (text, chunkSize) => {
        const events = await collect(scriptedModel([{ text }], { chunkSize }).stream(request(), never));
        const deltas = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
        expect(deltas.join('')).toBe(text);
        for (const delta of deltas) {
          expect(delta.length).toBeLessThanOrEqual(chunkSize + 1);
          expect(/\p{Surrogate}/u.test(delta)).toBe(false);
        }
      }),
    );
  });

  it('records each request with the messages as they were then', async () => {
    const messages: ModelRequest['messages'][number][] = [];
    const model = scriptedModel(['a', 'b']);
    await collect(model.stream(request({ messages }), never));
    messages.push({ role: 'user', id: 'm', at: 0, origin: 'prompt', content: [] });
    await collect(model.stream(request({ messages }), never));
    expect(model.requests.map((recorded) => recorded.messages.length)).toEqual([0, 1]);
  });

  it('lets a function look at the request', async () => {
    const model = scriptedModel((seen, index) => `${index}:${seen.system}`);
    await collect(model.stream(request({ system: 'x' }), never));
    const events = await collect(model.stream(request({ system: 'y' }), never));
    expect(events).toContainEqual({ type: 'block_end', index: 0, block: { type: 'text', text: '1:y' } });
  });

  it('reports a script without a turn left, and a turn function that throws, as error events', async () => {
    const model = scriptedModel([
      () => {
        throw new Error('no idea');
      },
    ]);
    const kinds = async () => (await collect(model.stream(request(), never))).map((event) => JSON.stringify(event));
    expect(await kinds()).toEqual([expect.stringContaining('Turn 1 of the script threw: no idea')]);
    expect(await kinds()).toEqual([expect.stringContaining('The script has 1 turn, and this is request 2.')]);
  });

  it('fails before any output, or after as many deltas as asked', async () => {
    const error = { status: 529, code: 'overloaded_error', message: 'Busy' };
    const model = scriptedModel(
      [
        { text: 'abcdef', error },
        { text: 'abcdef', error: { ...error, afterDeltas: 2 } },
        { text: 'abcdef', error: { ...error, afterDeltas: Number.POSITIVE_INFINITY } },
      ],
      { chunkSize: 2 },
    );
    const failure = {
      type: 'error',
      error: { kind: 'api', message: 'Busy', retryable: true, status: 529, code: 'overloaded_error' },
    };
    expect(await collect(model.stream(request(), never))).toEqual([failure]);
    expect((await collect(model.stream(request(), never))).slice(1)).toEqual([
      { type: 'text_delta', index: 0, text: 'ab' },
      { type: 'text_delta', index: 0, text: 'cd' },
      failure,
    ]);
    expect((await collect(model.stream(request(), never))).slice(-2)).toEqual([
      { type: 'block_end', index: 0, block: { type: 'text', text: 'abcdef' } },
      failure,
    ]);
  });

  it('leaves a cut-off call without its end, and an unfinished stream without its terminal event', async () => {
    const model = scriptedModel([
      { stopReason: 'length', toolCalls: [{ name: 'write', argumentsText: '{"pa', cutOff: true }] },
      { text: 'ha', unfinished: true },
    ]);
    expect((await collect(model.stream(request(), never))).map((event) => event.type)).toEqual([
      'start',
      'tool_call_start',
      'tool_arguments_delta',
      'finish',
    ]);
    expect((await collect(model.stream(request(), never))).map((event) => event.type)).toEqual([
      'start',
      'text_delta',
      'block_end',
    ]);
  });

  it('waits on the injected clock only, and on promises', async () => {
    const clock = testClock(0);
    let open: () => void = () => {};
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    const model = scriptedModel([{ text: 'abc', delayMs: 100, chunkDelayMs: 10, waitAfter: { deltas: 2, until } }], {
      clock,
      chunkSize: 1,
    });
    const seen: [number, string][] = [];
    const reading = (async () => {
      for await (const event of model.stream(request(), never)) {
        if (event.type === 'text_delta') seen.push([clock.now(), event.text]);
      }
    })();
    await clock.advance(1000);
    expect(seen).toEqual([
      [100, 'a'],
      [110, 'b'],
    ]);
    open();
    await clock.advance(20);
    await reading;
    expect(seen.at(-1)).toEqual([1010, 'c']);
    expect(clock.pending).toBe(0);
  });

  it.each(['before the stream', 'while it waits', 'between deltas'])(
    'ends with a cancelled error when aborted %s',
    async (when) => {
      const clock = testClock();
      const abort = new AbortController();
      const model = scriptedModel([{ text: 'abcdef', ...(when === 'while it waits' && { delayMs: 1000 }) }], {
        clock,
        chunkSize: 1,
      });
      if (when === 'before the stream') abort.abort();
      const seen: ModelEvent[] = [];
      const reading = (async () => {
        for await (const event of model.stream(request(), abort.signal)) {
          seen.push(event);
          if (when === 'between deltas' && event.type === 'text_delta') abort.abort();
        }
      })();
      await clock.advance(0);
      abort.abort();
      await reading;
      expect(seen.at(-1)).toMatchObject({ type: 'error', error: { kind: 'cancelled', retryable: false } });
      expect(seen.length).toBe(when === 'between deltas' ? 3 : 1);
      expect(clock.pending).toBe(0);
    },
  );
});
