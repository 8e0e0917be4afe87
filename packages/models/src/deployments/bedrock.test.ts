import { createSession, defineAgent, defineTool, memoryJournal, openSession } from '@treadle/core';
import type { JsonObject, Model, RunResult } from '@treadle/core';
import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { nodeHttp } from '../http/node-http.ts';
import { bedrock } from './bedrock.ts';
import { ollama } from './ollama.ts';

// On real sockets: the fake refuses what the service refuses, and every request that reached it is looked at.

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  execute: ({ a, b }) => String(Number(a) + Number(b)),
});

const SIGNATURE = 'EqQBCgIYAhIkN/+=';

const CALLING: ProviderTurn = {
  content: [
    { type: 'thinking', text: 'I add them.\n ', signature: SIGNATURE },
    { type: 'redacted_thinking', data: 'AAECAwQFBgc=' },
    { type: 'text', text: 'Grüße 🦊' },
    { type: 'tool_call', name: 'add', arguments: { a: 1, b: 2 }, providerCallId: 'tooluse_Ab-1' },
  ],
};

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly JsonObject[] }[];
}

const modelAt = (provider: FakeProvider, fields: object = {}): Model =>
  bedrock('anthropic.claude-3-7-sonnet-20250219-v1:0', {
    apiKey: 'bedrock-test-key',
    baseUrl: provider.bedrockBaseUrl,
    http: nodeHttp(),
    env: {},
    ...fields,
  });

async function ask(model: Model, ...prompts: readonly string[]): Promise<RunResult[]> {
  const session = await createSession(defineAgent({ model, tools: [add], retry: { maxRetries: 0 } }));
  const results: RunResult[] = [];
  for (const prompt of prompts) results.push(await session.prompt(prompt).result);
  return results;
}

const withoutPoints = (body: string): string => body.replaceAll(',{"cachePoint":{"type":"default"}}', '');

describe('a conversation with Bedrock', () => {
  it.each([['events'], ['whole'], [1], [7]] as const)(
    'calls a tool, and sends back reasoning byte for byte, in writes of %s',
    async (chunking) => {
      await using provider = await fakeProvider([CALLING, 'Three.', 'Yes.'], { chunking, apiKey: 'bedrock-test-key' });
      const results = await ask(modelAt(provider), 'Add 1 and 2.', 'Sure?');
      expect(results.map(({ status, text }) => [status, text])).toEqual([
        ['completed', 'Three.'],
        ['completed', 'Yes.'],
      ]);
      expect(provider.requests[0]).toMatchObject({
        wire: 'bedrock-converse',
        path: '/model/anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse-stream',
      });
      for (const number of [2, 3]) {
        const { messages } = JSON.parse(withoutPoints(provider.requests[number - 1]?.rawBody ?? '')) as Body;
        expect(messages.slice(1, 3)).toEqual([
          {
            role: 'assistant',
            content: [
              { reasoningContent: { reasoningText: { text: 'I add them.\n ', signature: SIGNATURE } } },
              { reasoningContent: { redactedContent: 'AAECAwQFBgc=' } },
              { text: 'Grüße 🦊' },
              { toolUse: { toolUseId: 'tooluse_Ab-1', name: 'add', input: { a: 1, b: 2 } } },
            ],
          },
          { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_Ab-1', content: [{ text: '3' }] } }] },
        ]);
      }
    },
  );

  it('begins each request with the bytes of the one before it, but for cache points', async () => {
    await using provider = await fakeProvider([CALLING, CALLING, 'Done.']);
    await ask(modelAt(provider), 'Go.');
    const bodies = provider.requests.map(({ rawBody }) => withoutPoints(rawBody));
    expect(bodies).toHaveLength(3);
    for (let at = 1; at < bodies.length; at++) {
      const before = bodies[at - 1] ?? '';
      const shared = before.slice(0, before.lastIndexOf(']}]'));
      expect(shared.length).toBeGreaterThan(20);
      expect(bodies[at]?.startsWith(shared)).toBe(true);
    }
  });

  it('reports an exception in the middle, with its kind and the text so far', async () => {
    const error = {
      kind: 'rate_limited',
      status: 429,
      message: 'Too many tokens, please wait.',
      afterDeltas: 2,
    } as const;
    await using provider = await fakeProvider([{ text: 'Half of an answer that', error, chunkSize: 4 }]);
    const [result] = await ask(modelAt(provider), 'Go.');
    expect(result).toMatchObject({
      status: 'model_error',
      error: { kind: 'rate_limited', code: 'throttlingException', message: 'Too many tokens, please wait.' },
    });
  });

  it.each([
    ['cut in the middle of a message', { cutAfterBytes: 200 }],
    ['reset', { cutAfterEvents: 2, cutBy: 'reset' }],
  ] as const)('fails as a broken network when it is %s', async (_name, faults) => {
    await using provider = await fakeProvider([{ ...CALLING, faults }]);
    const [result] = await ask(modelAt(provider), 'Go.');
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network', retryable: true } });
  });

  it('signs what it sends when it has keys and no token', async () => {
    await using provider = await fakeProvider(['Hi.']);
    const awsCredentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-key' };
    await ask(modelAt(provider, { apiKey: undefined, awsCredentials, region: 'us-east-1' }), 'Go.');
    expect(provider.requests[0]?.headers).toMatchObject({
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/bedrock\//,
      ) as string,
      'x-amz-date': expect.stringMatching(/^\d{8}T\d{6}Z$/) as string,
    });
  });
});

describe('a conversation that changes its provider', () => {
  it('is valid at the new one and carries nothing foreign', async () => {
    await using provider = await fakeProvider([
      CALLING,
      'Three.',
      { thinking: 'Ollama thinks.', text: 'Yes.' },
      'Bye.',
    ]);
    const journal = memoryJournal();
    const agentOf = (model: Model) => defineAgent({ model, tools: [add] });
    const local = ollama('qwen3', { baseUrl: provider.ollamaBaseUrl, http: nodeHttp(), env: {} });
    await createSession(agentOf(modelAt(provider)), { journal, id: 's1' });
    const say = async (model: Model, prompt: string): Promise<string> => {
      const session = await openSession(agentOf(model), 's1', { journal });
      return (await session.prompt(prompt).result).text;
    };
    expect(await say(modelAt(provider), 'Add.')).toBe('Three.');
    expect(await say(local, 'Sure?')).toBe('Yes.');
    expect(await say(modelAt(provider), 'Bye?')).toBe('Bye.');
    expect(provider.requests.map(({ wire, problems }) => [wire, problems])).toEqual([
      ['bedrock-converse', []],
      ['bedrock-converse', []],
      ['ollama-chat', []],
      ['bedrock-converse', []],
    ]);
    expect(provider.requests[2]?.rawBody).not.toMatch(/I add them|AAECAwQ|EqQBCgIYAhIkN/);
    expect(provider.requests[3]?.rawBody).toContain(SIGNATURE);
    expect(provider.requests[3]?.rawBody).not.toContain('Ollama thinks.');
  });
});
