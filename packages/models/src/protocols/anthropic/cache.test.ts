import type { CacheHints, ModelMessage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateAnthropicRequest } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, call, request, result, user } from '../../test-support/messages.ts';
import { anthropicMessages } from './protocol.ts';

interface Block {
  readonly type?: string;
  readonly cache_control?: unknown;
  readonly [field: string]: unknown;
}

interface Body {
  readonly system?: readonly Block[];
  readonly tools?: readonly Block[];
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[];
}

const tools = ['search', 'read'].map((name) => ({ name, description: '', inputSchema: { type: 'object' } }));
const encoder = (): ((input: ModelRequest) => string) => {
  const encode = anthropicMessages().createEncoder({ provider: 'own', modelId: 'm' });
  return (input) => bodyText(encode(input).body);
};
const body = (messages: readonly ModelMessage[], cache?: CacheHints): Body =>
  JSON.parse(encoder()(request(messages, { system: 'S', tools, ...(cache === undefined ? {} : { cache }) }))) as Body;

/** Where the marks are: `tools.1`, `system.0`, `2.0` for the first block of the third message. */
function marksOf(body: Body): string[] {
  const found = (blocks: readonly Block[], path: string): string[] =>
    blocks.flatMap((block, at) => {
      if (block.cache_control === undefined) return [];
      expect(block.cache_control).toEqual({ type: 'ephemeral' });
      return [`${path}.${at}`];
    });
  return [
    ...found(body.tools ?? [], 'tools'),
    ...found(body.system ?? [], 'system'),
    ...body.messages.flatMap(({ content }, at) => found(content, String(at))),
  ];
}

const turn = (number: number): ModelMessage[] => [
  assistant([`Turn ${number}`, call(`a${number}`), call(`b${number}`)]),
  result(`a${number}`, `Result ${number}`),
  result(`b${number}`, `Result ${number}`),
];

describe('cache marks', () => {
  it('are on the last tool, the instructions and the message at first', () => {
    expect(marksOf(body([user('a', 'b')]))).toEqual(['tools.1', 'system.0', '0.1']);
    expect(marksOf(body([user('a')], 'auto'))).toEqual(['tools.1', 'system.0', '0.0']);
  });

  it('are on the last two messages of the user’s side as the conversation grows', () => {
    const messages: ModelMessage[] = [user('a')];
    messages.push(...turn(1));
    expect(marksOf(body(messages))).toEqual(['tools.1', 'system.0', '0.0', '2.1']);
    messages.push(...turn(2));
    expect(marksOf(body(messages))).toEqual(['tools.1', 'system.0', '2.1', '4.1']);
    messages.push(assistant(['b']), user('c'));
    expect(marksOf(body(messages))).toEqual(['tools.1', 'system.0', '4.1', '6.0']);
  });

  it('stay on the user’s side when a paused turn goes on', () => {
    expect(marksOf(body([user('a'), ...turn(1), assistant(['paused'])]))).toEqual([
      'tools.1',
      'system.0',
      '0.0',
      '2.1',
    ]);
  });

  it('are on the answer of a call that was interrupted', () => {
    expect(marksOf(body([user('a'), assistant([call('c')])]))).toEqual(['tools.1', 'system.0', '0.0', '2.0']);
    expect(marksOf(body([user('a'), assistant([call('c'), call('d')]), result('c', 'x')]))).toEqual([
      'tools.1',
      'system.0',
      '0.0',
      '2.1',
    ]);
  });

  it('are none when off', () => {
    expect(marksOf(body([user('a'), ...turn(1)], 'off'))).toEqual([]);
  });

  it('are where they were asked for', () => {
    const messages = [user('a'), ...turn(1)];
    expect(marksOf(body(messages, { system: true }))).toEqual(['system.0']);
    expect(marksOf(body(messages, { tools: true }))).toEqual(['tools.1']);
    expect(marksOf(body(messages, {}))).toEqual([]);
    // The second-to-last message is the assistant's: its last call.
    expect(marksOf(body(messages, { messages: true }))).toEqual(['1.2']);
    expect(marksOf(body([user('a')], { messages: true }))).toEqual([]);
  });

  it('are never on reasoning, which the wire refuses', () => {
    const paused = assistant([{ type: 'thinking', text: 'Hm', signature: 's' }]);
    expect(marksOf(body([user('a'), paused, user('b')], { messages: true }))).toEqual(['0.0']);
    const spoken = assistant(['Well.', { type: 'redacted_thinking', data: 'x' }]);
    expect(marksOf(body([user('a'), spoken, user('b')], { messages: true }))).toEqual(['0.0']);
    const foreign = assistant(['Well.', { type: 'thinking', text: 'Hm', signature: 's' }], 'other');
    expect(marksOf(body([user('a'), foreign, user('b')], { messages: true }))).toEqual(['1.0']);
  });

  it('are at most four, in a valid request, whatever the history', () => {
    const message = fc.oneof(
      fc.constantFrom('a', ' ', '').map((text) => user(text)),
      fc.constantFrom('x', 'y').map((id) => result(id, 'r')),
      fc
        .uniqueArray(fc.constantFrom('x', 'y', 'text', 'thinking'), { maxLength: 4 })
        .map((kinds) =>
          assistant(
            kinds.map((kind) =>
              kind === 'text'
                ? 'said'
                : kind === 'thinking'
                  ? ({ type: 'thinking', text: 'Hm', signature: 's' } as const)
                  : call(kind),
            ),
          ),
        ),
    );
    const hints = fc.constantFrom<CacheHints>('auto', 'off', { messages: true }, { tools: true, system: true });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 10 }), hints, (messages, cache) => {
        const written = body([user('first'), ...messages], cache);
        expect(marksOf(written).length).toBeLessThanOrEqual(4);
        expect(validateAnthropicRequest(written)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

const WITHOUT_MARKS = /,"cache_control":\{"type":"ephemeral"\}/g;

/** The conversation of a run of `turns` turns, as it stands at each of its model calls. */
function calls(turns: number): ModelMessage[][] {
  const messages: ModelMessage[] = [user('Go. '.repeat(50))];
  return Array.from({ length: turns }, (_unused, number) => {
    if (number > 0) {
      const many = number % 10 === 0 ? 25 : 2;
      const ids = Array.from({ length: many }, (_each, at) => `call_${number}_${at}`);
      messages.push(
        assistant([`Turn ${number}. `.repeat(10), ...ids.map((id) => call(id))]),
        ...ids.map((id) => result(id, 'word '.repeat(80))),
      );
    }
    return [...messages];
  });
}

describe('the prompt', () => {
  it('of each call begins with that of the call before, marks aside', () => {
    const encode = encoder();
    let before = '';
    for (const messages of calls(30)) {
      const prompt = encode(request(messages, { system: 'S', tools })).replace(WITHOUT_MARKS, '');
      const earlier = before.slice(0, before.indexOf(']}],"max_tokens"'));
      expect(prompt.startsWith(earlier)).toBe(true);
      before = prompt;
    }
  });

  /**
   * A provider's cache as Anthropic describes it: a mark writes everything up to it, and reads the longest entry that
   * ends at it or at most twenty blocks before it. Lengths of JSON stand for tokens.
   */
  function cacheOfProvider(): (body: Body) => { readonly read: number; readonly all: number } {
    const entries = new Set<string>();
    return (body) => {
      const blocks = [
        ...(body.tools ?? []),
        ...(body.system ?? []),
        ...body.messages.flatMap(({ content }) => content),
      ];
      let prefix = '';
      const prefixes = blocks.map((block) => (prefix += JSON.stringify({ ...block, cache_control: undefined })));
      let read = 0;
      blocks.forEach((block, at) => {
        if (block.cache_control === undefined) return;
        for (let back = at; back >= Math.max(0, at - 20); back--) {
          const entry = prefixes[back] ?? '';
          if (entries.has(entry)) read = Math.max(read, entry.length);
        }
      });
      blocks.forEach((block, at) => {
        if (block.cache_control !== undefined) entries.add(prefixes[at] ?? '');
      });
      return { read, all: prefix.length };
    };
  }

  const hitRate = (cache: CacheHints): number => {
    const encode = encoder();
    const ask = cacheOfProvider();
    let read = 0;
    let all = 0;
    for (const messages of calls(50)) {
      const billed = ask(
        JSON.parse(encode(request(messages, { system: 'Be good. '.repeat(20), tools, cache }))) as Body,
      );
      read += billed.read;
      all += billed.all;
    }
    return read / all;
  };

  it('is read from the cache for the most part over fifty turns, also past turns with many calls', () => {
    expect(hitRate('auto')).toBeGreaterThan(0.85);
    expect(hitRate('off')).toBe(0);
    expect(hitRate({ system: true, tools: true })).toBeLessThan(0.2);
  });
});
