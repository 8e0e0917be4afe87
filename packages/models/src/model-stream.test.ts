import { inspect } from 'node:util';
import type { Http, HttpRequest, ModelEvent, ModelEventIterator } from '@treadle/core';
import { fakeProvider, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { openai } from './deployments/openai.ts';
import { exchangeOf, sendsDirectly } from './http/exchange.ts';
import type { Exchange, Receiver } from './http/exchange.ts';
import { nodeHttp } from './http/node-http.ts';
import { wireModel } from './model.ts';
import { openaiChat } from './protocols/openai-chat.ts';
import { user } from './test-support/messages.ts';
import { serveBytes } from './test-support/servers.ts';
import { REQUEST, sse, utf8 } from './test-support/streams.ts';
import { TEST_WIRES } from './test-support/wires.ts';

// What holds between a transport that tells of a response as it comes and the stream that reads it. Over real sockets it
// is in model.test.ts.

/** A transport that is only asked directly. */
const directly = (exchange: Exchange): Http =>
  sendsDirectly(() => Promise.reject(new Error('This transport is not asked by its promise.')), exchange);

/** A transport without a network: what it was asked is in `told`, and what it tells is told by `receiver`. */
function heldCall() {
  const told: string[] = [];
  const receivers: Receiver[] = [];
  const exchange: Exchange = (_, receiver) => {
    receivers.push(receiver);
    const note = (what: string) => (): void => void told.push(what);
    return { wait: note('wait'), pause: note('pause'), resume: note('resume'), cancel: note('cancel') };
  };
  const http = directly(exchange);
  const receiver = (): Receiver => receivers[0] ?? expect.fail('Nothing was sent.');
  return { http, told: (...what: string[]) => told.filter((one) => what.includes(one)), receiver };
}

const clock = testClock();

const streamOf = (http: Http): ModelEventIterator => {
  const options = {
    protocol: openaiChat(),
    provider: 'p',
    modelId: 'm',
    baseUrl: 'http://h',
    headers: {},
    http,
    clock,
  };
  return wireModel(options).stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]();
};

const HEAD = { status: 200, headers: { 'content-type': 'text/event-stream' } };
const delta = sse({ id: 'm', choices: [{ index: 0, delta: { content: 'a' } }] });
const answer = utf8(delta + sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]'));

describe('a stream', () => {
  it('holds the server back while too many events wait, and lets it go on when all were taken', async () => {
    const call = heldCall();
    const events = streamOf(call.http);
    const first = events.next();
    call.receiver().onResponse(HEAD);
    let sent = 0;
    for (; call.told('pause').length === 0 && sent < 2000; sent++) call.receiver().onChunk(utf8(delta));
    await first;
    expect(sent).toBeGreaterThan(1000);
    expect(sent).toBeLessThan(1100);
    let taken = 1;
    for (; call.told('resume').length === 0 && events.ready?.() !== undefined; taken++);
    expect(call.told('pause', 'resume')).toEqual(['pause', 'resume']);
    expect(taken).toBeGreaterThanOrEqual(sent);
    expect(events.ready?.()).toBeUndefined();
  });

  it('asks what is put around a transport, whatever of the transport it has', async () => {
    const asked: string[] = [];
    const note = (http: Http): Http =>
      Object.assign((request: HttpRequest) => (asked.push(request.method), http(request)), http);
    const proxy = (http: Http): Http =>
      new Proxy(http, {
        apply: (target, self, [request]: [HttpRequest]) => (
          asked.push(request.url),
          Reflect.apply(target, self, [request])
        ),
      });
    for (const wrap of [note, proxy]) await streamOf(wrap(heldCall().http)).next();
    expect(asked).toEqual(['POST', 'http://h/chat/completions']);
  });

  it('shows nobody who prints it what it was asked with', async () => {
    await using server = await serveBytes(() => undefined);
    const model = openai('m', { apiKey: 'sk-to-be-kept', baseUrl: server.url, http: nodeHttp({ env: {} }) });
    const events = model.stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]();
    void events.next();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(inspect(events, { depth: 10 })).not.toContain('sk-to-be-kept');
    await events.return?.();
  });

  it('that can not be sent is an error event', async () => {
    const exchange: Exchange = () => {
      throw Object.assign(new Error('No such address.'), { code: 'ERR_INVALID_URL' });
    };
    const { value } = await streamOf(directly(exchange)).next();
    expect(value).toMatchObject({ type: 'error', error: { kind: 'network', code: 'ERR_INVALID_URL' } });
  });

  it('that fails while it is being sent is an error event', async () => {
    const held = exchangeOf(heldCall().http);
    const exchange: Exchange = (request, receiver) => {
      receiver.onFailure(Object.assign(new Error('No sockets are left.'), { code: 'EMFILE' }));
      return held(request, receiver);
    };
    const events = streamOf(directly(exchange));
    expect((await events.next()).value).toMatchObject({ type: 'error', error: { kind: 'network', code: 'EMFILE' } });
    expect((await events.next()).done).toBe(true);
  });
});

describe('the body of an answer that is complete', () => {
  const complete = async () => {
    const call = heldCall();
    const events = streamOf(call.http);
    const first = events.next();
    call.receiver().onResponse(HEAD);
    call.receiver().onChunk(answer);
    await first;
    for (let event = events.ready?.(); event !== undefined;) event = events.ready?.();
    await events.return?.();
    return call;
  };

  it('has a second to end', async () => {
    const call = await complete();
    await clock.advance(999);
    expect(call.told('cancel')).toEqual([]);
    await clock.advance(1);
    expect(call.told('cancel')).toEqual(['cancel']);
  });

  it.each<[string, (receiver: Receiver) => void]>([
    ['ended', (receiver) => receiver.onEnd()],
    ['broke off', (receiver) => receiver.onFailure(new Error('reset'))],
  ])('that %s is not cut off', async (_, then) => {
    const call = await complete();
    then(call.receiver());
    await clock.advance(5000);
    expect(call.told('cancel')).toEqual([]);
  });

  it('is cut off after 64 KiB', async () => {
    const call = await complete();
    for (let kilobytes = 0; kilobytes < 64; kilobytes++) call.receiver().onChunk(new Uint8Array(1024));
    expect(call.told('cancel')).toEqual([]);
    call.receiver().onChunk(new Uint8Array(1));
    expect(call.told('cancel')).toEqual(['cancel']);
  });
});

/** Tells of a body in pieces of a size, each in the same place as the one before, which is overwritten at once. */
function inOnePlace(http: Http, size: number): Http {
  const direct = exchangeOf(http);
  const room = Buffer.alloc(size);
  const exchange: Exchange = (request, receiver) =>
    direct(request, {
      onResponse: (response) => receiver.onResponse(response),
      onChunk(bytes) {
        for (let at = 0; at < bytes.length; at += size) {
          room.set(bytes.subarray(at, at + size));
          receiver.onChunk(room.subarray(0, Math.min(size, bytes.length - at)));
          room.fill(0xff);
        }
      },
      onEnd: () => receiver.onEnd(),
      onFailure: (error) => receiver.onFailure(error),
    });
  return directly(exchange);
}

describe.each(TEST_WIRES)('an answer of $name', (wire) => {
  it.each([1, 7, 64 * 1024])('is read while its bytes are there, %i at a time', async (size) => {
    const args = { path: 'a/ü.txt', list: [1, { deep: 'x"y\\z 🧵' }] };
    const turn = { text: 'Let me see. 🧶', toolCalls: [{ name: 'act', arguments: args }], chunkSize: 5 };
    await using provider = await fakeProvider([turn]);
    const model = wire.model(provider, inOnePlace(nodeHttp({ env: {} }), size));
    const events: ModelEvent[] = [];
    const request = { ...REQUEST, messages: [user('Go.')] };
    for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
    const text = events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('');
    const calls = events.flatMap((event) =>
      event.type === 'block_end' && event.block.type === 'tool_call' ? [event.block.argumentsText] : [],
    );
    expect(text).toBe(turn.text);
    expect(calls.map((json) => JSON.parse(json) as unknown)).toEqual([args]);
    expect(events.at(-1)?.type).toBe('finish');
  });
});
