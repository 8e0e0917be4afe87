import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { isDeepText } from '@treadle/core/json';
import type { Http } from '@treadle/core';
import type { ModelEvent, ModelEventIterator } from '@treadle/core/model';
import type { HttpRequest } from '@treadle/core/ports';
import { fakeProvider, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { openai } from '../deployments/openai.ts';
import { nodeHttp } from '../http/node-http.ts';
import { wireModel } from '../model.ts';
import { anthropicMessages } from '../protocols/anthropic/protocol.ts';
import { gemini } from '../protocols/gemini/protocol.ts';
import { ollamaChat } from '../protocols/ollama/protocol.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import type { Decoder, Protocol } from '../protocols/shared/protocol.ts';
import type { ResponseFacts } from './response.ts';
import { user } from '../test-support/messages.ts';
import { serveBytes } from '../test-support/servers.ts';
import { REQUEST, contractProblems, readModel, sse, utf8 } from '../test-support/streams.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// What holds between a transport and the stream that reads its responses. Over real sockets it is in model.test.ts.

type Next = IteratorResult<Uint8Array>;

/** A transport without a network, whose response the test gives. */
function heldResponse() {
  const chunks: Promise<Next>[] = [];
  const waiting: ((next: Promise<Next>) => void)[] = [];
  const response = Promise.withResolvers<ResponseFacts>();
  const requests: HttpRequest[] = [];
  let reads = 0;
  let isLeft = false;
  const give = (next: Promise<Next>): void => {
    next.catch(() => {});
    const reader = waiting.shift();
    if (reader) reader(next);
    else chunks.push(next);
  };
  const body: AsyncIterator<Uint8Array> = {
    next() {
      reads += 1;
      return chunks.shift() ?? new Promise((resolve) => waiting.push(resolve));
    },
    async return() {
      isLeft = true;
      return { done: true, value: undefined };
    },
  };
  const http: Http = async (request) => {
    requests.push(request);
    return { ...(await response.promise), body: { [Symbol.asyncIterator]: () => body } };
  };
  return {
    http,
    requests,
    respond: response.resolve,
    chunk: (bytes: Uint8Array) => give(Promise.resolve({ done: false, value: bytes })),
    end: () => give(Promise.resolve({ done: true, value: undefined })),
    fail: (error: Error) => give(Promise.reject(error)),
    reads: () => reads,
    isLeft: () => isLeft,
  };
}

const clock = testClock();
const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const streamOf = (http: Http, protocol: Protocol = openaiChat()): ModelEventIterator => {
  const options = { protocol, provider: 'p', modelId: 'm', baseUrl: 'http://h', headers: {}, http, clock };
  return wireModel(options).stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]();
};

const HEAD = { status: 200, headers: { 'content-type': 'text/event-stream' } };
const delta = sse({ id: 'm', choices: [{ index: 0, delta: { content: 'a' } }] });
const answer = utf8(delta + sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]'));

describe('a stream', () => {
  it('reads only while its consumer waits, so that a slow one holds the server back', async () => {
    const call = heldResponse();
    const events = streamOf(call.http);
    const first = events.next();
    call.respond(HEAD);
    for (let sent = 0; sent < 100; sent++) call.chunk(utf8(delta));
    await first;
    await breath();
    expect(call.reads()).toBe(1);
    while (events.ready?.() !== undefined);
    await breath();
    expect(call.reads()).toBe(1);
    await events.next();
    expect(call.reads()).toBe(2);
    await events.return?.();
    expect(call.isLeft()).toBe(true);
  });

  it('reads on when what came makes no event', async () => {
    const call = heldResponse();
    const events = streamOf(call.http);
    const first = events.next();
    call.respond(HEAD);
    for (let sent = 0; sent < 10; sent++) call.chunk(utf8(`: ${'x'.repeat(64 * 1024)}\n\n`));
    call.chunk(utf8(delta));
    expect((await first).value).toMatchObject({ type: 'start' });
    expect(call.reads()).toBe(11);
  });

  it('asks what is put around a transport', async () => {
    const asked: string[] = [];
    const failing: Http = () => Promise.reject(new Error('No.'));
    const note = (http: Http): Http =>
      Object.assign((request: HttpRequest) => (asked.push(request.method), http(request)), http);
    const proxy = (http: Http): Http =>
      new Proxy(http, {
        apply: (target, self, [request]: [HttpRequest]) => (
          asked.push(request.url),
          Reflect.apply(target, self, [request])
        ),
      });
    for (const wrap of [note, proxy]) await streamOf(wrap(failing)).next();
    expect(asked).toEqual(['POST', 'http://h/chat/completions']);
  });

  it('shows nobody who prints it what it was asked with', async () => {
    await using server = await serveBytes(() => undefined);
    const model = openai('m', { apiKey: 'sk-to-be-kept', baseUrl: server.url, http: nodeHttp({ env: {} }) });
    const events = model.stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]();
    void events.next();
    await breath();
    expect(inspect(events, { depth: 10 })).not.toContain('sk-to-be-kept');
    await events.return?.();
  });

  it('that can not be sent is an error event', async () => {
    const refusing: Http = () => {
      throw Object.assign(new Error('No such address.'), { code: 'ERR_INVALID_URL' });
    };
    const events = streamOf(refusing);
    expect((await events.next()).value).toMatchObject({
      type: 'error',
      error: { kind: 'network', code: 'ERR_INVALID_URL' },
    });
    expect((await events.next()).done).toBe(true);
  });

  it('whose response comes after its consumer left leaves the body', async () => {
    const call = heldResponse();
    const events = streamOf(call.http);
    const first = events.next();
    await events.return?.();
    expect((await first).done).toBe(true);
    expect(call.requests[0]?.signal?.aborted).toBe(true);
    call.respond(HEAD);
    await breath();
    expect(call.isLeft()).toBe(true);
  });

  it('with an encoding that can not be undone ends with an error that is not tried again', async () => {
    await using server = await serveBytes((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: compress\r\n\r\nabc'));
    });
    const { events } = await readModel({
      protocol: openaiChat(),
      http: nodeHttp({ env: {} }),
      baseUrl: server.url,
    });
    expect(events).toMatchObject([{ type: 'error', error: { code: 'TREADLE_CONTENT_ENCODING', retryable: false } }]);
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
    const call = heldResponse();
    const events = streamOf(call.http, protocol);
    const event = events.next();
    call.respond(head);
    call.chunk(wholeBody(head));
    call.end();
    expect((await event).value).toEqual({ type: 'error', error });
    expect((await events.next()).done).toBe(true);
    expect(call.requests[0]?.signal?.aborted).toBe(true);
  });

  it('its readError, of an error page that broke off', async () => {
    const call = heldResponse();
    const protocol = broken((parts) => (parts.readError = raise));
    const events = streamOf(call.http, protocol);
    const event = events.next();
    call.respond(PAGE_HEAD);
    call.chunk(bodyOf(PAGE_HEAD));
    call.fail(new Error('reset'));
    expect((await event).value).toEqual({ type: 'error', error });
  });

  it('the connection alone, when the answer was complete', async () => {
    const call = heldResponse();
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
    call.respond(HEAD);
    call.chunk(utf8(delta));
    expect((await event).value).toEqual({ type: 'finish', stopReason: 'stop', usage });
    expect((await events.next()).done).toBe(true);
    expect(call.isLeft()).toBe(true);
  });
});

describe('a call whose arguments are nested deeper than the stack is', () => {
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
  const ways = ['sized', 'until the connection ends', 'packed'];
  const cases = Object.keys(answers).flatMap((name) => ways.map((way): [string, string] => [name, way]));

  it.each(cases)('is a call for the loop to refuse: %s, sent %s', async (name, way) => {
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
    const { events, error } = await readModel({ protocol, http: nodeHttp({ env: {} }), baseUrl: server.url });
    expect(contractProblems(events)).toEqual([]);
    expect(error).toBeUndefined();
    const [call] = events.flatMap((event) => (event.type === 'block_end' ? [event.block] : []));
    expect(call?.type === 'tool_call' && isDeepText(call.argumentsText)).toBe(true);
  });
});

describe('a protocol that throws', () => {
  it.each(['while it reads a stream', 'while it reads a whole body'])(
    '%s ends the stream with its words',
    async (when) => {
      const throws = (): never => {
        throw new Error('I am broken');
      };
      const broken: Protocol = {
        ...openaiChat(),
        createDecoder: () => ({ frame: throws, end: throws, whole: throws }),
      };
      const [type, body] =
        when === 'while it reads a stream' ? ['text/event-stream', 'data: {}\n\n'] : ['application/json', '{}'];
      await using server = await serveBytes((socket) => {
        socket.once('data', () =>
          socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
        );
      });
      const { events, error } = await readModel({ protocol: broken, http: nodeHttp({ env: {} }), baseUrl: server.url });
      expect(contractProblems(events)).toEqual([]);
      expect(error).toMatchObject({
        kind: 'other',
        retryable: false,
        message: expect.stringContaining('I am broken'),
      });
    },
  );
});

describe('the body of an answer that is complete', () => {
  const complete = async () => {
    const call = heldResponse();
    const events = streamOf(call.http);
    const first = events.next();
    call.respond(HEAD);
    call.chunk(answer);
    await first;
    for (let event = events.ready?.(); event !== undefined;) event = events.ready?.();
    await events.return?.();
    return call;
  };

  it('has a second to end', async () => {
    const call = await complete();
    await clock.advance(999);
    expect(call.isLeft()).toBe(false);
    await clock.advance(1);
    expect(call.isLeft()).toBe(true);
  });

  it.each<[string, (call: ReturnType<typeof heldResponse>) => void]>([
    ['ended', (call) => call.end()],
    ['broke off', (call) => call.fail(new Error('reset'))],
  ])('that %s is not cut off', async (_, then) => {
    const call = await complete();
    then(call);
    await clock.advance(5000);
    expect(call.isLeft()).toBe(false);
  });

  it('is cut off after 64 KiB', async () => {
    const call = await complete();
    for (let kilobytes = 0; kilobytes < 64; kilobytes++) call.chunk(new Uint8Array(1024));
    await clock.advance(0);
    await breath();
    expect(call.isLeft()).toBe(false);
    call.chunk(new Uint8Array(1));
    await breath();
    expect(call.isLeft()).toBe(true);
  });
});

/** Hands on bodies in pieces of a size, each in the same place as the one before. */
function inOnePlace(http: Http, size: number): Http {
  return async (request) => {
    const response = await http(request);
    const room = Buffer.alloc(size);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for await (const bytes of response.body) {
        for (let at = 0; at < bytes.length; at += size) {
          room.set(bytes.subarray(at, at + size));
          yield room.subarray(0, Math.min(size, bytes.length - at));
          room.fill(0xff);
        }
      }
    }
    return { ...response, body: pieces() };
  };
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
