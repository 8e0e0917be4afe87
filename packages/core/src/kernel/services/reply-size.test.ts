import { expect, it } from 'vitest';
import { scriptedModel, type Turn } from '@treadle/testing';
import { sizedStream } from './reply-size.ts';

const limits = { maxReplyLength: 10_000, maxThinkingLength: 1000, maxArgumentsLength: 2000 };
const long = 'x'.repeat(5000);

it.each<[string, Turn, string]>([
  ['reply', { text: long.repeat(3) }, 'a reply may have 10000 characters'],
  ['thinking', { thinking: long }, 'a block of thinking may have 1000 characters'],
  ['arguments', { toolCalls: [{ name: 'a', arguments: { long } }] }, "a call's arguments may have 2000 characters"],
])('a stream of its own is stopped at the limit of its %s, and the error names it', async (limit, turn, words) => {
  const request = { system: [], messages: [], tools: [] };
  const events = [];
  for await (const event of sizedStream(scriptedModel([turn]), request as never, new AbortController().signal, limits))
    events.push(event);
  expect(events.at(-1)).toEqual({
    type: 'error',
    error: {
      kind: 'other',
      code: `${limit}_limit`,
      message: `${limit} limit reached (${words})`,
      retryable: false,
    },
  });
});
