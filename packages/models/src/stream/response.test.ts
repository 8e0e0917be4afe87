import type { Http, ModelError } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import type { HttpResponse } from '@treadle/core/ports';
import { describe, expect, it } from 'vitest';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import { readModel, sse, utf8 } from '../test-support/streams.ts';

// What a transport of others may get wrong. Nothing here may be left for nobody to catch: the test run would fail of it.

const HEADERS = { 'content-type': 'text/event-stream' };
const ANSWER = utf8(sse({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] }, '[DONE]'));

async function* answer(): AsyncGenerator<Uint8Array> {
  yield ANSWER;
}

const bodyThat = (next: () => unknown): unknown => ({ [Symbol.asyncIterator]: () => ({ next }) });

const eventsOf = async (response: unknown): Promise<readonly ModelEvent[]> => {
  const http: Http = () => Promise.resolve(response as HttpResponse);
  return (await readModel({ protocol: openaiChat(), http })).events;
};

describe('a transport that resolves with', () => {
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'its `body` must be an AsyncIterable of Uint8Array'],
    ['null', null, 'its `body` must be an AsyncIterable of Uint8Array'],
    ['no body', { status: 200, headers: HEADERS }, 'its `body` must be an AsyncIterable of Uint8Array'],
    ['a list as its body', { status: 200, headers: HEADERS, body: [ANSWER] }, 'its `body` must be an AsyncIterable'],
    ['no headers', { status: 200, body: answer() }, 'its `headers` must be an object'],
    ['headers that are null', { status: 200, headers: null, body: answer() }, 'its `headers` must be an object'],
    [
      'a content type in a list',
      { status: 200, headers: { 'content-type': ['text/event-stream'] }, body: answer() },
      '`content-type` in its `headers` must be a string',
    ],
  ])('%s is an error event that says so', async (_, response, message) => {
    const events = await eventsOf(response);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: 'error', error: { kind: 'other', retryable: false } });
    expect(JSON.stringify(events)).toContain(message);
  });

  it.each<[number, Partial<ModelError>]>([
    [204, { kind: 'other', status: 204, retryable: false }],
    [200, { kind: 'network', retryable: true }],
    [500, { kind: 'api', status: 500, retryable: true }],
  ])('the status %i and null as its body, as fetch does, answered with an empty one', async (status, error) => {
    expect(await eventsOf({ status, headers: HEADERS, body: null })).toMatchObject([{ type: 'error', error }]);
  });

  it.each<[string, unknown]>([
    ['can not be iterated', { [Symbol.asyncIterator]: () => raise() }],
    ['throws when it is read', bodyThat(() => raise())],
    ['gives no promise', bodyThat(() => ({ done: true, value: undefined }))],
    ['gives a promise of nothing', bodyThat(() => Promise.resolve())],
  ])('a body that %s is an error event', async (_, body) => {
    const events = await eventsOf({ status: 200, headers: HEADERS, body });
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'network', retryable: true } }]);
  });

  it('a body without bytes in it is an error event', async () => {
    let asked = 0;
    const body = bodyThat(() => Promise.resolve(++asked === 1 ? { done: false } : { done: true }));
    const events = await eventsOf({ status: 200, headers: HEADERS, body });
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'other', retryable: false } }]);
  });

  it('a body that throws when it is left has been left, and its request is aborted', async () => {
    let signal: AbortSignal | undefined;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false, value: utf8(sse({ error: { message: 'No.' } })) }),
        return: () => raise(),
      }),
    };
    const http: Http = (request) => {
      signal = request.signal;
      return Promise.resolve({ status: 200, headers: HEADERS, body } as unknown as HttpResponse);
    };
    const { events } = await readModel({ protocol: openaiChat(), http });
    expect(events).toMatchObject([{ type: 'error', error: { message: 'No.' } }]);
    expect(signal?.aborted).toBe(true);
  });

  it('something that is no response has its request aborted', async () => {
    let signal: AbortSignal | undefined;
    const http: Http = (request) => {
      signal = request.signal;
      return Promise.resolve({ status: 200, body: answer() } as unknown as HttpResponse);
    };
    await readModel({ protocol: openaiChat(), http });
    expect(signal?.aborted).toBe(true);
  });
});

function raise(): never {
  throw new Error('It broke.');
}
