import { createSession, defineAgent, memoryLedger, type JsonObject, type Model, type UserContent } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import { faultBench, ofType } from '../test-support/faults.ts';
import { serve } from '../test-support/servers.ts';
import { sse } from '../test-support/streams.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// Token counts that can't be true, and prompts that a server has cut.

const bench = faultBench();

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('counts that can not be true are a warning, and the run is what it would have been', async () => {
    const { result, events, journal } = await bench.play({
      wire,
      turns: [{ text: 'Hello.', usage: { input: -5, output: 3.5 } }],
    });
    expect(result).toMatchObject({
      status: 'completed',
      text: 'Hello.',
      usage: { input: null, output: null },
      cost: null,
      warnings: [{ code: 'usage_invalid' }],
    });
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'usage_invalid' }]);
    const [added] = ofType(events, 'message_added').filter(({ message }) => message.role === 'assistant');
    expect(added?.message).toMatchObject({ warnings: [{ code: 'usage_invalid' }] });
    expect(journal).toBeDefined();
  });
});

/** A run of one turn at a server that reports this usage. */
async function playUsage(reported: JsonObject, prompt: string | readonly UserContent[] = 'Go.', price = 0) {
  const chunks = [
    { choices: [{ index: 0, delta: { content: 'Hello.' } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: reported },
  ];
  await using server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${chunks.map((chunk) => sse(chunk)).join('')}data: [DONE]\n\n`);
  });
  const wired = resolveModel('openai/m', { baseUrl: server.url, apiKey: 'k', env: {} });
  // Takes an unknown count for none, as many a price function does.
  const model: Model = {
    ...wired,
    stream: (request, signal) => wired.stream(request, signal),
    cost: ({ input, output, cacheRead }) => ((input ?? 0) + (output ?? 0) + (cacheRead ?? 0)) * price,
  };
  const ledger = memoryLedger(100);
  const agent = defineAgent({ model, maxTokens: 100, ...(price === 0 ? {} : { budget: { ledger } }) });
  const result = await (await createSession(agent)).prompt(prompt).result;
  return { result, ledger };
}

describe('a server that reports', () => {
  it.each<[string, JsonObject]>([
    [
      'more cached tokens than the prompt has',
      { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 5_000_000 } },
    ],
    ['negative counts', { prompt_tokens: -10, completion_tokens: -5 }],
    ['fractions', { prompt_tokens: 1.5, completion_tokens: 1.5 }],
    ['absurd counts', { prompt_tokens: 1e308, completion_tokens: 1e308 }],
  ])('%s ends no run, and is settled at what was set aside', async (_, reported) => {
    const { result, ledger } = await playUsage(reported, 'Go.', 0.001);
    expect(result).toMatchObject({ status: 'completed', warnings: [{ code: 'usage_invalid' }] });
    expect(result.usage.input).toBeNull();
    const { spent, reserved } = await ledger.balance();
    expect(reserved).toBe(0);
    // 100 tokens of output, and the prompt.
    expect(spent).toBeGreaterThan(0.1);
    expect(spent).toBeLessThan(0.2);
  });
});

it('a reply that breaks off after its usage was reported costs what was reported', async () => {
  const usage = { input_tokens: 100_000, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const begun = sse({ type: 'message_start', message: { id: 'm1', model: 'm', usage } });
  await using server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(begun);
  });
  const model = resolveModel('anthropic/claude-sonnet-5', { baseUrl: server.url, apiKey: 'k', env: {} });
  const session = await createSession(defineAgent({ model, retry: { maxRetries: 0 } }));
  const result = await session.prompt('Go.').result;
  expect(result).toMatchObject({ status: 'model_error', usage: { input: 100_000 } });
  expect(result.cost).toBeCloseTo(0.2);
});

it.each([null, { input: -5, output: 2 }])(
  'a reply that fails once it began, with usage %j, is settled at what was set aside',
  async (given) => {
    const usage = given && { ...UNKNOWN_USAGE, ...given };
    const model: Model = {
      provider: 'p',
      id: 'm',
      cost: ({ input, output }) => ((input ?? 0) + (output ?? 0)) * 0.001,
      async *stream() {
        yield { type: 'start' };
        yield { type: 'text_delta', index: 0, text: 'Hel' };
        yield { type: 'error', error: { kind: 'other', message: 'No.', retryable: false }, ...(usage && { usage }) };
      },
    };
    const ledger = memoryLedger(100);
    const session = await createSession(defineAgent({ model, maxTokens: 100, budget: { ledger } }));
    expect((await session.prompt('Go.').result).status).toBe('model_error');
    const { spent, reserved } = await ledger.balance();
    expect(reserved).toBe(0);
    expect(spent).toBeGreaterThan(0.1);
  },
);

describe('a prompt that the server counts', () => {
  const words = 'All work and no play makes Jack a dull boy. '.repeat(4600).slice(0, 200_000);
  const usage = (prompt_tokens: number): JsonObject => ({ prompt_tokens, completion_tokens: 5 });

  it.each([0, 2048, 4096])('as %i tokens of 200,000 characters was cut: a warning says so', async (tokens) => {
    const { result } = await playUsage(usage(tokens), words);
    expect(result).toMatchObject({ status: 'completed', warnings: [{ code: 'prompt_truncated' }] });
    expect(result.warnings[0]?.message).toContain(`${tokens} tokens of a prompt with about 50000`);
  });

  it.each<[string, number, string | readonly UserContent[]]>([
    ['at four characters a token', 50_000, words],
    ['at twenty-four, as in a wide table', 8500, words],
    ['low, and it is short', 10, words.slice(0, 15_000)],
    [
      'low, and it is an image',
      90,
      [
        { type: 'text', text: 'What is this?' },
        { type: 'image', mediaType: 'image/png', data: 'A'.repeat(4_000_000) },
      ],
    ],
  ])('%s is believed', async (_, tokens, prompt) => {
    const { result } = await playUsage(usage(tokens), prompt);
    expect(result).toMatchObject({ status: 'completed', warnings: [] });
  });

  it('is compared with all that the conversation has', async () => {
    const model = scriptedModel(({ messages }) => ({
      text: 'Hm.',
      usage: { input: Math.min(2048, messages.length * 1200) },
    }));
    const session = await createSession(defineAgent({ model }));
    const warnings: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      warnings.push((await session.prompt(words.slice(0, 5000)).result).warnings.length);
    }
    // 16 × 1,250 tokens are over eight times 2,048.
    expect(warnings).toEqual(Array.from({ length: 20 }, (_, turn) => (turn < 13 ? 0 : 1)));
  });
});
