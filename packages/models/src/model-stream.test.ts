import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Http, HttpRequest, ModelEvent, ModelEventIterator } from '@treadle/core';
import { fakeProvider, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { openai } from './deployments/openai.ts';
import { exchangeOf, sendsDirectly } from './http/exchange.ts';
import type { Exchange, Receiver, ResponseFacts } from './http/exchange.ts';
import { nodeHttp } from './http/node-http.ts';
import { wireModel } from './model.ts';
import { anthropicMessages } from './protocols/anthropic-messages.ts';
import { gemini } from './protocols/gemini.ts';
import { ollamaChat } from './protocols/ollama-chat.ts';
import { openaiChat } from './protocols/openai-chat.ts';
import type { Decoder, Protocol } from './protocols/protocol.ts';
import { user } from './test-support/messages.ts';
import { serveBytes } from './test-support/servers.ts';
import { REQUEST, contractProblems, readModel, sse, utf8 } from './test-support/streams.ts';
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

const streamOf = (http: Http, protocol: Protocol = openaiChat()): ModelEventIterator => {
  const options = {
    protocol,
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

  it('holds the server back while too many bytes wait, and lets it go on when all events were taken', async () => {
    const call = heldCall();
    const events = streamOf(call.http);
    const first = events.next();
    call.receiver().onResponse(HEAD);
    const large = utf8(sse({ id: 'm', choices: [{ index: 0, delta: { content: 'x'.repeat(64 * 1024) } }] }));
    let sent = 0;
    for (; call.told('pause').length === 0 && sent < 100; sent++) call.receiver().onChunk(large);
    await first;
    expect(sent).toBe(4);
    for (let taken = 1; taken < sent; taken++) {
      expect(events.ready?.()).toBeDefined();
      expect(call.told('resume')).toEqual([]);
    }
    while (events.ready?.() !== undefined);
    expect(call.told('pause', 'resume')).toEqual(['pause', 'resume']);
  });

  it('holds the server back while it sends what makes no event and nobody waits', async () => {
    const call = heldCall();
    const events = streamOf(call.http);
    const first = events.next();
    call.receiver().onResponse(HEAD);
    call.receiver().onChunk(utf8(delta));
    await first;
    while (events.ready?.() !== undefined);
    const nothing = utf8(`: ${'x'.repeat(64 * 1024)}\n\n`);
    let sent = 0;
    for (; call.told('pause').length === 0 && sent < 100; sent++) call.receiver().onChunk(nothing);
    expect(sent).toBe(4);
    expect(events.ready?.()).toBeUndefined();
    expect(call.told('resume')).toEqual([]);
    const second = events.next();
    expect(call.told('pause', 'resume')).toEqual(['pause', 'resume']);
    call.receiver().onChunk(utf8(delta));
    expect((await second).done).toBe(false);
  });

  it('does not hold the server back for bytes whose events were taken, or while somebody waits', async () => {
    const call = heldCall();
    const events = streamOf(call.http);
    const large = utf8(sse({ id: 'm', choices: [{ index: 0, delta: { content: 'x'.repeat(128 * 1024) } }] }));
    const comment = utf8(`: ${'x'.repeat(128 * 1024)}\n\n`);
    let next = events.next();
    call.receiver().onResponse(HEAD);
    for (let sent = 0; sent < 10; sent++) {
      call.receiver().onChunk(comment);
      call.receiver().onChunk(large);
      await next;
      while (events.ready?.() !== undefined);
      next = events.next();
    }
    expect(call.told('pause')).toEqual([]);
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

const raise = (): never => {
  throw new Error('Out of yarn.');
};

type Parts = { -readonly [Name in keyof Protocol]: Protocol[Name] };

/** A protocol of which one part throws. */
const broken = (change: (protocol: Parts) => void): Protocol => {
  const protocol: Parts = { ...openaiChat() };
  change(protocol);
  return protocol;
};
const brokenDecoder = (part: Partial<Decoder>): Protocol =>
  broken((protocol) => {
    const { createDecoder } = openaiChat();
    protocol.createDecoder = (sink, request) => {
      const decoder = createDecoder(sink, request);
      return {
        frame: (...frame) => decoder.frame(...frame),
        end: () => decoder.end(),
        whole: (body) => decoder.whole(body),
        ...part,
      };
    };
  });
const brokenScanner = (part: 'push' | 'end'): Protocol =>
  broken((protocol) => {
    protocol.framing = () => ({ push: () => undefined, end: () => undefined, [part]: raise });
  });

const JSON_HEAD = { status: 200, headers: { 'content-type': 'application/json' } };
const PAGE_HEAD = { status: 500, headers: { 'content-type': 'application/json' } };

describe('a protocol that throws ends the stream with an error that is not tried again, and gives the connection up:', () => {
  const cases: readonly [string, Protocol, ResponseFacts][] = [
    ['its createDecoder', broken((protocol) => (protocol.createDecoder = raise)), HEAD],
    ['its framing', broken((protocol) => (protocol.framing = raise)), HEAD],
    ['its startsStream', broken((protocol) => (protocol.startsStream = raise)), JSON_HEAD],
    ['its readError', broken((protocol) => (protocol.readError = raise)), JSON_HEAD],
    ['its readError, of an error page', broken((protocol) => (protocol.readError = raise)), PAGE_HEAD],
    ['its recovers', broken(refusing), { ...PAGE_HEAD, status: 400 }],
    ['push of its scanner', brokenScanner('push'), HEAD],
    ['end of its scanner', brokenScanner('end'), HEAD],
    ['frame of its decoder', brokenDecoder({ frame: raise }), HEAD],
    ['end of its decoder', brokenDecoder({ frame: () => undefined, end: raise }), HEAD],
    ['whole of its decoder', brokenDecoder({ whole: raise }), JSON_HEAD],
  ];

  function refusing(protocol: Parts): void {
    const { createEncoder } = openaiChat();
    protocol.createEncoder = (target) => Object.assign(createEncoder(target), { recovers: raise });
  }

  const error = { kind: 'other', message: "The response can't be read: Out of yarn.", retryable: false };
  const bodyOf = (head: ResponseFacts): Uint8Array =>
    head === HEAD ? utf8(delta) : utf8('{"error":{"message":"No."}}');
  const wholeBody = (head: ResponseFacts): Uint8Array => (head === JSON_HEAD ? utf8('{"choices":[]}') : bodyOf(head));

  it.each(cases)('%s, while somebody waits', async (_, protocol, head) => {
    const call = heldCall();
    const events = streamOf(call.http, protocol);
    const event = events.next();
    const receiver = call.receiver();
    receiver.onResponse(head);
    receiver.onChunk(wholeBody(head));
    const isOpen = call.told('cancel').length === 0;
    if (isOpen) receiver.onEnd();
    expect((await event).value).toEqual({ type: 'error', error });
    expect((await events.next()).done).toBe(true);
    // Once it has ended there is nothing to give up.
    expect(call.told('cancel')).toHaveLength(isOpen ? 0 : 1);
  });

  it('its readError, of an error page that broke off', async () => {
    const call = heldCall();
    const events = streamOf(
      call.http,
      broken((protocol) => (protocol.readError = raise)),
    );
    const event = events.next();
    call.receiver().onResponse(PAGE_HEAD);
    call.receiver().onChunk(bodyOf(PAGE_HEAD));
    call.receiver().onFailure(new Error('reset'));
    expect((await event).value).toEqual({ type: 'error', error });
  });

  it('the connection alone, when the answer was complete', async () => {
    const call = heldCall();
    const usage = { input: null, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
    const protocol = broken((parts) => {
      parts.createDecoder = (sink) => ({
        frame() {
          sink.event({ type: 'finish', stopReason: 'stop', usage });
          raise();
        },
        end: raise,
        whole: raise,
      });
    });
    const events = streamOf(call.http, protocol);
    const event = events.next();
    call.receiver().onResponse(HEAD);
    call.receiver().onChunk(utf8(delta));
    expect((await event).value).toEqual({ type: 'finish', stopReason: 'stop', usage });
    expect((await events.next()).done).toBe(true);
    expect(call.told('cancel')).toEqual(['cancel']);
  });
});

describe('a protocol that throws', () => {
  const DEPTH = 200_000;
  const deep = '{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH);
  const answers: Readonly<Record<string, [Protocol, string]>> = {
    gemini: [
      gemini(),
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${deep}}}]},"finishReason":"STOP"}]}`,
    ],
    ollama: [
      ollamaChat(),
      `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":${deep}}}]},"done":true,"done_reason":"stop"}`,
    ],
    anthropic: [
      anthropicMessages(),
      `{"type":"message","id":"m","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${deep}}],"stop_reason":"tool_use","usage":{}}`,
    ],
  };
  const ways = ['sized', 'until the connection ends', 'packed', 'by a promise'];
  const cases = Object.keys(answers).flatMap((name) => ways.map((way): [string, string] => [name, way]));

  it.each(cases)('ends the stream of %s, sent %s: arguments too deep to be written', async (name, way) => {
    const [protocol, text] = answers[name] ?? expect.fail(name);
    const body = way === 'packed' ? gzipSync(text) : utf8(text);
    await using server = await serveBytes((socket) => {
      socket.once('data', () => {
        const size = way === 'until the connection ends' ? '' : `content-length: ${body.length}\r\n`;
        const coding = way === 'packed' ? 'content-encoding: gzip\r\n' : '';
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${size}${coding}\r\n`);
        socket.write(body);
        if (size === '') socket.end();
      });
    });
    const direct = nodeHttp({ env: {} });
    const http: Http = way === 'by a promise' ? (request) => direct(request) : direct;
    const { events, error } = await readModel({ protocol, http, baseUrl: server.url });
    expect(contractProblems(events)).toEqual([]);
    expect(error).toMatchObject({ kind: 'other', retryable: false });
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
