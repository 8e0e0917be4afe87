import { describe, expect, it } from 'vitest';
import { createClient, type ClientOptions, type StreamMessage } from './index.ts';

/** A server made of answers: what each request is answered with, and what the requests said. */
function answering(...answers: readonly (() => Response | Promise<Response>)[]) {
  const asked: { readonly url: string; readonly lastId: string | null }[] = [];
  const waits: number[] = [];
  const left = [...answers];
  const options: ClientOptions = {
    url: 'http://server.test/',
    token: 'token-of-the-client',
    fetch: async (input, init) => {
      asked.push({ url: new Request(input).url, lastId: new Headers(init?.headers).get('last-event-id') });
      const next = left.shift();
      if (!next) throw new TypeError('The server is gone.');
      return next();
    },
    retryDelayMs(failures) {
      waits.push(failures);
      return 0;
    },
  };
  return { session: createClient(options).session('s1'), asked, waits };
}

const event = (seq: number): string => `id: ${seq}\ndata: ${JSON.stringify({ type: 'turn_ended', seq })}\n\n`;
const stream =
  (...parts: readonly string[]) =>
  () =>
    new Response(parts.join(''), { headers: { 'content-type': 'text/event-stream' } });
const broken = (text: string) => () =>
  new Response(
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
      },
      pull: (controller) => controller.error(new TypeError('The connection broke.')),
    }),
  );
const removed = `data: {"type":"closing","reason":"removed"}\n\n`;
const problem = (status: number, code: string) => () =>
  new Response(JSON.stringify({ code, detail: 'No.' }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });

async function seqs(messages: AsyncIterable<StreamMessage>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const message of messages) seen.push('seq' in message.event ? message.event.seq : message.event.type);
  return seen;
}

describe('a stream', () => {
  it('comes back after the last event it has told, however its connection ended', async () => {
    const { session, asked } = answering(
      stream(event(1), event(2)),
      broken(event(3)),
      // Cut in the middle of an event: what has no end was not told.
      stream(event(4), 'id: 5\ndata: {"type":'),
      stream(event(5), `data: {"type":"closing","reason":"draining"}\n\n`),
      stream(event(6), removed),
    );
    expect(await seqs(session.stream())).toEqual([1, 2, 3, 4, 5, 6]);
    expect(asked.map(({ lastId }) => lastId)).toEqual([null, '2', '3', '4', '5']);
    expect(new Set(asked.map(({ url }) => url))).toEqual(new Set(['http://server.test/v1/sessions/s1/stream']));
  });

  it('waits longer from failure to failure, and as at first once it was told something', async () => {
    const down = () => Promise.reject(new TypeError('No route.'));
    const { session, waits } = answering(
      down,
      problem(503, 'draining'),
      problem(429, 'too_many_requests'),
      stream(),
      stream(event(1)),
      down,
      stream(removed),
    );
    expect(await seqs(session.stream())).toEqual([1]);
    expect(waits).toEqual([0, 1, 2, 3, 0, 1]);
  });

  it('goes on after an id that was kept', async () => {
    const { session, asked } = answering(stream(removed));
    await seqs(session.stream({ after: '7~msg_1~1~0~t0.5' }));
    expect(asked).toMatchObject([{ lastId: '7~msg_1~1~0~t0.5' }]);
  });

  it.each([
    [401, 'unauthorized'],
    [404, 'session_not_found'],
    [400, 'invalid_cursor'],
  ])('does not ask again for what will not pass: %i', async (status, code) => {
    const { session, asked } = answering(problem(status, code));
    await expect(seqs(session.stream())).rejects.toMatchObject({ status, code });
    expect(asked).toHaveLength(1);
  });

  it('ends with its signal, while it is told something and while it waits', async () => {
    const control = new AbortController();
    const { session } = answering(stream(event(1), event(2)));
    const seen: unknown[] = [];
    for await (const message of session.stream({ signal: control.signal })) {
      seen.push(message.id);
      control.abort();
    }
    expect(seen).toEqual(['1']);
    const waiting = new AbortController();
    const { session: other } = answering(() => {
      waiting.abort();
      return Promise.reject(new TypeError('No route.'));
    });
    expect(await seqs(other.stream({ signal: waiting.signal }))).toEqual([]);
  });
});

describe('a request', () => {
  it('that starts something is made again under the same key until it is answered', async () => {
    const keys: (string | null)[] = [];
    let attempts = 0;
    const client = createClient({
      url: 'http://server.test',
      token: 'token-of-the-client',
      retryDelayMs: () => 0,
      fetch: async (_, init) => {
        keys.push(new Headers(init?.headers).get('idempotency-key'));
        attempts += 1;
        if (attempts < 3) throw new TypeError('The answer was lost.');
        return Response.json({ sessionId: 's1' }, { status: 201 });
      },
    });
    expect((await client.createSession()).id).toBe('s1');
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(3);
  });

  it('that reads is made once, and its failure told', async () => {
    const { session, asked } = answering(problem(503, 'journal_failed'));
    await expect(session.read()).rejects.toMatchObject({ status: 503, code: 'journal_failed' });
    expect(asked).toHaveLength(1);
  });
});
