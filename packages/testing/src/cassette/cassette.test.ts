import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Http } from '@treadle/core';
import type { HttpRequest } from '@treadle/core/ports';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  fakeProvider,
  parseCassette,
  readCassette,
  recordingFetch,
  recordingHttp,
  replayingFetch,
  replayingHttp,
  testClock,
} from '../index.ts';
import type { Cassette, RecordingOptions, ReplayOptions } from '../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'treadle-cassettes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function* streamed(chunks: readonly Uint8Array[], failure?: Error): AsyncGenerator<Uint8Array> {
  yield* chunks;
  if (failure !== undefined) throw failure;
}

/** An `Http` that answers with these chunks. */
const answering =
  (chunks: readonly Uint8Array[], headers: Record<string, string> = {}, failure?: Error): Http =>
  () =>
    Promise.resolve({ status: 200, headers, body: streamed(chunks, failure) });

const POST: HttpRequest = { method: 'POST', url: 'http://localhost/v1/x', headers: {}, body: '{}' };

async function read(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}

/** What one request through a recording leaves: its lines. */
async function record(
  http: Http,
  request: HttpRequest = POST,
  options: Partial<RecordingOptions> = {},
): Promise<string> {
  const lines: string[] = [];
  const recording = recordingHttp(http, { ...options, sink: (line) => lines.push(line) });
  const response = await recording(request);
  await read(response.body);
  await recording.settled();
  return lines.join('\n');
}

async function replay(
  cassette: Cassette,
  options: ReplayOptions = {},
  request: HttpRequest = POST,
): Promise<Uint8Array[]> {
  return read((await replayingHttp(cassette, options)(request)).body);
}

async function serving<Result>(handler: RequestListener, use: (url: string) => Promise<Result>): Promise<Result> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe('a recorded body', () => {
  const anyChunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });
  const text = fc.string({ unit: 'binary', maxLength: 40 }).map((string) => bytesOf(string.toWellFormed()));

  it('comes back byte for byte in the recorded chunks, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyChunks, fc.array(text, { maxLength: 8 })), async (chunks) => {
        const replayed = await replay(parseCassette(await record(answering(chunks))));
        const sent = chunks.filter((chunk) => chunk.length > 0);
        expect(replayed.map((chunk) => [...chunk])).toEqual(sent.map((chunk) => [...chunk]));
      }),
    );
  });

  it('comes back byte for byte at any chunking', async () => {
    const chunking = fc.oneof(
      fc.constantFrom('recorded' as const, 'whole' as const),
      fc.integer({ min: 1, max: 50 }),
      fc.record({ seed: fc.integer() }),
    );
    await fc.assert(
      fc.asyncProperty(anyChunks, chunking, async (chunks, how) => {
        const replayed = await replay(parseCassette(await record(answering(chunks))), { chunking: how });
        expect([...Buffer.concat(replayed)]).toEqual([...Buffer.concat(chunks)]);
        if (typeof how === 'number') expect(replayed.slice(0, -1).every((chunk) => chunk.length === how)).toBe(true);
        if (how === 'whole') expect(replayed.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is cut the same for the same seed, and otherwise for another', async () => {
    const cassette = parseCassette(await record(answering([bytesOf('x'.repeat(2000))])));
    const sizes = async (seed: number) => (await replay(cassette, { chunking: { seed } })).map((chunk) => chunk.length);
    expect(await sizes(1)).toEqual(await sizes(1));
    expect(await sizes(1)).not.toEqual(await sizes(2));
  });

  it('is readable text in the file where it is UTF-8, though a chunk ends inside a character', async () => {
    const bytes = bytesOf('{"text":"Grüße"}');
    const line = await record(answering([bytes.subarray(0, 12), bytes.subarray(12)]));
    expect(JSON.parse(line)).toMatchObject({ response: { body: '{"text":"Grüße"}', chunks: [12, bytes.length - 12] } });
  });

  it('keeps a byte order mark', async () => {
    const bytes = new Uint8Array([0xef, 0xbb, 0xbf, 0x61]);
    expect(Buffer.concat(await replay(parseCassette(await record(answering([bytes])))))).toEqual(Buffer.from(bytes));
  });

  it('is not changed by a transport that uses its buffer again', async () => {
    const buffer = bytesOf('one');
    async function* reused(): AsyncGenerator<Uint8Array> {
      yield buffer;
      buffer.set(bytesOf('two'));
      yield buffer;
    }
    const line = await record(() => Promise.resolve({ status: 200, headers: {}, body: reused() }));
    expect(JSON.parse(line)).toMatchObject({ response: { body: 'onetwo' } });
  });
});

describe('an end that is none', () => {
  it('is replayed: a connection that breaks in the middle breaks there again, with its code', async () => {
    const broken = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    const lines: string[] = [];
    const http = recordingHttp(answering([bytesOf('half')], {}, broken), { sink: (line) => lines.push(line) });
    await expect(http(POST).then(({ body }) => read(body))).rejects.toBe(broken);
    const replayed = (await replayingHttp(parseCassette(lines.join('\n')))(POST)).body[Symbol.asyncIterator]();
    expect((await replayed.next()).value).toEqual(bytesOf('half'));
    await expect(replayed.next()).rejects.toMatchObject({ message: 'socket hang up', code: 'ECONNRESET' });
  });

  it('is replayed: a host that could not be reached', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const lines: string[] = [];
    const http = recordingHttp(() => Promise.reject(refused), { sink: (line) => lines.push(line) });
    await expect(http(POST)).rejects.toBe(refused);
    await expect(replay(parseCassette(lines.join('\n')))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('is said: a recording whose reader left ends there, and not as if all had come', async () => {
    const lines: string[] = [];
    const http = recordingHttp(answering([bytesOf('a'), bytesOf('b')]), { sink: (line) => lines.push(line) });
    for await (const _chunk of (await http(POST)).body) break;
    await http.settled();
    expect(JSON.parse(lines.join('\n'))).toMatchObject({ end: 'left', response: { body: 'a' } });
    await expect(replay(parseCassette(lines.join('\n')))).rejects.toThrow('The recording ends here');
  });

  it('closes the connection when the reader of a recording leaves', async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield bytesOf('x');
      } finally {
        closed = true;
      }
    }
    const http = recordingHttp(() => Promise.resolve({ status: 200, headers: {}, body: endless() }), {
      sink: () => {},
    });
    for await (const _chunk of (await http(POST)).body) break;
    expect(closed).toBe(true);
  });

  it('is not waited for for ever', async () => {
    const clock = testClock();
    const http = recordingHttp(answering([bytesOf('a')]), { sink: () => {}, clock });
    await http({ ...POST, url: 'http://localhost/v1/unread?key=sixteen-letters!' });
    const outcome = http.settled().catch((error: unknown) => String(error));
    await clock.advance(10_000);
    expect(await outcome).toContain('POST http://localhost/v1/unread?key=redacted (request 1)');
  });
});

describe('the secrets of an exchange', () => {
  const CANARY = 'canary-0123456789/+==';
  const encodings: readonly (readonly [string, string])[] = [
    ['as it is', CANARY],
    ['in a URL', encodeURIComponent(CANARY)],
    ['in JSON with escaped slashes', CANARY.replaceAll('/', '\\/')],
  ];

  const expectClean = (text: string): void => {
    for (const [, form] of encodings) expect(text).not.toContain(form);
    expect(text).not.toContain('0123456789');
  };

  it.each([
    'authorization',
    'Authorization',
    'proxy-authorization',
    'x-api-key',
    'api-key',
    'x-goog-api-key',
    'x-amz-security-token',
    'x-amz-signature',
    'cookie',
    'ocp-apim-subscription-key',
    'x-auth-token',
    'x-client-secret',
  ])('are gone from the header %s, and from wherever its value turns up', async (name) => {
    const echo = bytesOf(`{"message":"Incorrect API key provided: ${CANARY}."}`);
    const value = name === 'cookie' ? `session=${CANARY}; theme=dark` : CANARY;
    const request = { ...POST, url: `http://localhost/v1/${encodeURIComponent(CANARY)}`, headers: { [name]: value } };
    expectClean(await record(answering([echo], { 'x-echo': CANARY }), request));
  });

  it.each(['Bearer', 'Basic'])('are found without their scheme %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${CANARY}` };
    expectClean(await record(answering([bytesOf(`no ${CANARY} here`)]), { ...POST, headers }));
  });

  it('are the signature and the key id of an AWS request', async () => {
    const headers = {
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAFAKEFAKEFAKEFAKE/20261121/us-east-1/bedrock/aws4_request, ' +
        'SignedHeaders=host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
      'x-amz-date': '20261121T030000Z',
      'x-amz-security-token': CANARY,
    };
    const echo = bytesOf(
      'The signature 5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7 of AKIAFAKEFAKEFAKEFAKE',
    );
    const line = await record(answering([echo]), { ...POST, headers });
    expectClean(line);
    expect(line).not.toMatch(/5d672d79|AKIAFAKE/);
    expect(line).toContain('20261121T030000Z');
  });

  it.each(['key', 'api_key', 'api-key', 'access_token', 'sig', 'X-Amz-Signature', 'X-Amz-Credential', 'code'])(
    'are gone from the parameter %s of the URL, and the others are not',
    async (name) => {
      const url = `http://localhost/v1/models?alt=sse&${name}=${encodeURIComponent(CANARY)}`;
      const line = await record(answering([bytesOf(CANARY)]), { ...POST, url });
      expectClean(line);
      expect(line).toContain(`alt=sse&${name}=redacted`);
    },
  );

  it('are gone from a URL with a user name and a password', async () => {
    const url = `http://someone-known:${encodeURIComponent(CANARY)}@localhost/v1/x`;
    const line = await record(answering([bytesOf(`someone-known ${CANARY}`)]), { ...POST, url });
    expectClean(line);
    expect(line).not.toContain('someone-known');
  });

  it('are gone from cookies that the server sets and addresses that it sends to', async () => {
    const headers = {
      'set-cookie': `id=${CANARY}; Path=/; HttpOnly; Secure`,
      location: `https://example.com/next?token=${encodeURIComponent(CANARY)}`,
    };
    const line = await record(answering([bytesOf(`Secure HttpOnly ${CANARY}`)], headers));
    expectClean(line);
    // What every cookie says is no secret.
    expect(line).toContain('Secure HttpOnly ****');
  });

  it.each([
    ['a JSON answer of a token service', `{"access_token": "${CANARY}", "expires_in": 3600}`],
    ['a JSON answer with escapes', `{"refresh_token":"a\\"${CANARY}","id_token":"${CANARY}"}`],
    ['a form', `grant_type=x&client_secret=${encodeURIComponent(CANARY)}&assertion=${encodeURIComponent(CANARY)}`],
  ])('are gone from %s', async (_what, body) => {
    expectClean(await record(answering([bytesOf(body)]), { ...POST, body }));
  });

  it.each(encodings)('are the values that you name, %s', async (_how, form) => {
    const request = { ...POST, body: JSON.stringify({ prompt: form }), headers: { 'x-note': form } };
    const line = await record(answering([bytesOf(`data: ${form}\n\n`)], { 'x-note': form }), request, {
      redact: { values: [CANARY] },
    });
    expectClean(line);
  });

  it('are the values of the headers that you name', async () => {
    const request = { ...POST, headers: { 'X-Tenant': CANARY } };
    expectClean(await record(answering([bytesOf(CANARY)]), request, { redact: { headers: ['x-tenant'] } }));
  });

  it('are found though the network cut them anywhere, and the cuts stay where they were', async () => {
    const bytes = bytesOf(`data: {"a":"${CANARY}","b":"${CANARY}ü"}\n\n`);
    for (let at = 1; at < bytes.length; at++) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      const line = await record(answering(chunks), POST, { redact: { values: [CANARY] } });
      expectClean(line);
      expect(JSON.parse(line)).toMatchObject({
        response: {
          chunks: [at, bytes.length - at],
          body: `data: {"a":"${'*'.repeat(21)}","b":"${'*'.repeat(21)}ü"}\n\n`,
        },
      });
    }
  });

  it('are found in bytes that are no text', async () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0x00]), Buffer.from(CANARY), Buffer.from([0x80])]);
    const line = await record(answering([bytes]), { ...POST, body: bytes }, { redact: { values: [CANARY] } });
    const [exchange] = parseCassette(line);
    for (const body of [exchange?.request.body, exchange?.response?.body]) {
      if (body === undefined || typeof body === 'string') throw new Error('These bytes are no text.');
      expect(Buffer.from(body.base64, 'base64').includes('0123456789')).toBe(false);
      expect(Buffer.from(body.base64, 'base64').subarray(0, 3)).toEqual(bytes.subarray(0, 3));
    }
  });

  it('are gone from the message of a failure', async () => {
    const lines: string[] = [];
    const http = recordingHttp(() => Promise.reject(new Error(`No such key: ${CANARY}`)), {
      sink: (line) => lines.push(line),
    });
    await expect(http({ ...POST, headers: { 'x-api-key': CANARY } })).rejects.toThrow(CANARY);
    expect(lines).toHaveLength(1);
    expectClean(lines.join());
  });

  it('leave counts, limits and short placeholders alone', async () => {
    const headers = {
      'x-ratelimit-remaining-tokens': '39999',
      'x-amzn-bedrock-input-token-count': '12',
      'request-id': 'req_1',
    };
    const request = { ...POST, headers: { authorization: 'Bearer none' }, body: '{"prompt":"none of them"}' };
    const line = await record(answering([bytesOf('none')], headers), request);
    expect(JSON.parse(line)).toMatchObject({
      request: { headers: { authorization: '[redacted]' }, body: '{"prompt":"none of them"}' },
      response: { headers, body: 'none' },
    });
  });

  it('must not be empty', () => {
    expect(() => recordingHttp(answering([]), { sink: () => {}, redact: { values: [''] } })).toThrow('empty');
  });

  it('stay out of the file whatever they are and wherever they stand', async () => {
    const secret = fc
      .string({ unit: 'grapheme', minLength: 8, maxLength: 30 })
      .filter((value) => /^\S(?:.*\S)?$/u.test(value));
    await fc.assert(
      fc.asyncProperty(
        secret,
        fc.string({ maxLength: 10 }),
        fc.integer({ min: 1, max: 30 }),
        async (value, around, size) => {
          const body = JSON.stringify({ text: `${around}${value}${around}` });
          const bytes = bytesOf(body);
          const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
            bytes.slice(at * size, (at + 1) * size),
          );
          const line = await record(answering(chunks), { ...POST, body }, { redact: { values: [value] } });
          const [exchange] = parseCassette(line);
          expect(exchange?.response?.body).toEqual(exchange?.request.body);
          expect(JSON.stringify(exchange?.response?.body)).not.toContain(JSON.stringify(value).slice(1, -1));
        },
      ),
    );
  });
});

describe('a cassette file', () => {
  it('has a line for each exchange, in the order of the requests, whichever ended first', async () => {
    const path = join(folder, 'deep', 'order.jsonl');
    let answer = (_text: string): void => {};
    const slow = new Promise<string>((resolve) => (answer = resolve));
    async function* later(): AsyncGenerator<Uint8Array> {
      yield bytesOf(await slow);
    }
    const http = recordingHttp(
      ({ url }) =>
        Promise.resolve({
          status: 200,
          headers: {},
          body: url.endsWith('slow') ? later() : streamed([bytesOf('fast')]),
        }),
      { path },
    );
    const first = http({ ...POST, url: 'http://localhost/slow' }).then(({ body }) => read(body));
    await http({ ...POST, url: 'http://localhost/fast' }).then(({ body }) => read(body));
    answer('slow');
    await first;
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(3);
    expect(readCassette(path).map(({ response }) => response?.body)).toEqual(['slow', 'fast']);
  });

  it('is replaced by the next recording', async () => {
    const path = join(folder, 'again.jsonl');
    for (const text of ['old', 'new']) {
      const http = recordingHttp(answering([bytesOf(text)]), { path });
      await read((await http(POST)).body);
    }
    expect(readCassette(path).map(({ response }) => response?.body)).toEqual(['new']);
  });

  it.each<[string, string, string]>([
    ['that is no JSON', 'no', 'line 1: not JSON'],
    ['of something else', '{"a":1}', 'it is no recorded exchange'],
    ['of a newer version', '{"cassette":2}', 'a newer version of Treadle (2)'],
    [
      'whose chunks are not its body',
      '{"cassette":1,"index":0,"request":{"method":"GET","url":"http://x/","headers":{}},"response":{"status":200,"headers":{},"body":"abc","chunks":[1]},"end":"done"}',
      'its chunks have 1 bytes and its body 3',
    ],
    [
      'without a response',
      '{"cassette":1,"index":0,"request":{"method":"GET","url":"http://x/","headers":{}},"end":"done"}',
      'it has no response',
    ],
  ])('is refused with a line %s', (_what, line, message) => {
    expect(() => parseCassette(`\n${line}\n`.trimStart(), 'tape.jsonl')).toThrow(message);
    expect(() => parseCassette(line)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });

  it('that is not there is named', () => {
    expect(() => replayingHttp(join(folder, 'missing.jsonl'))).toThrow("missing.jsonl can't be read");
  });
});

describe('a request to a recording', () => {
  const ask = (prompt: string, path = '/v1/messages'): HttpRequest => ({
    ...POST,
    url: `http://localhost:1${path}`,
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: prompt }] }),
  });

  const tape = async (...prompts: readonly string[]): Promise<Cassette> => {
    const lines: string[] = [];
    const http = recordingHttp(({ body }) => answering([bytesOf(`answer to ${String(body).length}`)])(POST), {
      sink: (line) => lines.push(line),
    });
    for (const prompt of prompts) await read((await http(ask(prompt))).body);
    return parseCassette(lines.join('\n'));
  };

  const answerTo = async (http: Http, request: HttpRequest): Promise<string> =>
    Buffer.concat(await read((await http(request)).body)).toString();

  it('is recorded and found again as text when its body comes as bytes', async () => {
    const whole = ask('ü');
    const bytes: HttpRequest = { ...whole, body: bytesOf(String(whole.body)) };
    const ofBytes = parseCassette(await record(answering([bytesOf('answer')]), bytes));
    expect(ofBytes).toEqual(parseCassette(await record(answering([bytesOf('answer')]), whole)));
    expect(await answerTo(replayingHttp(ofBytes, { match: 'request' }), whole)).toBe('answer');
    expect(await answerTo(replayingHttp(ofBytes, { match: 'request' }), bytes)).toBe('answer');
  });

  it('is answered in order, from any host, when its method and path are the recorded ones', async () => {
    const http = replayingHttp(await tape('a', 'bb'));
    const other = { ...ask('something else'), url: 'https://elsewhere.example/v1/messages' };
    expect([await answerTo(http, other), await answerTo(http, other)]).toEqual(['answer to 56', 'answer to 57']);
  });

  it('is refused in order when there is none left, or it goes elsewhere', async () => {
    const cassette = await tape('a');
    const http = replayingHttp(cassette);
    await answerTo(http, ask('a'));
    await expect(http(ask('b'))).rejects.toThrow(
      'The cassette has 1 exchanges, and this is request 2: POST /v1/messages.',
    );
    await expect(replayingHttp(cassette)(ask('a', '/v1/models'))).rejects.toThrow(
      'Request 1 is not the recorded one: recorded POST /v1/messages, now POST /v1/models.',
    );
  });

  it('is found by what it says, in any order, once', async () => {
    const http = replayingHttp(await tape('a', 'bb', 'a'), { match: 'request' });
    expect(await answerTo(http, ask('bb'))).toBe('answer to 57');
    expect(await answerTo(http, ask('a'))).toBe('answer to 56');
    expect(await answerTo(http, ask('a'))).toBe('answer to 56');
    await expect(http(ask('a'))).rejects.toThrow(
      'POST /v1/messages was recorded 2 time(s) like this and is asked for once more.',
    );
  });

  it('is refused with the place where it differs', async () => {
    const http = replayingHttp(await tape('Add one and two, please.'), { match: 'request' });
    await expect(http(ask('Add one and ten, please.'))).rejects.toThrow(
      'POST /v1/messages was not recorded like this. The nearest, exchange 1 of 1, differs in ' +
        'body.messages[0].content: recorded "Add one and two, please.", now "Add one and ten, please.".',
    );
    const hotter = {
      ...ask('x'),
      body: JSON.stringify({ ...(JSON.parse(String(ask('Add one and two, please.').body)) as object), temperature: 1 }),
    };
    await expect(http(hotter)).rejects.toThrow('body.temperature: recorded nothing, now 1');
    await expect(http({ ...ask('x'), url: 'http://localhost/v1/messages?beta=true' })).rejects.toThrow(
      "query: recorded '', now 'beta=true'",
    );
  });

  it('is refused in a way that nobody tries again', async () => {
    await expect(replayingHttp([])(POST)).rejects.toMatchObject({ code: 'invalid_definition' });
  });

  it('does not care about the order of keys, nor about secrets of another length', async () => {
    const secret = 'a-secret-of-the-recording';
    const body = `{"a":1,"note":"${secret}"}`;
    const line = await record(answering([bytesOf('ok')]), { ...POST, body, headers: { 'x-api-key': secret } });
    const http = replayingHttp(parseCassette(line), { match: 'request' });
    const now = { ...POST, body: '{"note":"another-secret","a":1}', headers: { 'x-api-key': 'another-secret' } };
    expect(await answerTo(http, now)).toBe('ok');
  });

  it('never shows a secret when it is refused', async () => {
    const http = replayingHttp(await tape('a'), { match: 'request' });
    const request = { ...ask('canary-9876543210'), headers: { authorization: 'Bearer canary-9876543210' } };
    const refusal = await http(request).catch((error: unknown) => String(error));
    expect(refusal).toContain('body.messages[0].content');
    expect(refusal).not.toContain('9876543210');
  });

  it('ends when it is cancelled', async () => {
    const cassette = await tape('a');
    const gone = new AbortController();
    gone.abort(new Error('enough'));
    await expect(replayingHttp(cassette)({ ...ask('a'), signal: gone.signal })).rejects.toThrow('enough');
  });

  it('takes as long as it took, when wanted', async () => {
    const clock = testClock();
    async function* slowly(): AsyncGenerator<Uint8Array> {
      for (const text of ['a', 'b']) {
        await clock.advance(300);
        yield bytesOf(text);
      }
    }
    const line = await record(() => Promise.resolve({ status: 200, headers: {}, body: slowly() }), POST, {
      timings: true,
      clock,
    });
    const start = clock.now();
    const seen: [string, number][] = [];
    const replayed = (async () => {
      const { body } = await replayingHttp(parseCassette(line), { timings: true, clock })(POST);
      for await (const chunk of body) seen.push([Buffer.from(chunk).toString(), clock.now() - start]);
    })();
    await clock.advance(1000);
    await replayed;
    expect(seen).toEqual([
      ['a', 300],
      ['b', 600],
    ]);
  });

  it.each([0, -1, 1.5, Number.NaN])('is refused a chunking of %s', (chunking) => {
    expect(() => replayingHttp([], { chunking })).toThrow('give a whole number from 1 on');
  });
});

describe('a recorded fetch', () => {
  it('replays what a real server sent, in its chunks, with status, headers and address', async () => {
    const path = join(folder, 'fetch.jsonl');
    const secret = 'a-key-nobody-may-see';
    const bytes = Buffer.from([0, 1, 2, 0xff, 0x80]);
    const handler: RequestListener = (request, response) => {
      request.resume().on('end', () => {
        response.writeHead(201, { 'content-type': 'application/octet-stream', 'x-made': 'here' });
        response.end(bytes);
      });
    };
    const post = (fetch: typeof globalThis.fetch, url: string): Promise<Response> =>
      fetch(`${url}/v1/files?key=${secret}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}` },
        body: bytes,
      });
    await serving(handler, async (url) => {
      const recording = recordingFetch(fetch, { path });
      const response = await post(recording, url);
      expect(response.url).toBe(`${url}/v1/files?key=${secret}`);
      expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
      await recording.settled();
    });
    expect(readFileSync(path, 'utf8')).not.toContain(secret);
    const replayed = await post(replayingFetch(path, { match: 'request' }), 'http://nowhere.example');
    expect([replayed.status, replayed.headers.get('x-made')]).toEqual([201, 'here']);
    expect(Buffer.from(await replayed.arrayBuffer())).toEqual(bytes);
  });

  it('takes requests and responses without bodies, and a request object', async () => {
    const lines: string[] = [];
    await serving(
      (_request, response) => response.writeHead(204).end(),
      async (url) => {
        const recording = recordingFetch(fetch, { sink: (line) => lines.push(line) });
        expect((await recording(new Request(`${url}/gone`, { method: 'DELETE' }))).status).toBe(204);
        await recording.settled();
      },
    );
    const replayed = await replayingFetch(parseCassette(lines.join('\n')))('http://localhost/gone', {
      method: 'DELETE',
    });
    expect([replayed.status, await replayed.text()]).toEqual([204, '']);
  });

  it('records and replays a connection that fails', async () => {
    const lines: string[] = [];
    const recording = recordingFetch(fetch, { sink: (line) => lines.push(line) });
    await serving(
      (request) => request.socket.destroy(),
      async (url) => expect(recording(url)).rejects.toThrow('fetch failed'),
    );
    const replaying = replayingFetch(parseCassette(lines.join('\n')));
    await expect(replaying('http://localhost/')).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed' });
  });

  it('streams: each event is there before the next one came', async () => {
    const provider = await fakeProvider(['Hello, world, this is a stream.']);
    const lines: string[] = [];
    const recording = recordingFetch(fetch, { sink: (line) => lines.push(line) });
    const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const live = await (await recording(`${provider.openaiBaseUrl}/chat/completions`, init)).text();
    await recording.settled();
    await provider.close();
    const replayed = await replayingFetch(parseCassette(lines.join('\n')), { chunking: 1 })(
      `http://x/v1/chat/completions`,
      init,
    );
    expect(await replayed.text()).toBe(live);
  });

  it('closes the connection when the reader leaves', async () => {
    const closed = await serving(
      (_request, response) => {
        response.writeHead(200);
        response.write('first');
      },
      async (url) => {
        const recording = recordingFetch(fetch, { sink: () => {} });
        const reader = (await recording(url)).body?.getReader();
        expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first');
        await reader?.cancel();
        await recording.settled();
        return true;
      },
    );
    expect(closed).toBe(true);
  });
});
