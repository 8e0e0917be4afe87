import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { FakeProvider, FakeProviderOptions, ProviderRequest, ProviderTurn, Script } from '../index.ts';
import { fakeProvider, testClock } from '../index.ts';

const started: FakeProvider[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((provider) => provider.close()));
});

async function start(script: Script<ProviderRequest, ProviderTurn>, options?: FakeProviderOptions) {
  const provider = await fakeProvider(script, options);
  started.push(provider);
  return provider;
}

const anthropicBody = { model: 'm', max_tokens: 100, stream: true, messages: [{ role: 'user', content: 'Hi' }] };
const openaiBody = {
  model: 'm',
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: 'Hi' }],
};

const post = (url: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const askAnthropic = (provider: FakeProvider, over: object = {}, headers?: Record<string, string>) =>
  post(`${provider.anthropicBaseUrl}/v1/messages`, { ...anthropicBody, ...over }, headers);
const askOpenAI = (provider: FakeProvider, over: object = {}, headers?: Record<string, string>) =>
  post(`${provider.openaiBaseUrl}/chat/completions`, { ...openaiBody, ...over }, headers);

/** The chunks of a response's body as the network delivered them, and whether it ended well. */
function rawStream(url: string, body: unknown): Promise<{ chunks: Buffer[]; error: string | undefined }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const request = httpRequest(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } });
    request.on('response', (response) => {
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error: Error & { code?: string }) => resolve({ chunks, error: error.code }));
      response.on('end', () => resolve({ chunks, error: undefined }));
    });
    request.on('error', (error: Error & { code?: string }) => resolve({ chunks, error: error.code }));
    request.end(JSON.stringify(body));
  });
}

const dataLines = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice(6));

describe('fakeProvider speaking Anthropic Messages', () => {
  it('streams a turn in the service’s frames', async () => {
    const provider = await start(
      [{ thinking: 'Hm', text: 'Hello', toolCalls: [{ name: 'add', arguments: { a: 1 } }], usage: { output: 7 } }],
      { chunkSize: 100 },
    );
    const response = await askAnthropic(provider);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('request-id')).toBe('req_fake1');
    const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const frames: [string, object][] = [
      [
        'message_start',
        {
          message: {
            id: 'msg_fake1',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { ...usage, output_tokens: 1 },
          },
        },
      ],
      ['ping', {}],
      ['content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }],
      ['content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } }],
      ['content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'signature-1-0' } }],
      ['content_block_stop', { index: 0 }],
      ['content_block_start', { index: 1, content_block: { type: 'text', text: '' } }],
      ['content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'Hello' } }],
      ['content_block_stop', { index: 1 }],
      [
        'content_block_start',
        { index: 2, content_block: { type: 'tool_use', id: 'call_1_1', name: 'add', input: {} } },
      ],
      ['content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '' } }],
      ['content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } }],
      ['content_block_stop', { index: 2 }],
      [
        'message_delta',
        { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { ...usage, output_tokens: 7 } },
      ],
      ['message_stop', {}],
    ];
    expect(await response.text()).toBe(
      frames.map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`).join(''),
    );
  });

  it('answers in one piece when asked not to stream', async () => {
    const provider = await start([{ text: 'Sum: ', toolCalls: [{ name: 'add', arguments: { a: 1 } }] }]);
    expect(await (await askAnthropic(provider, { stream: false })).json()).toMatchObject({
      type: 'message',
      content: [
        { type: 'text', text: 'Sum: ' },
        { type: 'tool_use', id: 'call_1_1', name: 'add', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 5 },
    });
  });

  it('refuses what the service refuses, in its error shape, without using up a turn', async () => {
    const provider = await start(['Hello']);
    const response = await askAnthropic(provider, { max_tokens: undefined });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'max_tokens: must be a positive integer' },
      request_id: 'req_fake1',
    });
    expect((await askAnthropic(provider)).status).toBe(200);
    expect(provider.requests.map((request) => request.problems.length)).toEqual([1, 0]);
    expect((await askAnthropic(provider, {}, { 'anthropic-version': '' })).status).toBe(400);
  });

  it('fails before any output with a status, and after it with an error event', async () => {
    const error = { status: 529, code: 'overloaded_error', message: 'Overloaded', retryAfterMs: 6500 };
    const provider = await start([
      { text: 'abc', error },
      { text: 'abc', error: { ...error, afterDeltas: 1 } },
    ]);
    const first = await askAnthropic(provider);
    expect([first.status, first.headers.get('retry-after')]).toEqual([529, '7']);
    expect(await first.json()).toMatchObject({ error: { type: 'overloaded_error', message: 'Overloaded' } });
    const second = await (await askAnthropic(provider)).text();
    expect(
      second.endsWith('data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'),
    ).toBe(true);
    expect(second).not.toContain('message_stop');
  });
});

describe('fakeProvider speaking Chat Completions', () => {
  it('streams a turn in the service’s chunks', async () => {
    const provider = await start(
      [{ thinking: 'Hm', text: 'Hello', toolCalls: [{ name: 'a' }, { name: 'b' }], usage: { cacheRead: 3 } }],
      { chunkSize: 100, clock: testClock(5000) },
    );
    const lines = dataLines(await (await askOpenAI(provider)).text());
    expect(lines.pop()).toBe('[DONE]');
    const chunks = lines.map((line) => JSON.parse(line) as { choices: { delta: object; finish_reason: string }[] });
    expect(chunks[0]).toEqual({
      id: 'chatcmpl-fake1',
      object: 'chat.completion.chunk',
      created: 5,
      model: 'm',
      system_fingerprint: 'fp_fake',
      choices: [
        {
          index: 0,
          delta: { role: 'assistant', content: '', refusal: null },
          logprobs: null,
          finish_reason: null,
        },
      ],
      usage: null,
    });
    const call = (index: number, name: string) => ({
      tool_calls: [{ index, id: `call_1_${index + 1}`, type: 'function', function: { name, arguments: '' } }],
    });
    const args = (index: number) => ({ tool_calls: [{ index, function: { arguments: '{}' } }] });
    expect(chunks.slice(1, -1).map((chunk) => chunk.choices[0]?.delta)).toEqual([
      { reasoning_content: 'Hm' },
      { content: 'Hello' },
      call(0, 'a'),
      args(0),
      call(1, 'b'),
      args(1),
      {},
    ]);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 13,
        completion_tokens: 5,
        total_tokens: 18,
        prompt_tokens_details: { cached_tokens: 3 },
      },
    });
  });

  it('keeps usage to itself unless asked for it', async () => {
    const provider = await start(['Hello']);
    expect(await (await askOpenAI(provider, { stream_options: undefined })).text()).not.toContain('usage');
  });

  it('answers in one piece when asked not to stream', async () => {
    const provider = await start([{ toolCalls: [{ name: 'add', argumentsText: '{"a": 1}' }] }]);
    const reply = await (await askOpenAI(provider, { stream: false, stream_options: undefined })).json();
    expect(reply).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          message: {
            content: null,
            tool_calls: [{ id: 'call_1_1', function: { name: 'add', arguments: '{"a": 1}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    });
  });

  it('reports errors in the service’s shape', async () => {
    const provider = await start([
      { error: { kind: 'context_overflow' } },
      { text: 'abc', error: { status: 500, message: 'Broken', afterDeltas: 1 } },
    ]);
    const first = await askOpenAI(provider);
    expect(first.status).toBe(400);
    expect(await first.json()).toMatchObject({
      error: { type: 'invalid_request_error', param: null, code: 'context_length_exceeded' },
    });
    const lines = dataLines(await (await askOpenAI(provider)).text());
    expect(lines.at(-1)).toBe('{"error":{"message":"Broken","type":"server_error","param":null,"code":null}}');
  });

  it('says that it can’t speak a block this wire doesn’t have', async () => {
    const provider = await start([{ content: [{ type: 'redacted_thinking', data: 'x' }] }]);
    const response = await askOpenAI(provider);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('This wire has no redacted_thinking blocks.');
  });
});

describe('fakeProvider on a bad network', () => {
  it('gives the same bytes for every chunking, in pieces of the asked size', async () => {
    const turn = { text: 'Grüße 👋🏽 – done', toolCalls: [{ name: 'add', arguments: { a: '€' } }] };
    const provider = await start(() => turn, { clock: testClock() });
    const url = `${provider.openaiBaseUrl}/chat/completions`;
    const whole = Buffer.concat((await rawStream(url, openaiBody)).chunks).toString();
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.constant('whole' as const), fc.integer({ min: 1, max: 3000 })), async (chunking) => {
        const chunked = await start(() => ({ ...turn, faults: { chunking } }), { clock: testClock() });
        const { chunks, error } = await rawStream(`${chunked.openaiBaseUrl}/chat/completions`, openaiBody);
        expect(error).toBeUndefined();
        expect(Buffer.concat(chunks).toString()).toBe(whole);
        for (const chunk of chunks)
          expect(chunk.length).toBeLessThanOrEqual(chunking === 'whole' ? Infinity : chunking);
      }),
      { numRuns: 15 },
    );
  });

  it.each(['close', 'reset'] as const)('breaks the connection after so many bytes (%s)', async (cutBy) => {
    const provider = await start([{ text: 'x'.repeat(500), faults: { cutAfterBytes: 300, cutBy } }]);
    const { chunks, error } = await rawStream(`${provider.openaiBaseUrl}/chat/completions`, openaiBody);
    expect(Buffer.concat(chunks).length).toBe(300);
    expect(error).toBe('ECONNRESET');
    expect(provider.requests[0]?.outcome).toBe('cut');
  });

  it.each([0, 1, 3])('breaks the connection after %i events', async (cutAfterEvents) => {
    const provider = await start([{ text: 'x'.repeat(500), faults: { cutAfterEvents } }]);
    const { chunks, error } = await rawStream(`${provider.openaiBaseUrl}/chat/completions`, openaiBody);
    expect(dataLines(Buffer.concat(chunks).toString()).length).toBe(cutAfterEvents);
    expect(error).toBe('ECONNRESET');
  });

  it('ends cleanly without the terminal event', async () => {
    const provider = await start([{ text: 'half', unfinished: true }]);
    const text = await (await askOpenAI(provider)).text();
    expect(text).toContain('half');
    expect(text).not.toMatch(/finish_reason":"|DONE/);
  });

  it('refuses the connection’s reply altogether for a network failure', async () => {
    const provider = await start([
      { error: { kind: 'network' } },
      { text: 'a', error: { kind: 'network', afterDeltas: 1 } },
    ]);
    await expect(askOpenAI(provider)).rejects.toThrow();
    await expect(askOpenAI(provider).then((response) => response.text())).rejects.toThrow();
  });

  it('sends any status, headers and bytes instead of a turn', async () => {
    const provider = await start([
      { faults: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Log in</h1>' } },
      { faults: { status: 418, body: { error: 'teapot' } } },
      { faults: { body: new Uint8Array([0xff, 0xfe, 0x00]) } },
    ]);
    const page = await askOpenAI(provider);
    expect([page.headers.get('content-type'), await page.text()]).toEqual(['text/html', '<h1>Log in</h1>']);
    const teapot = await askOpenAI(provider);
    expect([teapot.status, await teapot.json()]).toEqual([418, { error: 'teapot' }]);
    expect([...new Uint8Array(await (await askOpenAI(provider)).arrayBuffer())]).toEqual([0xff, 0xfe, 0x00]);
  });

  it('waits on the injected clock before the headers and between deltas', async () => {
    const clock = testClock(0);
    const provider = await start([{ text: 'ab', delayMs: 1000, chunkDelayMs: 100 }], { clock, chunkSize: 1 });
    let headersAt = -1;
    const reading = askOpenAI(provider).then((response) => {
      headersAt = clock.now();
      return response.text();
    });
    await provider.waitForRequest(1);
    await clock.advance(999);
    expect(headersAt).toBe(-1);
    // The client's own input and output take real time, and the next timer is set only after it.
    let text: string | undefined;
    void reading.then((all) => {
      text = all;
    });
    while (text === undefined) await clock.advance(1);
    expect(headersAt).toBeGreaterThanOrEqual(1000);
    expect(clock.now()).toBeGreaterThanOrEqual(1200);
    expect(text).toContain('[DONE]');
  });

  it('notices a client that leaves in the middle of silence, and holds nothing for it', async () => {
    const clock = testClock();
    const provider = await start([{ text: 'abc', chunkDelayMs: 60_000 }], { clock, chunkSize: 1 });
    const abort = new AbortController();
    const response = await post(`${provider.openaiBaseUrl}/chat/completions`, openaiBody, {}, abort.signal);
    await response.body?.getReader().read();
    abort.abort();
    await provider.idle();
    expect(provider.requests[0]?.outcome).toBe('left');
    expect(clock.pending).toBe(0);
  });
});

describe('fakeProvider', () => {
  it('logs method, path, headers and parsed body, and lets a turn look at them', async () => {
    const provider = await start([
      (request) => `You said ${JSON.stringify(request.body).length} bytes to ${request.wire}`,
    ]);
    const response = await askAnthropic(provider, {}, { 'x-api-key': 'k' });
    expect(await response.text()).toContain('anthropic');
    expect(provider.requests[0]).toMatchObject({
      wire: 'anthropic-messages',
      method: 'POST',
      path: '/v1/messages',
      headers: { 'x-api-key': 'k' },
      body: anthropicBody,
      outcome: 'done',
    });
  });

  it('wants the right key when it is given one', async () => {
    const provider = await start(['Hello', 'Hello'], { apiKey: 'right' });
    expect((await askOpenAI(provider, {}, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await askOpenAI(provider, {}, { authorization: 'Bearer right' })).status).toBe(200);
    expect((await askAnthropic(provider, {}, { 'x-api-key': 'right' })).status).toBe(200);
  });

  it('says so when the script has no turn left, when a turn throws, and when a path is unknown', async () => {
    const provider = await start([
      () => {
        throw new Error('no idea');
      },
    ]);
    expect(await (await askOpenAI(provider)).text()).toContain('The script failed: no idea');
    const beyond = await askOpenAI(provider);
    expect([beyond.status, await beyond.text()]).toEqual([400, expect.stringContaining('this is request 2')]);
    expect((await post(`${provider.url}/v1/other`, {})).status).toBe(404);
  });

  it('closes connections, delays and waiters, and frees its port', async () => {
    const clock = testClock();
    const provider = await start([{ delayMs: 60_000 }], { clock });
    const hanging = askOpenAI(provider).catch((error: unknown) => error);
    const never = provider.waitForRequest(2).catch((error: unknown) => error);
    await provider.waitForRequest(1);
    const idle = connect(Number(new URL(provider.url).port), '127.0.0.1');
    await once(idle, 'connect');
    idle.on('error', () => {});
    const idleClosed = once(idle, 'close');
    await provider.close();
    expect(await hanging).toBeInstanceOf(Error);
    expect(await never).toBeInstanceOf(Error);
    await idleClosed;
    expect(clock.pending).toBe(0);
    const again = createServer().listen(Number(new URL(provider.url).port), '127.0.0.1');
    await once(again, 'listening');
    again.close();
  });
});
