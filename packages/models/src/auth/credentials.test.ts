import type { IncomingMessage } from 'node:http';
import { type ModelError, TreadleError } from '@treadle/core';
import { fakeProvider, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelOptions } from '../deployments/deployment.ts';
import { openai } from '../deployments/openai.ts';
import { nodeHttp } from '../http/node-http.ts';
import { bodyText } from '../test-support/body.ts';
import { received, serve } from '../test-support/servers.ts';
import { REQUEST } from '../test-support/streams.ts';
import type { CredentialProvider, UnauthorizedRequest } from './credentials.ts';

const http = nodeHttp({ env: {} });

interface Answer {
  readonly text: string;
  readonly error: ModelError | undefined;
}

/** What a model of Chat Completions with these credentials answers. */
async function ask(baseUrl: string, credentials: CredentialProvider, options: ModelOptions = {}): Promise<Answer> {
  const model = openai('m', { baseUrl, credentials, http, env: {}, ...options });
  let text = '';
  let error: ModelError | undefined;
  for await (const event of model.stream({ ...REQUEST, messages: [] }, new AbortController().signal)) {
    if (event.type === 'text_delta') text += event.text;
    if (event.type === 'error') ({ error } = event);
  }
  return { text, error };
}

/** Tokens that are numbered, each new one after the one before was forgotten. */
function numbered(): { readonly provider: CredentialProvider; readonly invalidations: () => number } {
  let number = 1;
  return {
    provider: {
      authorize: () => Promise.resolve({ Authorization: `Bearer token-${number}` }),
      invalidate() {
        number++;
      },
    },
    invalidations: () => number - 1,
  };
}

/** A server that takes one token only. */
const taking = (token: string) => {
  const seen: (string | undefined)[] = [];
  const server = serve((request, response) => {
    seen.push(request.headers.authorization);
    const right = request.headers.authorization === `Bearer ${token}`;
    response.writeHead(right ? 200 : 401, { 'content-type': right ? 'text/event-stream' : 'application/json' });
    response.end(
      right
        ? 'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        : JSON.stringify({ error: { message: `No: ${request.headers.authorization ?? ''}` } }),
    );
  });
  return { seen, server };
};

describe('credentials that are asked for', () => {
  it('are those of the request, with the bytes that are sent', async () => {
    const asked: UnauthorizedRequest[] = [];
    const sent: { headers: IncomingMessage['headers']; body: string }[] = [];
    await using server = await serve((request, response) => {
      void received(request).then((body) => {
        sent.push({ headers: request.headers, body });
        response.writeHead(500).end();
      });
    });
    const credentials: CredentialProvider = {
      authorize(request) {
        asked.push(request);
        return { 'X-Signature': `of ${bodyText(request.body).length} characters`, accept: 'nothing' };
      },
    };
    await ask(server.url, credentials, { headers: { 'x-mine': '1' } });
    const [request] = asked;
    expect(request).toMatchObject({ method: 'POST', url: `${server.url}/v1/chat/completions` });
    expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'x-mine': '1' });
    expect(bodyText(request?.body)).toBe(sent[0]?.body);
    expect(sent[0]?.headers).toMatchObject({ accept: 'nothing', 'x-mine': '1' });
    expect(sent[0]?.headers['x-signature']).toBe(`of ${sent[0]?.body.length} characters`);
    expect(sent[0]?.headers).not.toHaveProperty('authorization');
  });

  it('that are refused are forgotten once, and the request is sent once more', async () => {
    const { provider, invalidations } = numbered();
    const { seen, server } = taking('token-2');
    await using running = await server;
    expect(await ask(running.url, provider)).toEqual({ text: 'Hello', error: undefined });
    expect(seen).toEqual(['Bearer token-1', 'Bearer token-2']);
    expect(await ask(running.url, provider)).toMatchObject({ text: 'Hello' });
    expect(invalidations()).toBe(1);
  });

  it('that are refused twice are an error, which doesn’t show them', async () => {
    const { provider, invalidations } = numbered();
    const { seen, server } = taking('another');
    await using running = await server;
    const { error } = await ask(running.url, provider);
    expect(error).toMatchObject({ kind: 'auth', status: 401, retryable: false, message: 'No: [redacted]' });
    expect(error?.excerpt).not.toContain('token-2');
    expect(seen).toHaveLength(2);
    expect(invalidations()).toBe(1);
  });

  it('are forgotten once by requests that were refused together', async () => {
    const { provider, invalidations } = numbered();
    const { server } = taking('token-2');
    await using running = await server;
    const answers = await Promise.all([1, 2, 3].map(() => ask(running.url, provider)));
    expect(answers.map(({ text }) => text)).toEqual(['Hello', 'Hello', 'Hello']);
    expect(invalidations()).toBe(1);
  });

  it('that can not be forgotten are not tried again', async () => {
    const { seen, server } = taking('another');
    await using running = await server;
    const { error } = await ask(running.url, { authorize: () => ({ authorization: 'Bearer mine' }) });
    expect(error?.kind).toBe('auth');
    expect(seen).toEqual(['Bearer mine']);
  });

  it('are not asked for another reason than a refusal', async () => {
    const { provider, invalidations } = numbered();
    await using running = await fakeProvider([{ error: { status: 500 } }], { validate: false });
    expect((await ask(running.openaiBaseUrl, provider)).error?.status).toBe(500);
    expect([running.requests.length, invalidations()]).toEqual([1, 0]);
  });

  it.each([
    ['at once', () => { throw new Error('No login. token=supersecretvalue'); }],
    ['later', () => Promise.reject(new Error('No login. token=supersecretvalue'))],
  ])('that fail %s end the call, with the reason and without secrets', async (_, authorize) => {
    const { error } = await ask('http://localhost:1', { authorize });
    expect(error).toMatchObject({ kind: 'auth', retryable: false });
    expect(error?.message).toMatch(/^No credentials for this request: No login\./);
  }); // prettier-ignore

  it('that fail for the network’s sake may be tried again', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const { error } = await ask('http://localhost:1', { authorize: () => Promise.reject(refused) });
    expect(error).toMatchObject({ kind: 'network', retryable: true, code: 'ECONNREFUSED' });
  });

  it('that need something installed say so', async () => {
    const missing = new TreadleError('invalid_definition', 'Install it.');
    const { error } = await ask('http://localhost:1', { authorize: () => Promise.reject(missing) });
    expect(error).toMatchObject({ kind: 'other', retryable: false, message: 'Install it.' });
  });

  it('that take forever are given up', async () => {
    const clock = testClock();
    let left: AbortSignal | undefined;
    const credentials: CredentialProvider = {
      authorize: (_request, signal) => {
        left = signal;
        return new Promise(() => {});
      },
    };
    const answer = ask('http://localhost:1', credentials, { clock });
    while (left === undefined) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
    expect((await answer).error).toMatchObject({ kind: 'auth' });
    expect(left.aborted).toBe(true);
  });

  it('are told when nobody waits for them any more', async () => {
    let left: AbortSignal | undefined;
    const credentials: CredentialProvider = {
      authorize: (_request, signal) => {
        left = signal;
        return new Promise(() => {});
      },
    };
    const abort = new AbortController();
    const model = openai('m', { baseUrl: 'http://localhost:1', credentials, http, env: {} });
    const events = model.stream(REQUEST, abort.signal)[Symbol.asyncIterator]();
    const first = events.next();
    while (left === undefined) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect((await first).value).toMatchObject({ type: 'error', error: { kind: 'cancelled' } });
    expect(left.aborted).toBe(true);
  });
});
