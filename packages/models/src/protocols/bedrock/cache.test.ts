import type { CacheHints, ModelMessage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateBedrockRequest } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, call, request, result, user } from '../../test-support/messages.ts';
import { bedrockConverse } from './protocol.ts';
import type { BedrockQuirks } from './quirks.ts';

interface Body {
  readonly system?: readonly object[];
  readonly toolConfig?: { readonly tools: readonly object[] };
  readonly messages: readonly { readonly role: string; readonly content: readonly object[] }[];
}

const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const POINT = { cachePoint: { type: 'default' } };
const tools = [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object' } }];

const bodyFor = (modelId: string, input: ModelRequest, quirks?: BedrockQuirks): Body => {
  const encode = bedrockConverse(quirks).createEncoder({ provider: 'own', modelId });
  const body = JSON.parse(bodyText(encode(input).body)) as Body;
  expect(validateBedrockRequest(body)).toEqual([]);
  return body;
};

const isPoint = (block: object): boolean => 'cachePoint' in block;

/** Where a body has cache points: `system`, `tools`, and the messages by their place, each with its role. */
const pointsOf = ({ system = [], toolConfig, messages }: Body): string[] => [
  ...(system.some(isPoint) ? ['system'] : []),
  ...(toolConfig?.tools.some(isPoint) === true ? ['tools'] : []),
  ...messages.flatMap(({ role, content }, at) => (content.some(isPoint) ? [`${at} ${role}`] : [])),
];

const conversation = [user('Go'), assistant(['a', call('c')]), result('c', 'x'), assistant(['b']), user('More')];
const full = (cache?: CacheHints): ModelRequest =>
  request(conversation, { system: 'S', tools, ...(cache === undefined ? {} : { cache }) });

describe('cache points', () => {
  it.each<[CacheHints | undefined, string[]]>([
    [undefined, ['system', 'tools', '2 user', '4 user']],
    ['auto', ['system', 'tools', '2 user', '4 user']],
    ['off', []],
    [{ system: true }, ['system']],
    [{ tools: true, messages: true }, ['tools', '3 assistant']],
  ])('stand where %j asks for them', (cache, expected) => {
    expect(pointsOf(bodyFor(CLAUDE, full(cache)))).toEqual(expected);
  });

  it('are blocks of their own behind what they keep', () => {
    const body = bodyFor(CLAUDE, full());
    expect(body.system).toEqual([{ text: 'S' }, POINT]);
    expect(body.toolConfig?.tools.at(-1)).toEqual(POINT);
    expect(body.messages.at(-1)?.content).toEqual([{ text: 'More' }, POINT]);
  });

  it.each([
    [CLAUDE, ['system', 'tools', '2 user', '4 user']],
    ['anthropic.claude-3-5-haiku-20241022-v1:0', ['system', 'tools', '2 user', '4 user']],
    [
      'arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-5',
      ['system', 'tools', '2 user', '4 user'],
    ],
    ['us.amazon.nova-pro-v1:0', ['system', '2 user', '4 user']],
    ['anthropic.claude-3-haiku-20240307-v1:0', []],
    ['anthropic.claude-3-5-sonnet-20240620-v1:0', []],
    ['amazon.nova-2-lite-v1:0', []],
    ['meta.llama3-1-8b-instruct-v1:0', []],
    ['openai.gpt-oss-120b-1:0', []],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', []],
  ])('are only sent to models that take them: %s', (modelId, expected) => {
    expect(pointsOf(bodyFor(modelId, full()))).toEqual(expected);
  });

  it('are sent as the deployment says', () => {
    const profile = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc';
    expect(pointsOf(bodyFor(profile, full(), { cachePoints: ['system'] }))).toEqual(['system']);
    expect(pointsOf(bodyFor(CLAUDE, full(), { cachePoints: [] }))).toEqual([]);
  });

  it('never stand right behind a document that is no PDF', () => {
    const file = (mediaType: string) => ({ type: 'file', mediaType, data: btoa('text'), name: 'a' }) as const;
    const points = (message: ModelMessage): string[] => pointsOf(bodyFor(CLAUDE, request([message])));
    expect(points(user('Read', file('text/markdown')))).toEqual([]);
    expect(points(user('Read', file('text/markdown'), ' '))).toEqual([]);
    expect(points(user(file('text/markdown'), 'Read'))).toEqual(['0 user']);
    expect(points(user('Read', file('application/pdf')))).toEqual(['0 user']);
  });

  it('stand before what only one request says at its end', () => {
    const messages = [user('Go'), assistant(['a', call('c')])];
    const waiting = bodyFor(CLAUDE, request(messages, { tools }));
    expect(waiting.messages.at(-1)?.content.map((block) => Object.keys(block)[0])).toEqual([
      'toolResult',
      'cachePoint',
    ]);
    const forbidden = bodyFor(CLAUDE, request([...messages, result('c', 'x')], { tools, toolChoice: 'none' }));
    expect(forbidden.messages.at(-1)?.content.map((block) => Object.keys(block)[0])).toEqual([
      'toolResult',
      'cachePoint',
      'text',
    ]);
  });

  it('are at most four, and leave what they stand in byte for byte as it is', () => {
    const turn = fc.constantFrom('user', 'call', 'text');
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 12 }), (turns) => {
        const messages: ModelMessage[] = [user('Go')];
        for (const [at, kind] of turns.entries()) {
          if (kind === 'user') messages.push(user(`u${at}`));
          else if (kind === 'text') messages.push(assistant([`t${at}`]));
          else messages.push(assistant([call(`c${at}`)]), result(`c${at}`, 'x'));
        }
        const encode = bedrockConverse().createEncoder({ provider: 'own', modelId: CLAUDE });
        // Growing, as the messages of a run do.
        for (let length = 1; length <= messages.length; length++) {
          const input = { system: 'S', tools, messages: messages.slice(0, length) };
          const written = bodyText(encode(input).body);
          const points = written.split('{"cachePoint":{"type":"default"}}').length - 1;
          expect(points).toBeGreaterThanOrEqual(2);
          expect(points).toBeLessThanOrEqual(4);
          expect(written.replaceAll(',{"cachePoint":{"type":"default"}}', '')).toBe(
            bodyText(encode({ ...input, cache: 'off' }).body),
          );
          expect(validateBedrockRequest(JSON.parse(written))).toEqual([]);
        }
      }),
    );
  });
});
