import type { AssistantContent, ModelMessage, ToolResultContent, UserContent } from '@treadle/core';
import type { HttpBody } from '@treadle/core/ports';
import { validateBedrockRequest, validateOllamaRequest } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, call, request, result, user } from '../../test-support/messages.ts';
import { anthropicMessages } from '../anthropic/protocol.ts';
import { bedrockConverse } from '../bedrock/protocol.ts';
import { ollamaChat } from '../ollama/protocol.ts';
import { openaiChat } from '../openai-chat/protocol.ts';
import type { Protocol } from './protocol.ts';

// Any history, also one that no run of ours would make: results without calls, calls without results, ids twice.

const words = fc.string({ unit: 'binary', maxLength: 6 });
const image = fc.constant({ type: 'image', mediaType: 'image/png', data: 'AAAA' } as const);
const textBlock = words.map((text) => ({ type: 'text', text }) as const);
const userContent: fc.Arbitrary<UserContent> = fc.oneof(textBlock, image);
const resultContent: fc.Arbitrary<ToolResultContent> = fc.oneof(textBlock, image);
const callId = fc.constantFrom('call_1', 'call_2', 'call:3', 'x'.repeat(70));
const assistantContent: fc.Arbitrary<AssistantContent> = fc.oneof(
  { weight: 2, arbitrary: textBlock },
  fc.record({ type: fc.constant('thinking' as const), text: words, signature: fc.constantFrom('c2ln', 'AA==') }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: words }),
  {
    weight: 3,
    arbitrary: fc
      .record({ callId, name: words, id: fc.constantFrom('toolu_1', 'dup', 'a.b', ''), broken: fc.boolean() })
      .map((made) =>
        call(made.callId, {
          name: made.name,
          providerCallId: made.id,
          ...(made.broken ? { problem: 'invalid_json' as const, argumentsText: '{"' } : {}),
        }),
      ),
  },
);
/** Treadle's ids are unique in a message. */
const assistantBlocks = fc.uniqueArray(assistantContent, {
  maxLength: 4,
  selector: (block) => (block.type === 'tool_call' ? block.callId : block),
});
const message: fc.Arbitrary<ModelMessage> = fc.oneof(
  fc.array(userContent, { maxLength: 3 }).map((content) => user(...content)),
  fc.tuple(assistantBlocks, fc.constantFrom('own', 'other')).map(([content, provider]) => assistant(content, provider)),
  fc.tuple(callId, fc.array(resultContent, { maxLength: 2 })).map(([id, content]) => result(id, ...content)),
);
const history = fc.array(message, { maxLength: 14 });

const writtenAfresh = (protocol: Protocol, messages: readonly ModelMessage[]): string =>
  bodyText(protocol.createEncoder({ provider: 'own', modelId: 'm' })(request(messages, { system: 'S' })).body);

interface AnthropicMessage {
  readonly role: string;
  readonly content: readonly {
    readonly type: string;
    readonly id?: string;
    readonly tool_use_id?: string;
    readonly text?: string;
  }[];
}

function checkAnthropic(messages: readonly AnthropicMessage[]): void {
  const ids = new Set<string>();
  let waiting: (string | undefined)[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    expect(role).toBe(at % 2 === 0 ? 'user' : 'assistant');
    expect(content.length).toBeGreaterThan(0);
    for (const block of content) if (block.type === 'text') expect(block.text?.trim()).not.toBe('');
    if (role === 'assistant') {
      waiting = content.filter((block) => block.type === 'tool_use').map((block) => block.id);
      for (const id of waiting) {
        expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(ids.has(id ?? '')).toBe(false);
        ids.add(id ?? '');
      }
      continue;
    }
    const results = content.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
    expect(new Set(results)).toEqual(new Set(waiting));
    expect(results).toHaveLength(waiting.length);
    // Results come first.
    expect(content.slice(0, results.length).every((block) => block.type === 'tool_result')).toBe(true);
    waiting = [];
  }
  expect(waiting).toEqual([]);
}

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
}

function checkChat(messages: readonly ChatMessage[]): void {
  const ids = new Set<string>();
  let waiting = new Set<string>();
  for (const { role, content, tool_call_id, tool_calls } of messages) {
    if (role === 'tool') {
      expect(waiting.delete(tool_call_id ?? '')).toBe(true);
      expect(typeof content).toBe('string');
      continue;
    }
    expect(waiting.size).toBe(0);
    if (role === 'user') expect(content).not.toBe('');
    if (role !== 'assistant') continue;
    expect(content !== null || tool_calls !== undefined).toBe(true);
    for (const made of tool_calls ?? []) {
      expect(made.id.length).toBeLessThanOrEqual(40);
      expect(made.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(ids.has(made.id)).toBe(false);
      ids.add(made.id);
    }
    waiting = new Set(tool_calls?.map(({ id }) => id));
  }
  expect(waiting.size).toBe(0);
}

/** The judge of the fake provider, which wants a message at least, and opaque data as the provider would have made it. */
const checkWith =
  (validate: (body: unknown) => readonly string[]) =>
  (body: { messages: readonly unknown[] }): void => {
    if (body.messages.length === 0) return;
    expect(validate(body).filter((problem) => !problem.includes('redactedContent'))).toEqual([]);
  };

describe.each([
  [
    'anthropic-messages',
    anthropicMessages(),
    (body: { messages: readonly unknown[] }) => checkAnthropic(body.messages as AnthropicMessage[]),
  ],
  ['openai-chat', openaiChat(), (body: { messages: readonly unknown[] }) => checkChat(body.messages as ChatMessage[])],
  ['bedrock-converse', bedrockConverse(), checkWith(validateBedrockRequest)],
  ['ollama-chat', ollamaChat(), checkWith(validateOllamaRequest)],
])('%s', (name, protocol, check) => {
  it('is valid for any history', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const text = writtenAfresh(protocol, messages);
        expect(text).not.toMatch(/(?<!\\)(?:\\\\)*\\u[dD][89abAB]/);
        check(JSON.parse(text) as { messages: readonly unknown[] });
      }),
      { numRuns: 600 },
    );
  });

  it('is the same whether a history came at once or grew, forked or was compacted', () => {
    fc.assert(
      fc.property(history, history, fc.nat(14), (messages, branch, at) => {
        const encode = protocol.createEncoder({ provider: 'own', modelId: 'm' });
        const write = (list: readonly ModelMessage[]): string => bodyText(encode(request(list, { system: 'S' })).body);
        for (let length = 1; length <= messages.length; length++) {
          const part = messages.slice(0, length);
          expect(write(part)).toBe(writtenAfresh(protocol, part));
        }
        const forked = [...messages.slice(0, at), ...branch];
        expect(write(forked)).toBe(writtenAfresh(protocol, forked));
        const compacted = [...messages.slice(0, 1), ...messages.slice(at)];
        expect(write(compacted)).toBe(writtenAfresh(protocol, compacted));
        expect(write(messages)).toBe(writtenAfresh(protocol, messages));
      }),
      { numRuns: 150 },
    );
  });

  it('keeps the bytes of a run’s earlier requests', () => {
    const turns = Array.from({ length: 20 }, (_unused, turn) => [
      assistant([`Turn ${turn}`, call(`call_${turn}`)]),
      result(`call_${turn}`, `Result ${turn}`),
    ]);
    const encode = protocol.createEncoder({ provider: 'own', modelId: 'm' });
    const tools = [{ name: 'search', description: '', inputSchema: { type: 'object' } }];
    const messages: ModelMessage[] = [user('Go')];
    // Cache marks move on with the conversation and are no part of what is cached.
    const write = (list: readonly ModelMessage[], toolChoice: 'auto' | 'none'): string =>
      bodyText(encode(request(list, { system: 'S', tools, toolChoice })).body).replaceAll(
        ',"cache_control":{"type":"ephemeral"}',
        '',
      );
    // Ollama's wire can't forbid tools it is told of, so a request without them leaves them out.
    const later = name === 'ollama-chat' ? 'auto' : 'none';
    let before = write(messages, 'auto');
    for (const turn of turns) {
      messages.push(...turn);
      const after = write([...messages], later);
      // All of the earlier body but what closes it.
      const shared = before.slice(0, before.lastIndexOf('}', before.lastIndexOf('"}')));
      const prefix = shared.slice(0, shared.lastIndexOf('"') + 1);
      expect(prefix.length).toBeGreaterThan(50);
      expect(after.startsWith(prefix)).toBe(true);
      before = after;
    }
  });

  it('leaves the bytes of a request as they are, which may still be sent', () => {
    const encode = protocol.createEncoder({ provider: 'own', modelId: 'm' });
    const messages: ModelMessage[] = [user('Go 🦊')];
    const sent: { readonly body: HttpBody; readonly text: string }[] = [];
    for (let turn = 0; turn < 60; turn++) {
      const { body } = encode(request([...messages]));
      sent.push({ body, text: bodyText(body) });
      messages.push(assistant([call(`call_${turn}`)]), result(`call_${turn}`, `Result ${turn}: ${'ü'.repeat(200)}`));
    }
    for (const { body, text } of sent) expect(bodyText(body)).toBe(text);
  });

  it('writes only what is new when a history grows', () => {
    let reads = 0;
    const counted = (text: string): ModelMessage => {
      const made = user(text);
      return {
        ...made,
        get content() {
          reads++;
          return made.content;
        },
      };
    };
    const messages = Array.from({ length: 200 }, (_unused, at) => counted(`message ${at}`));
    const encode = protocol.createEncoder({ provider: 'own', modelId: 'm' });
    encode(request(messages.slice(0, 199)));
    const before = reads;
    encode(request(messages));
    expect(reads - before).toBeLessThanOrEqual(2);
    // A view that was cut, as a compaction does, finds the JSON of its messages.
    encode(request([user('summary'), ...messages.slice(100)]));
    expect(reads - before).toBeLessThanOrEqual(2);
  });
});
