import type { AssistantContent, DurableEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { replyFold, type ReplyPart } from './parts.ts';

const place = { runId: 's1.x.1', turnIndex: 0 };
const delta = (index: number, offset: number, text: string): LiveEvent => ({
  type: 'message_delta',
  afterSeq: 4,
  ...place,
  messageId: 'msg_1',
  attempt: 1,
  kind: 'text',
  index,
  offset,
  text,
});
const added = (content: readonly AssistantContent[], id = 'msg_1'): DurableEvent => ({
  type: 'message_added',
  seq: 5,
  at: 0,
  runId: place.runId,
  inView: true,
  message: {
    role: 'assistant',
    id,
    at: 0,
    provider: 'p',
    model: 'm',
    content,
    stopReason: 'stop',
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    cost: null,
  },
});
const discarded: DurableEvent = {
  type: 'message_discarded',
  seq: 6,
  at: 0,
  ...place,
  attempt: 1,
  reason: 'interrupted',
};

const told = (parts: readonly ReplyPart[]): string[] =>
  parts.map((part) => {
    if (part.type === 'block_delta') return part.text;
    return 'index' in part ? `${part.type} ${part.index}` : part.type;
  });

it('tells a message that nobody streamed as a whole', () => {
  const content: AssistantContent[] = [
    { type: 'text', text: 'Hi.' },
    { type: 'tool_call', callId: 'c', name: 'act', arguments: { a: 1 } },
  ];
  expect(told(replyFold().take(added(content)))).toEqual([
    'block_started 0',
    'Hi.',
    'block_ended 0',
    'block_started 1',
    '{"a":1}',
    'block_ended 1',
    'reply_ended',
  ]);
});

it('completes what the deltas left out, wherever they stopped and wherever a reader joined', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), fc.nat(40), fc.nat(40), (text, from, to) => {
      const fold = replyFold();
      const [start, end] = [Math.min(from, to, text.length), Math.min(Math.max(from, to), text.length)];
      const parts = [
        ...fold.take(delta(0, start, text.slice(start, end))),
        // Told again, from its beginning.
        ...fold.take(delta(0, start, text.slice(start, end))),
        ...fold.take(added([{ type: 'text', text }])),
      ];
      const seen = parts.flatMap((part) => (part.type === 'block_delta' ? [part.text] : [])).join('');
      expect(seen).toBe(text.slice(start));
    }),
    { numRuns: 200 },
  );
});

it('ends every block that it began, and says so when a reply is void', () => {
  const fold = replyFold();
  const parts = [...fold.take(delta(0, 0, 'Hel')), ...fold.take(delta(1, 0, 'lo')), ...fold.take(discarded)];
  expect(told(parts)).toEqual([
    'block_started 0',
    'Hel',
    'block_ended 0',
    'block_started 1',
    'lo',
    'block_ended 1',
    'reply_void',
  ]);
  expect(fold.take(discarded)).toEqual([]);
});

it('takes a reply for void when another one is finished in its place', () => {
  const fold = replyFold();
  const parts = [...fold.take(delta(0, 0, 'Hel')), ...fold.take(added([{ type: 'text', text: 'No.' }], 'msg_2'))];
  expect(told(parts)).toEqual([
    'block_started 0',
    'Hel',
    'block_ended 0',
    'reply_void',
    'block_started 0',
    'No.',
    'block_ended 0',
    'reply_ended',
  ]);
});
