import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { runCli } from '../../test-support/harness.ts';
import type { ConformanceResult } from './conformance.ts';

const call = (city: string, more: object = {}) => ({ name: 'get_temperature', arguments: { city }, ...more });

const STREAMED: ProviderTurn = { text: 'one, two, three, four, five, six, seven, eight, nine, ten, eleven' };
const CALLED: ProviderTurn = { toolCalls: [call('Paris')] };
const ANSWERED: ProviderTurn = { text: 'It is 21 degrees.' };
const BOTH: ProviderTurn = { text: 'Both at once.', toolCalls: [call('Paris'), call('Rome')] };
const LIMITED: ProviderTurn = { text: 'one', stopReason: 'length', usage: { output: 1 } };

/** What a good server replies to the probes, in their order. */
const GOOD = [STREAMED, CALLED, ANSWERED, BOTH, LIMITED];

async function outcomesOf(provider: FakeProvider, name = 'openai/x', env: Readonly<Record<string, string>> = {}) {
  const { code, stdout } = await runCli(['doctor', '--json', '--conformance', name], {
    env: {
      OPENAI_BASE_URL: provider.openaiBaseUrl,
      ANTHROPIC_BASE_URL: provider.anthropicBaseUrl,
      GOOGLE_BASE_URL: provider.googleBaseUrl,
      OLLAMA_BASE_URL: provider.ollamaBaseUrl,
      ...env,
    },
  });
  const { conformance } = JSON.parse(stdout) as { conformance: ConformanceResult[] };
  const findings = conformance.flatMap((result) => result.findings);
  const details = Object.fromEntries(findings.map(({ probe, detail }) => [probe, detail]));
  return { code, outcomes: Object.fromEntries(findings.map(({ probe, outcome }) => [probe, outcome])), details };
}

const PASSED = {
  streaming: 'pass',
  usage: 'pass',
  tool_call: 'pass',
  parallel_calls: 'pass',
  length_limit: 'pass',
  context_length: 'unknown',
};

describe('treadle doctor --conformance', () => {
  it.each(['openai/x', 'openai-responses/x', 'anthropic/x', 'google/x', 'ollama/x'])(
    'passes a good server of %s, with requests its wire allows',
    async (name) => {
      await using provider = await fakeProvider(GOOD);
      const { code, outcomes } = await outcomesOf(provider, name);
      const posts = provider.requests.filter(({ method }) => method === 'POST');
      expect(posts.map(({ problems }) => problems)).toEqual([[], [], [], [], []]);
      expect({ code, outcomes }).toEqual({ code: 0, outcomes: PASSED });
      expect(posts[2]?.rawBody).toContain('21 °C');
    },
  );

  it('prints a line per probe', async () => {
    await using provider = await fakeProvider(GOOD);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const { code, stdout } = await runCli(['doctor', '--conformance', 'openai/x'], { env });
    expect({ code, lines: stdout.trimEnd().split('\n').length }).toEqual({ code: 0, lines: 7 });
    expect(stdout).toMatch(/^openai\/x\n {2}streaming +pass {2,}\d+ pieces\n/);
  });

  const FAULTS: readonly (readonly [string, readonly ProviderTurn[], object, string])[] = [
    ['does not say what it took', GOOD.map((turn) => ({ ...turn, usage: null })), { usage: 'fail' }, 'how many tokens'],
    [
      'sends all in one piece',
      [{ ...STREAMED, chunkSize: 1000 }, ...GOOD.slice(1)],
      { streaming: 'fail' },
      'one piece',
    ],
    ['says nothing', [{ text: '' }, ...GOOD.slice(1)], { streaming: 'fail' }, 'was empty'],
    [
      'repeats ids',
      [
        ...GOOD.slice(0, 3),
        { toolCalls: [call('Paris', { providerCallId: 'c' }), call('Rome', { providerCallId: 'c' })] },
        LIMITED,
      ],
      { parallel_calls: 'fail' },
      'the same id',
    ],
    [
      'breaks arguments',
      [STREAMED, { toolCalls: [call('', { argumentsText: '{"city": Paris}' })] }, BOTH, LIMITED],
      { tool_call: 'fail' },
      'not the JSON object',
    ],
    [
      'calls what there is not',
      [STREAMED, { toolCalls: [{ ...call('Paris'), name: 'weather' }] }, BOTH, LIMITED],
      { tool_call: 'fail' },
      "'weather'",
    ],
    [
      'gives calls no id',
      [STREAMED, { toolCalls: [call('Paris', { providerCallId: '' })] }, BOTH, LIMITED],
      { tool_call: 'fail' },
      'no id',
    ],
    [
      'knows no tools',
      [STREAMED, ANSWERED, ANSWERED, LIMITED],
      { tool_call: 'fail', parallel_calls: 'unknown' },
      'called no tool',
    ],
    [
      'refuses the result',
      [STREAMED, CALLED, { error: { status: 400, message: 'No tool messages.' } }, BOTH, LIMITED],
      { tool_call: 'fail' },
      'the result was refused: 400: No tool messages.',
    ],
    [
      'makes one call at a time',
      [STREAMED, CALLED, ANSWERED, CALLED, LIMITED],
      { parallel_calls: 'unknown' },
      '1 of 2',
    ],
    [
      'calls an end at the limit a good one',
      [...GOOD.slice(0, 4), { text: 'one' }],
      { length_limit: 'fail' },
      'ended as stop',
    ],
    [
      'goes past the limit',
      [...GOOD.slice(0, 4), { ...LIMITED, usage: { output: 80 } }],
      { length_limit: 'fail' },
      '80',
    ],
  ];

  it.each(FAULTS)('a server that %s', async (_name, turns, found, word) => {
    await using provider = await fakeProvider([...turns]);
    const { code, outcomes, details } = await outcomesOf(provider);
    expect(outcomes).toEqual({ ...PASSED, ...found });
    expect(code).toBe(Object.values(found).includes('fail') ? 1 : 0);
    expect(Object.values(details).join('\n')).toContain(word);
  });

  it('stops at a server that refuses with 401, and doesn’t print the key', async () => {
    await using provider = await fakeProvider([], { apiKey: 'right' });
    const { code, outcomes, details } = await outcomesOf(provider, 'openai/x', { OPENAI_API_KEY: 'wrong-key-0123456' });
    expect({ code, requests: provider.requests.length }).toEqual({ code: 1, requests: 1 });
    expect(outcomes).toEqual({
      streaming: 'fail',
      usage: 'unknown',
      tool_call: 'unknown',
      parallel_calls: 'unknown',
      length_limit: 'unknown',
      context_length: 'unknown',
    });
    expect(details['streaming']).toContain('401');
    expect(JSON.stringify(details)).not.toContain('wrong-key');
  });

  it('gives a server that hangs in the middle the time of one request', async () => {
    const hanging: ProviderTurn = { ...CALLED, waitAfter: { deltas: 1, until: new Promise(() => {}) } };
    await using provider = await fakeProvider([STREAMED, hanging, BOTH, LIMITED]);
    let requests = 0;
    const { code, stdout } = await runCli(['doctor', '--conformance', 'openai/x'], {
      env: { OPENAI_BASE_URL: provider.openaiBaseUrl },
      after(_ms, fn) {
        requests += 1;
        if (requests === 2) void provider.waitForRequest(2).then(fn);
        return () => {};
      },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/tool_call +fail +network: There was no complete reply within 60 s\./);
    expect(stdout).toMatch(/length_limit +pass/);
  });
});

describe('the context length', () => {
  /** A server whose replies are those of `provider` and which lists its models. */
  async function listing(provider: FakeProvider, status: number, body: string) {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      if (request.method === 'GET') {
        seen.push(request.url, request.headers.authorization);
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
        return;
      }
      const headers = { 'content-type': 'application/json' };
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        void fetch(`${provider.url}${request.url}`, { method: 'POST', headers, body: Buffer.concat(parts) })
          .then(async (reply) => {
            response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
            response.end(Buffer.from(await reply.arrayBuffer()));
          })
          .catch(() => response.destroy());
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      seen,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  it.each([
    [
      'vLLM',
      {
        data: [
          { id: 'other', max_model_len: 1 },
          { id: 'org/x', max_model_len: 32768 },
        ],
      },
    ],
    ['a bare list', [{ id: 'org/x', context_length: 32768 }]],
    ['llama.cpp', { data: [{ id: 'org/x', meta: { n_ctx_train: 32768 } }] }],
    ['OpenRouter', { data: [{ id: 'org/x', top_provider: { context_length: 32768 } }] }],
  ])('is what the list of models says: %s', async (_name, body) => {
    await using provider = await fakeProvider(GOOD);
    await using server = await listing(provider, 200, JSON.stringify(body));
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'the-key' };
    const { outcomes, details } = await outcomesOf(provider, 'openai/org/x', env);
    expect({ outcomes, length: details['context_length'] }).toEqual({
      outcomes: { ...PASSED, context_length: 'pass' },
      length: '32768 tokens',
    });
    expect(server.seen).toEqual(['/v1/models', 'Bearer the-key']);
  });

  it.each([
    ['another model only', 200, '{"data":[{"id":"other","max_model_len":1}]}'],
    ['no length', 200, '{"data":[{"id":"x"}]}'],
    ['no number', 200, '{"data":[{"id":"x","max_model_len":"big"}]}'],
    ['no JSON', 200, '<html>'],
    ['an error', 500, '{"data":[{"id":"x","max_model_len":5}]}'],
  ])('is unknown with %s, which is no failure', async (_name, status, body) => {
    await using provider = await fakeProvider(GOOD);
    await using server = await listing(provider, status, body);
    const { code, outcomes } = await outcomesOf(provider, 'openai/x', { OPENAI_BASE_URL: server.url });
    expect({ code, outcomes }).toEqual({ code: 0, outcomes: PASSED });
  });
});
