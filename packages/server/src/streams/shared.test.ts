import { connect, type AddressInfo } from 'node:net';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { expect, it, describe, onTestFinished } from 'vitest';
import type { Encoder, StreamEvent, StreamFormat } from '../encoders/encoder.ts';
import { nativeFormat } from '../encoders/native.ts';
import { isRunEnd, sse, until } from '../test-support/events.ts';
import { startServer } from '../test-support/server.ts';
import { steppedModel } from '../test-support/stepped-model.ts';
import { nodeSink } from './response-sink.ts';

const WATCHERS = 40;

/** The native format, and how often each kind of event was written in it. */
function counted(stateless: boolean): { readonly format: StreamFormat; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const native = nativeFormat.encoder();
  const encoder: Encoder = {
    ...native,
    event(event: StreamEvent) {
      counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
      return native.event(event);
    },
  };
  return { format: { ...nativeFormat, name: 'counted', stateless, encoder: () => encoder }, counts };
}

/** One run of three deltas, followed by many from before it begins. */
async function watched(format: StreamFormat): Promise<string[]> {
  const model = steppedModel();
  const server = await startServer({ model }, { formats: [format] });
  await server.call('POST', '/v1/sessions', { id: 's1' });
  const open = async () => {
    const messages = sse(await server.call('GET', `/v1/sessions/s1/stream?format=${format.name}`));
    // The first event of the log: what comes next it is told as it happens.
    const next = await messages.next();
    return { messages, first: next.done === true ? null : next.value.event.type };
  };
  const streams = await Promise.all(Array.from({ length: WATCHERS }, open));
  expect(new Set(streams.map(({ first }) => first))).toEqual(new Set(['session_created']));
  await server.call('POST', '/v1/sessions/s1/runs', { input: 'Hi' });
  await model.asked;
  for (const text of ['One ', 'two ', 'three.']) model.say(text);
  model.finish();
  const told = await Promise.all(streams.map(({ messages }) => until(messages, isRunEnd)));
  return told.map((messages) => JSON.stringify(messages));
}

describe('an event that many follow', () => {
  it('is written once for all of them in a format that keeps nothing, and all are told the same', async () => {
    const { format, counts } = counted(true);
    const told = await watched(format);
    expect(told).toHaveLength(WATCHERS);
    expect(new Set(told).size).toBe(1);
    // What is past is read, and written, by each that comes.
    counts.delete('session_created');
    expect(Object.fromEntries(counts)).toEqual({
      input_received: 1,
      drive_started: 1,
      run_started: 1,
      turn_started: 1,
      message_started: 1,
      message_delta: 3,
      message_added: 2,
      turn_ended: 1,
      run_ended: 1,
    });
  });

  it('is written by each connection’s own encoder in a format that keeps something', async () => {
    const { format, counts } = counted(false);
    await watched(format);
    expect(counts.get('message_delta')).toBe(3 * WATCHERS);
  });
});

describe('a response that is streamed to', () => {
  const TEXTS = ['first', 'ünïcödé ✓ 𝄞', 'x'.repeat(100_000), 'last'];

  /** What a client gets of texts that are written to a response one by one. */
  async function streamed(prepare: (response: ServerResponse) => void, http10 = false): Promise<string> {
    const server = createServer((_, response) => {
      prepare(response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const sink = nodeSink(response);
      const tell = (rest: readonly string[]): void => {
        const [text, ...others] = rest;
        if (text === undefined) return sink.close('finished');
        sink.send([{ data: text }], null);
        void sink.drained().then(() => setImmediate(tell, others));
      };
      tell(TEXTS);
    });
    if (http10) server.on('request', (request) => expect(request.httpVersion).toBe('1.0'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    if (!http10) return (await fetch(`http://127.0.0.1:${port}/`)).text();
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    socket.write('GET / HTTP/1.0\r\nhost: localhost\r\n\r\n');
    let all = '';
    for await (const piece of socket) all += String(piece);
    return all.slice(all.indexOf('\r\n\r\n') + 4);
  }

  const whole = TEXTS.map((text) => `data: ${text}\n\n`).join('');

  it('has each text once and whole', async () => {
    expect(await streamed(() => {})).toBe(whole);
  });

  it('goes through whatever stands in front of it', async () => {
    let written = 0;
    const text = await streamed((response) => {
      const write = response.write.bind(response);
      response.write = (chunk: string) => {
        written += 1;
        return write(chunk);
      };
    });
    expect(text).toBe(whole);
    expect(written).toBe(TEXTS.length);
  });

  it('has no chunks for a client that knows none', async () => {
    expect(await streamed(() => {}, true)).toBe(whole);
  });

  it('is only its headers when nothing else is asked for', async () => {
    const server = await startServer({ model: steppedModel() });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const response = await server.call('HEAD', '/v1/sessions/s1/stream');
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ]);
  });
});
