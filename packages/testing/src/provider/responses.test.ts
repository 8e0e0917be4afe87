import type { JsonObject } from '@treadle/core';
import { afterEach, describe, expect, it } from 'vitest';
import { type FakeProvider, fakeProvider } from './server.ts';
import type { ProviderTurn } from './turn.ts';

const open: FakeProvider[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((provider) => provider.close()));
});

async function ask(turn: ProviderTurn | string, fields: object = {}, path = '/v1/responses'): Promise<Response> {
  const provider = await fakeProvider([turn], { chunkSize: 2 });
  open.push(provider);
  const body = { model: 'gpt-test', input: [{ role: 'user', content: 'Hi' }], store: false, stream: true, ...fields };
  const headers = { 'content-type': 'application/json' };
  return fetch(provider.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** The events of a stream, whose names are those in their data. */
async function events(response: Response): Promise<JsonObject[]> {
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '');
  return frames.map((frame) => {
    const [name, data] = frame.split('\n');
    const event = JSON.parse(data?.slice('data: '.length) ?? '') as JsonObject & { type: string };
    expect(name).toBe(`event: ${event.type}`);
    return event;
  });
}

const named = (all: readonly JsonObject[], type: string): JsonObject[] => all.filter((event) => event['type'] === type);

describe('a turn as a streamed response', () => {
  it('has thinking, text and a call as items that are opened, streamed and ended in their order', async () => {
    const toolCalls = [{ name: 'look', arguments: { a: 1 }, providerCallId: 'call_7' }];
    const all = await events(await ask({ thinking: 'Hm.', text: 'Aha', toolCalls }));
    expect(all.map((event) => event['sequence_number'])).toEqual(all.map((_, at) => at));
    const reasoning = { id: 'rs_fake1x0', type: 'reasoning', encrypted_content: 'encrypted-1-0' };
    const part = { type: 'output_text', annotations: [], logprobs: [], text: 'Aha' };
    const items = [
      { ...reasoning, summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { id: 'msg_fake1x1', type: 'message', role: 'assistant', status: 'completed', content: [part] },
      {
        id: 'fc_fake1x2',
        type: 'function_call',
        status: 'completed',
        arguments: '{"a":1}',
        call_id: 'call_7',
        name: 'look',
      },
    ];
    expect(named(all, 'response.output_item.done').map((event) => event['item'])).toEqual(items);
    expect(named(all, 'response.output_item.added').map((event) => event['output_index'])).toEqual([0, 1, 2]);
    const text = named(all, 'response.output_text.delta');
    expect(text).toMatchObject([
      { item_id: 'msg_fake1x1', output_index: 1, content_index: 0, delta: 'Ah' },
      { item_id: 'msg_fake1x1', delta: 'a' },
    ]);
    expect(named(all, 'response.reasoning_summary_text.delta').map((event) => event['delta'])).toEqual(['Hm', '.']);
    expect(named(all, 'response.function_call_arguments.done')).toMatchObject([
      { item_id: 'fc_fake1x2', arguments: '{"a":1}' },
    ]);
    expect(all.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', output: items, usage: { input_tokens: 10, output_tokens: 5 } },
    });
  });

  it.each([
    ['length', 'response.incomplete', { reason: 'max_output_tokens' }],
    ['content_filter', 'response.incomplete', { reason: 'content_filter' }],
    ['pause', 'response.completed', null],
  ] as const)('that stops for %s ends as %s', async (stopReason, type, incomplete_details) => {
    const last = (await events(await ask({ text: 'x', stopReason }))).at(-1);
    expect(last).toMatchObject({ type, response: { incomplete_details } });
  });

  it('that refuses says so in a part of its own', async () => {
    const all = await events(await ask({ text: 'No.', stopReason: 'refusal' }));
    expect(named(all, 'response.refusal.delta').map((event) => event['delta'])).toEqual(['No', '.']);
    expect(named(all, 'response.output_text.delta')).toEqual([]);
    expect(named(all, 'response.refusal.done')).toMatchObject([{ refusal: 'No.' }]);
  });

  it('carries items of the provider’s own, and sources, as they are', async () => {
    const raw = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } };
    const citation = { type: 'url_citation', url: 'https://example.com' };
    const all = await events(
      await ask({
        content: [
          { type: 'provider_tool_call', callId: 'ws_1', name: 'web_search', arguments: {}, raw },
          { type: 'redacted_thinking', data: 'secret' },
          { type: 'text', text: 'Found.', citations: [citation] },
        ],
      }),
    );
    const [search, reasoning, message] = named(all, 'response.output_item.done').map((event) => event['item']);
    expect(search).toEqual(raw);
    expect(reasoning).toMatchObject({ type: 'reasoning', summary: [], encrypted_content: 'secret' });
    expect(message).toMatchObject({ content: [{ annotations: [citation] }] });
    expect(named(all, 'response.output_text.annotation.added')).toMatchObject([{ annotation: citation }]);
  });

  it('gives an item that is never finished a place of its own', async () => {
    const content = [
      { type: 'text', text: 'cut', cutOff: true },
      { type: 'text', text: 'next' },
    ] as const;
    const all = await events(await ask({ content }));
    expect(named(all, 'response.output_item.added').map((event) => event['output_index'])).toEqual([0, 1]);
    expect(named(all, 'response.output_item.done').map((event) => event['output_index'])).toEqual([1]);
  });

  it('reports a failure in its middle as an event', async () => {
    const all = await events(await ask({ text: 'abcd', error: { status: 429, message: 'Slow.', afterDeltas: 1 } }));
    expect(all.at(-1)).toMatchObject({ type: 'error', code: 'rate_limit_error', message: 'Slow.' });
  });
});

describe('a turn as a whole response', () => {
  it('has the same items and usage', async () => {
    const response = await ask(
      { thinking: 'Hm.', text: 'Aha', usage: { input: 7, cacheRead: 3, cacheWrite: 2 } },
      { stream: false },
    );
    const body = (await response.json()) as JsonObject;
    expect(body).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'gpt-test',
      output: [{ type: 'reasoning' }, { type: 'message', content: [{ text: 'Aha' }] }],
      usage: { input_tokens: 12, input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 }, total_tokens: 17 },
    });
  });
});

describe('the addresses', () => {
  it.each(['/openai/v1/responses', '/openai/deployments/mine/responses', '/openai/v1/responses?api-version=preview'])(
    '%s is one of them',
    async (path) => {
      expect((await ask('Hi', {}, path)).status).toBe(200);
    },
  );

  it('don’t include that of another deployment path', async () => {
    expect((await ask('Hi', {}, '/openai/deployments/a/b/responses')).status).toBe(404);
  });

  it('want a key as a bearer or in Azure’s header', async () => {
    const provider = await fakeProvider(['Hi', 'Hi'], { apiKey: 'right' });
    open.push(provider);
    const body = JSON.stringify({ model: 'm', input: 'Hi' });
    const post = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${provider.azureBaseUrl}/responses`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post({ 'api-key': 'right' })).status).toBe(200);
    expect((await post({ authorization: 'Bearer right' })).status).toBe(200);
    expect((await post({ 'api-key': 'wrong' })).status).toBe(401);
  });
});

describe('a request the service would refuse', () => {
  it('gets a 400 that says why, and is logged', async () => {
    const response = await ask('Hi', { messages: [], max_output_tokens: 1 });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/messages: Unknown parameter.*max_output_tokens: Expected a value >= 16/);
    expect(open.at(-1)?.requests[0]).toMatchObject({ wire: 'openai-responses', outcome: 'done' });
  });

  it('says of an overflow what the service says', async () => {
    const response = await ask({ error: { kind: 'context_overflow' } });
    expect(await response.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
  });
});
