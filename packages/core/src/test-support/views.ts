import fc from 'fast-check';
import { UNKNOWN_USAGE } from '../entries/model.ts';
import type { AssistantContent, Message, UserMessage } from '../index.ts';

// Random conversations of the shape every view has: whatever order things come in, each call has its result.

type Piece =
  | { readonly kind: 'user'; readonly text: string; readonly origin: UserMessage['origin']; readonly pinned: boolean }
  | { readonly kind: 'extension' }
  | { readonly kind: 'summary' }
  | {
      readonly kind: 'reply';
      readonly text: string;
      readonly thinking: boolean;
      readonly calls: readonly { readonly result: string; readonly isError: boolean }[];
    };

const words = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 40, minLength: 1 }) },
  { weight: 2, arbitrary: fc.nat(60).map((lines) => 'a line of text\n'.repeat(lines + 1)) },
  { weight: 1, arbitrary: fc.nat(8000).map((length) => '𝒳é'.repeat(length + 1)) },
);

const piece: fc.Arbitrary<Piece> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('user' as const),
      text: words,
      origin: fc.constantFrom('prompt', 'steering', 'follow_up', 'reminder', 'import'),
      pinned: fc.nat(4).map((roll) => roll === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('extension' as const, 'summary' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('reply' as const),
      text: words,
      thinking: fc.boolean(),
      calls: fc.array(fc.record({ result: words, isError: fc.boolean() }), { maxLength: 4 }),
    }),
  },
);

/** Any conversation, oldest message first. */
export const anyView: fc.Arbitrary<Message[]> = fc
  .array(piece, { minLength: 1, maxLength: 25 })
  .map((pieces) => pieces.flatMap((made, index) => messagesOf(made, index)));

function messagesOf(made: Piece, index: number): Message[] {
  const id = `m${index}`;
  if (made.kind === 'extension') return [{ role: 'extension', id, at: 0, kind: 'taint', data: index }];
  if (made.kind === 'summary') return [summaryMessage(id)];
  if (made.kind === 'user') {
    const pinned = made.pinned ? { pinned: true } : {};
    return [{ role: 'user', id, at: 0, origin: made.origin, content: [{ type: 'text', text: made.text }], ...pinned }];
  }
  const calls = made.calls.map((call, place) => ({ ...call, callId: `${id}.${place}` }));
  const content: AssistantContent[] = [
    ...(made.thinking ? [{ type: 'thinking' as const, text: 'Let me think.', signature: 's' }] : []),
    { type: 'text', text: made.text },
    ...calls.map(({ callId }) => ({ type: 'tool_call' as const, callId, name: 'tool', arguments: { a: 1 } })),
  ];
  return [assistant(id, content), ...calls.map(({ callId, result, isError }) => toolResult(callId, result, isError))];
}

/** A summary of an earlier compaction. */
export const summaryMessage = (id: string): UserMessage => ({
  role: 'user',
  id,
  at: 0,
  origin: 'compaction',
  removed: { from: `${id}-from`, to: `${id}-to`, count: 3, summary: true },
  content: [{ type: 'text', text: 'What was said before.' }],
});

export const user = (id: string, text: string, origin: UserMessage['origin'] = 'prompt'): UserMessage => ({
  role: 'user',
  id,
  at: 0,
  origin,
  content: [{ type: 'text', text }],
});

export const assistant = (id: string, content: readonly AssistantContent[], usage = UNKNOWN_USAGE): Message => ({
  role: 'assistant',
  id,
  at: 0,
  provider: 'scripted',
  model: 'scripted',
  content,
  stopReason: 'stop',
  usage,
  cost: null,
});

export const toolResult = (callId: string, text: string, isError = false): Message => ({
  role: 'tool',
  id: `result_${callId}`,
  at: 0,
  callId,
  toolName: 'tool',
  content: [{ type: 'text', text }],
  isError,
});

/** A reply that calls one tool, and the result. */
export const callAndResult = (id: string, result: string, said = ''): Message[] => [
  assistant(id, [
    ...(said === '' ? [] : [{ type: 'text' as const, text: said }]),
    { type: 'tool_call', callId: `${id}.0`, name: 'tool', arguments: {} },
  ]),
  toolResult(`${id}.0`, result),
];
