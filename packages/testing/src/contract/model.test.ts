import type { Model } from '@treadle/core';
import type { ModelEvent, ModelStream } from '@treadle/core/model';
import { describe, expect, it } from 'vitest';
import { modelContract, scriptedModel, type Turn } from '../index.ts';

describe('scriptedModel', () => {
  for (const { name, run } of modelContract((turns) => ({ model: scriptedModel(turns) }))) it(name, run);
});

type Stream = Model['stream'];

/** Names of the cases that a scripted model breaks when it streams like this. */
async function broken(flaw: (stream: Stream) => Stream): Promise<string> {
  const names: string[] = [];
  const make = (turns: readonly Turn[]) => {
    const model = scriptedModel(turns);
    return { model: { ...model, stream: flaw(model.stream) } };
  };
  for (const { name, run } of modelContract(make)) await run().catch(() => names.push(name));
  return names.join('\n');
}

/** A model that replaces each event by others. */
const replacing =
  (replace: (event: ModelEvent) => readonly ModelEvent[]) =>
  (stream: Stream): Stream =>
  (request, signal) => {
    async function* events() {
      for await (const event of stream(request, signal)) yield* replace(event);
    }
    return events();
  };

describe('modelContract', () => {
  it.each<[string, (stream: Stream) => Stream, RegExp]>([
    ['finishes twice', replacing((event) => (event.type === 'finish' ? [event, event] : [event])), /one finish/],
    ['never ends its blocks', replacing((event) => (event.type === 'block_end' ? [] : [event])), /as one block/],
    [
      'throws its errors',
      replacing((event) => {
        if (event.type === 'error') throw new Error(event.error.message);
        return [event];
      }),
      /a failed call an error event/,
    ],
    [
      'calls every id the same',
      replacing((event) => {
        if (event.type === 'tool_call_start') return [{ ...event, providerCallId: 'call' }];
        if (event.type !== 'block_end' || event.block.type !== 'tool_call') return [event];
        return [{ ...event, block: { ...event.block, providerCallId: 'call' } }];
      }),
      /an id and its own block/,
    ],
    [
      'guesses its usage',
      replacing((event) =>
        event.type === 'finish'
          ? [{ ...event, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 } }]
          : [event],
      ),
      /tokens that were used/,
    ],
    [
      'always stops for the same reason',
      replacing((event) => [event.type === 'finish' ? { ...event, stopReason: 'stop' } : event]),
      /says why/,
    ],
    [
      'ends a reply that was cut off',
      (stream) =>
        async function* (request, signal) {
          let last: ModelEvent['type'] | undefined;
          for await (const event of stream(request, signal)) {
            last = event.type;
            yield event;
          }
          const usage = { input: null, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
          if (last !== 'finish' && last !== 'error') yield { type: 'finish', stopReason: 'stop', usage };
        },
      /ended early/,
    ],
    [
      'goes on after an abort',
      (stream) => (request, signal) => stream(request, signal.aborted ? new AbortController().signal : signal),
      /it is aborted/,
    ],
    [
      'calls again when a stream is read again',
      (stream) =>
        (request, signal): ModelStream => ({
          [Symbol.asyncIterator]: () => stream(request, signal)[Symbol.asyncIterator](),
        }),
      /however often it is read/,
    ],
    [
      'changes its request',
      (stream) => (request, signal) => {
        Object.assign(request, { system: '' });
        return stream(request, signal);
      },
      /as one block/,
    ],
  ])('notices a model that %s', async (_, flaw, expected) => {
    expect(await broken(flaw)).toMatch(expected);
  });
});
