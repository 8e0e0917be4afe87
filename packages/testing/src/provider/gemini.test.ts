import { afterEach, describe, expect, it } from 'vitest';
import type { FakeProvider, FakeProviderOptions, ProviderRequest, ProviderTurn, Script } from '../index.ts';
import { fakeProvider } from '../index.ts';

const started: FakeProvider[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((provider) => provider.close()));
});

async function start(script: Script<ProviderRequest, ProviderTurn>, options?: FakeProviderOptions) {
  const provider = await fakeProvider(script, options);
  started.push(provider);
  return provider;
}

const BODY = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
const VERTEX = '/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro';

const ask = (provider: FakeProvider, path: string, body: object = BODY, headers: Record<string, string> = {}) =>
  fetch(provider.googleBaseUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

describe('fakeProvider speaking Gemini', () => {
  it('streams a turn in the service’s frames', async () => {
    const provider = await start(
      [{ thinking: 'Hm', text: 'Hello', toolCalls: [{ name: 'add', arguments: { a: 1 } }], usage: { output: 7, reasoning: 2 } }],
      { chunkSize: 100 },
    );
    const response = await ask(provider, '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse');
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const facts = { modelVersion: 'gemini-2.5-pro', responseId: 'response-fake1' };
    const part = (value: object) => ({ candidates: [{ content: { parts: [value], role: 'model' }, index: 0 }], ...facts });
    const frames = [
      part({ text: 'Hm', thought: true }),
      part({ text: 'Hello' }),
      part({ functionCall: { id: 'call_1_1', name: 'add', args: { a: 1 } }, thoughtSignature: 'signature-1-2' }),
      {
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
        ...facts,
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 2, totalTokenCount: 17 },
      },
    ];
    expect(await response.text()).toBe(frames.map((frame) => `data: ${JSON.stringify(frame)}\r\n\r\n`).join(''));
  }); // prettier-ignore

  it('answers in one piece where it is asked that way, also at the addresses of Vertex AI', async () => {
    const provider = await start([{ text: 'Hello', stopReason: 'length', usage: null }]);
    expect(await (await ask(provider, `${VERTEX}:generateContent`)).json()).toEqual({
      candidates: [{ content: { parts: [{ text: 'Hello' }], role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }],
      modelVersion: 'gemini-3-pro',
      responseId: 'response-fake1',
    });
    expect(provider.requests[0]).toMatchObject({ wire: 'gemini', outcome: 'done', problems: [] });
  });

  it('puts signatures on the parts they are of', async () => {
    const provider = await start([
      {
        content: [
          { type: 'thinking', text: '', signature: 's1' },
          { type: 'text', text: '', opaque: { thoughtSignature: 's2' } },
          { type: 'tool_call', name: 'a', opaque: { thoughtSignature: 's3' }, providerCallId: '' },
          { type: 'tool_call', name: 'b', providerCallId: '' },
        ],
      },
    ]);
    const reply = (await (await ask(provider, `${VERTEX}:generateContent`)).json()) as {
      candidates: { content: { parts: unknown[] } }[];
    };
    expect(reply.candidates[0]?.content.parts).toEqual([
      { text: '', thought: true, thoughtSignature: 's1' },
      { text: '', thoughtSignature: 's2' },
      { functionCall: { name: 'a', args: {} }, thoughtSignature: 's3' },
      { functionCall: { name: 'b', args: {} } },
    ]);
  });

  it('fails as the service does, before the stream and in it', async () => {
    const provider = await start([
      { error: { status: 429, message: 'Slow down.' } },
      { text: 'Half of it', error: { status: 503, message: 'Busy.', afterDeltas: 1 } },
    ]);
    const path = `${VERTEX}:streamGenerateContent?alt=sse`;
    const refused = await ask(provider, path);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({ error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' } });
    const frames = (await (await ask(provider, path)).text()).trim().split('\r\n\r\n');
    expect(frames.at(-1)).toBe('data: {"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"}}');
  });

  it('refuses what the service refuses, and a wrong key', async () => {
    const provider = await start(['Hello', 'Hello'], { apiKey: 'right' });
    const path = `${VERTEX}:generateContent`;
    const bad = await ask(provider, path, { contents: [] }, { 'x-goog-api-key': 'right' });
    expect(bad.status).toBe(400);
    expect(await bad.json()).toMatchObject({
      error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining('contents are required') as string },
    });
    expect((await ask(provider, path, BODY, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await ask(provider, path, BODY, { authorization: 'Bearer right' })).status).toBe(200);
    expect((await ask(provider, '/v1beta/models/x:countTokens')).status).toBe(404);
  });

  it.each([
    ['arguments that are no object', { toolCalls: [{ name: 'a', argumentsText: '{"half' }] }],
    ['redacted thinking', { content: [{ type: 'redacted_thinking' as const, data: 'x' }] }],
  ])('says that it can not speak a turn with %s', async (_, turn) => {
    const provider = await start([turn]);
    const response = await ask(provider, `${VERTEX}:generateContent`);
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/this wire/i);
  });
});
