import { connect as connectSocket } from 'node:net';
import { defineTool, memoryJournal, type Journal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { Frame, StreamFormat } from '../encoders/encoder.ts';
import { isRunEnd, sse, streamedTexts, until, type Message, type Told } from '../test-support/events.ts';
import { startServer, type TestServer } from '../test-support/server.ts';
import { steppedModel } from '../test-support/stepped-model.ts';

const STREAM = '/v1/sessions/s1/stream';
const look = defineTool({ name: 'look', description: 'Looks.', replay: 'safe', execute: () => 'seen' });

async function open(server: TestServer, lastId?: string | null): Promise<AsyncGenerator<Message>> {
  const headers = lastId == null ? {} : { 'last-event-id': lastId };
  return sse(await server.call('GET', STREAM, undefined, headers));
}

async function start(server: TestServer, input = 'Hi'): Promise<void> {
  await server.call('POST', '/v1/sessions', { id: 's1' });
  await server.call('POST', '/v1/sessions/s1/runs', { input });
}

const seqs = (events: readonly Told[]): number[] => events.flatMap((event) => ('seq' in event ? [event.seq] : []));
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

describe('a stream', () => {
  it('V1: goes on after any event it was dropped at, without gap or repeat', async () => {
    const turn = { thinking: 'Hm, let me see.', text: 'I look around the house.', toolCalls: [{ name: 'look' }] };
    const server = await startServer({
      model: scriptedModel([turn, 'There is a cat on the roof, and it is asleep.'], { chunkSize: 4 }),
      tools: [look],
    });
    await start(server);
    const whole = await until(await open(server), isRunEnd);
    const last = whole.at(-1)?.event;
    for (const { id } of whole.slice(0, -1)) {
      const rest = await until(await open(server, id), isRunEnd);
      const from = Number(id?.split('~')[0]);
      expect(seqs(rest.map(({ event }) => event))).toEqual(upTo(last && 'seq' in last ? last.seq : 0).slice(from));
    }
  });

  it('V1: goes on in the middle of a message, which then is whole', async () => {
    const model = steppedModel();
    const server = await startServer({ model });
    await start(server);
    const first = await open(server);
    await model.asked;
    model.say('Once upon ');
    const seen = await until(first, ({ type }) => type === 'message_delta');
    model.say('a time ');
    const second = await until(await open(server, seen.at(-1)?.id), ({ type }) => type === 'message_delta');
    expect(second.map(({ event }) => event.type)).toEqual(['message_delta']);
    model.say('there was');
    const third = await open(server, second.at(-1)?.id);
    model.say(' a fox.');
    model.finish();
    const rest = await until(third, isRunEnd);
    const events = [...seen, ...second, ...rest].map(({ event }) => event);
    expect([...streamedTexts(events).values()]).toEqual(['Once upon a time there was a fox.']);
    expect(seqs(events)).toEqual(upTo(seqs(events).at(-1) ?? 0));
  });

  it('V1: tells the rest of a message that ended while the reader was away, and then the message', async () => {
    const model = steppedModel();
    const server = await startServer({ model });
    await start(server);
    const first = await open(server);
    await model.asked;
    model.say('Once upon ');
    const seen = await until(first, ({ type }) => type === 'message_delta');
    model.say('a time.');
    model.finish();
    await until(await open(server), isRunEnd);
    const rest = await until(await open(server, seen.at(-1)?.id), isRunEnd);
    expect(rest.map(({ event }) => event.type)).toEqual(['message_delta', 'message_added', 'turn_ended', 'run_ended']);
    expect([...streamedTexts([...seen, ...rest].map(({ event }) => event)).values()]).toEqual(['Once upon a time.']);
  });

  it('V1: begins a message anew for a reader who knows a part of it that was voided', async () => {
    const model = steppedModel();
    const server = await startServer({ model });
    await start(server);
    const first = await open(server);
    await model.asked;
    model.say('Once upon ');
    const seen = await until(first, ({ type }) => type === 'message_delta');
    model.restart();
    model.say('It was night.');
    const rest = await until(await open(server, seen.at(-1)?.id), ({ type }) => type === 'message_delta');
    expect(rest.map(({ event }) => event.type)).toEqual(['message_started', 'message_delta']);
    expect([...streamedTexts([...seen, ...rest].map(({ event }) => event)).values()]).toEqual(['It was night.']);
  });

  it('V1: gives a snapshot to a reader who is too far behind, and goes on from there', async () => {
    const server = await startServer({ model: scriptedModel(['One.', 'Two.']) }, { limits: { replayEvents: 5 } });
    await start(server);
    const seen = await until(await open(server), ({ type }) => type === 'snapshot' || type === 'run_ended');
    await until(await open(server, '8'), isRunEnd);
    const [snapshot] = await until(await open(server, '1'), ({ type }) => type === 'snapshot');
    expect(snapshot?.event).toMatchObject({ type: 'snapshot', sessionId: 's1', status: 'idle', pending: [] });
    expect(snapshot?.event.type === 'snapshot' && snapshot.event.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
    ]);
    const behind = snapshot?.event.type === 'snapshot' ? snapshot.event.seq : 0;
    expect(snapshot?.id).toBe(String(behind));
    await server.call('POST', '/v1/sessions/s1/steering', { input: 'More.' });
    const [next] = await until(await open(server, snapshot?.id), () => true);
    expect(next?.event).toMatchObject({ seq: behind + 1, type: 'input_received' });
    expect(seen.length).toBeGreaterThan(0);
  });

  it.each(['forged', '99999', '-1', '2~msg~x'])('V1: refuses the forged id %s', async (id) => {
    const server = await startServer({ model: scriptedModel([]) });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const response = await server.call('GET', STREAM, undefined, { 'last-event-id': id });
    expect(await response.json()).toMatchObject({ status: 400, code: 'invalid_cursor' });
  });

  it('V2: that is closed cancels nothing, and a run is cancelled from another connection', async () => {
    const model = steppedModel();
    const server = await startServer({ model });
    await start(server);
    await model.asked;
    model.say('On and ');
    const seen = await until(await open(server), ({ type }) => type === 'message_delta');
    model.say('on');
    expect(await server.json('GET', '/v1/sessions/s1')).toMatchObject({ status: 'running' });
    const again = await open(server, seen.at(-1)?.id);
    await server.call('POST', '/v1/sessions/s1/cancel', { reason: 'Enough.' });
    const rest = await until(again, isRunEnd);
    expect(rest.at(-1)?.event).toMatchObject({ status: 'aborted' });
    expect([...streamedTexts([...seen, ...rest].map(({ event }) => event)).values()]).toEqual(['On and on']);
  });

  it('V3: drops a reader that takes nothing, which goes on later; the run and other readers are not held up', async () => {
    const text = 'x'.repeat(300_000);
    const records: { readonly event: string }[] = [];
    const model = scriptedModel(
      Array.from({ length: 24 }, (_, turn) => (turn < 23 ? { text, toolCalls: [{ name: 'look' }] } : 'End.')),
      {
        chunkSize: 300_000,
        record: false,
      },
    );
    const server = await startServer(
      { model, tools: [look], loopDetection: false },
      { limits: { streamBytes: 100_000, streamStallMs: 1000 }, log: (record) => records.push(record) },
    );
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const slow = connectSocket(server.port, '127.0.0.1');
    onTestFinished(() => void slow.destroy());
    slow.write(`GET ${STREAM} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.bearer}\r\n\r\n`);
    const head = await new Promise<string>((resolve) => slow.once('data', (bytes) => resolve(bytes.toString())));
    const gone = new Promise<void>((resolve) => slow.once('close', () => resolve()));
    slow.on('error', () => {});
    slow.pause();
    expect(head).toContain('200 OK');
    await server.call('POST', '/v1/sessions/s1/runs', { input: 'Go.' });
    const whole = await until(await open(server), isRunEnd);
    expect(whole.at(-1)?.event).toMatchObject({ status: 'completed' });
    await expect.poll(() => records.map(({ event }) => event)).toContain('stream_too_slow');
    let taken = head;
    slow.on('data', (bytes) => (taken += bytes.toString()));
    slow.resume();
    await gone;
    const lastId = [...taken.matchAll(/^id: (\S+)\n/gm)].at(-1)?.[1];
    const rest = await until(await open(server, lastId), isRunEnd);
    const all = seqs(whole.map(({ event }) => event));
    expect(seqs(rest.map(({ event }) => event))).toEqual(all.filter((seq) => seq > Number(lastId?.split('~')[0])));
  });

  it('C23: keeps a reader that takes everything, though single events are bigger than what may wait', async () => {
    const text = 'x'.repeat(300_000);
    const events: string[] = [];
    const turns = Array.from({ length: 8 }, () => ({ text, toolCalls: [{ name: 'look' }] }));
    const server = await startServer(
      { model: scriptedModel([...turns, 'End.'], { chunkSize: 300_000 }), tools: [look], loopDetection: false },
      { limits: { streamBytes: 100_000 }, log: ({ event }) => events.push(event) },
    );
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const reader = await open(server);
    await server.call('POST', '/v1/sessions/s1/runs', { input: 'Go.' });
    const told = await until(reader, isRunEnd);
    expect(told.at(-1)?.event).toMatchObject({ status: 'completed' });
    expect(events).not.toContain('stream_too_slow');
  });

  it('tells inputs that come while nobody drives the session', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const messages = await open(server);
    await until(messages, () => true);
    await server.call('POST', '/v1/sessions/s1/follow-ups', { input: 'Later.' });
    const [next] = await until(await open(server, '1'), () => true);
    expect(next?.event).toMatchObject({ type: 'input_received', seq: 2 });
  });

  it('tells what another process writes to the log', async () => {
    const journal = memoryJournal();
    const writer = await startServer({ model: scriptedModel(['Hello from afar.']) }, { journal });
    const reader = await startServer({ model: scriptedModel([]) }, { journal });
    await writer.call('POST', '/v1/sessions', { id: 's1' });
    const watching = until(await open(reader), isRunEnd);
    await writer.call('POST', '/v1/sessions/s1/runs', { input: 'Hi' });
    const events = (await watching).map(({ event }) => event);
    expect(seqs(events)).toEqual(upTo(seqs(events).at(-1) ?? 0));
  });

  it('ends when its session is deleted, and says so', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const watching = until(await open(server), ({ type }) => type === 'closing');
    await server.call('DELETE', '/v1/sessions/s1');
    expect((await watching).at(-1)?.event).toEqual({ type: 'closing', reason: 'removed' });
  });

  it('says that it lives while there is nothing to say', async () => {
    const server = await startServer({ model: scriptedModel([]) }, { limits: { heartbeatMs: 20 } });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const response = await server.call('GET', STREAM);
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.endsWith('\n\n:\n\n')) break;
    }
    expect(text).toContain('\n\n:\n\n');
  });

  it('V15: ends with an error event when a handler fails after the headers, and the process stays up', async () => {
    const broken: StreamFormat = {
      name: 'broken',
      contentType: 'text/event-stream',
      ids: false,
      encoder: () => ({
        begin: () => [{ data: 'begun' }],
        event: (): Frame[] => {
          throw new Error('This encoder is broken, and knows a secret.');
        },
        end: (end) => [{ data: JSON.stringify(end) }],
      }),
    };
    const server = await startServer({ model: scriptedModel([]) }, { formats: [broken] });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const response = await server.call('GET', `${STREAM}?format=broken`);
    const text = await response.text();
    expect(text).toBe(
      `data: begun\n\ndata: ${JSON.stringify({ reason: 'failed', code: 'internal', message: 'The stream failed.' })}\n\n`,
    );
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('V15: says that the log could not be read', async () => {
    const journal = memoryJournal();
    const failing: Journal = {
      ...journal,
      read(sessionId, from) {
        if (from > 1) throw new Error('disk on fire');
        return journal.read(sessionId, from);
      },
    };
    const server = await startServer(
      { model: scriptedModel([]) },
      { journal: failing, limits: { replayEvents: Infinity } },
    );
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const [closing] = await until(await open(server, '1'), ({ type }) => type === 'closing');
    expect(closing?.event).toEqual({
      type: 'closing',
      reason: 'failed',
      code: 'internal',
      message: 'The stream failed.',
    });
  });

  it('V16: is told that the server stops, after the runs that were under way have ended', async () => {
    const model = steppedModel();
    const server = await startServer({ model });
    await start(server);
    await model.asked;
    model.say('Nearly ');
    const watching = until(await open(server), ({ type }) => type === 'closing');
    const closed = server.close(10_000);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    const refused = await server.call('POST', '/v1/sessions/s1/steering', { input: 'Wait!' });
    expect(await refused.json()).toMatchObject({ status: 503, code: 'draining' });
    model.say('done.');
    model.finish();
    expect(await closed).toBe(true);
    const events = (await watching).map(({ event }) => event);
    expect(events.slice(-2)).toMatchObject([
      { type: 'run_ended', status: 'completed' },
      { type: 'closing', reason: 'draining' },
    ]);
  });

  it('V16: leaves to the next process what does not end in time', async () => {
    const model = steppedModel();
    const server = await startServer({ model });
    await start(server);
    await model.asked;
    expect(await server.close(1)).toBe(false);
    model.finish();
  });
});

describe('a WebSocket', () => {
  const connect = (server: TestServer, path: string, options: object = {}): WebSocket => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, {
      headers: { authorization: `Bearer ${server.bearer}` },
      ...options,
    });
    socket.on('error', () => {});
    onTestFinished(() => socket.terminate());
    return socket;
  };
  /** The messages up to the first that `isLast`. */
  const read = (socket: WebSocket, isLast: (event: Told) => boolean): Promise<Message[]> =>
    new Promise((resolve, reject) => {
      const seen: Message[] = [];
      socket.on('error', reject);
      socket.on('message', (data: Buffer) => {
        seen.push(JSON.parse(data.toString()) as Message);
        const last = seen.at(-1);
        if (last && isLast(last.event)) resolve(seen);
      });
    });
  const closed = (socket: WebSocket): Promise<number> => new Promise((resolve) => socket.once('close', resolve));

  it('tells the same events with the same ids as a stream', async () => {
    const server = await startServer({ model: scriptedModel(['Hello, hello, hello.'], { chunkSize: 3 }) });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const [bySocket, byStream] = [read(connect(server, STREAM), isRunEnd), until(await open(server), isRunEnd)];
    await server.call('POST', '/v1/sessions/s1/runs', { input: 'Hi' });
    const ofStream = await byStream;
    expect(await bySocket).toEqual(ofStream);
    const half = ofStream.find(({ event }) => event.type === 'message_delta')?.id ?? '';
    const rest = await read(connect(server, `${STREAM}?after=${encodeURIComponent(half)}`), isRunEnd);
    expect(rest).toEqual(await until(await open(server, half), isRunEnd));
  });

  it('takes its token from the protocols a browser names', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const token = Buffer.from(server.bearer).toString('base64url');
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${STREAM}`, [
      'treadle.v1',
      `treadle.token.${token}`,
    ]);
    const [first] = await read(socket, () => true);
    expect({ protocol: socket.protocol, type: first?.event.type }).toEqual({
      protocol: 'treadle.v1',
      type: 'session_created',
    });
    socket.terminate();
  });

  it('V6: is closed with 1009 for a message that is too long, and with 1008 for too many', async () => {
    const server = await startServer(
      { model: scriptedModel([]) },
      { limits: { socketMessageBytes: 100, socketMessages: { perSecond: 1, burst: 3 } } },
    );
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const long = connect(server, STREAM);
    long.once('open', () => long.send('x'.repeat(101)));
    expect(await closed(long)).toBe(1009);
    const many = connect(server, STREAM);
    many.once('open', () => {
      for (let count = 0; count < 4; count += 1) many.send('x');
    });
    expect(await closed(many)).toBe(1008);
  });

  it('V6: is closed with 1013 when it takes nothing, and its run is not held up', async () => {
    const text = 'x'.repeat(300_000);
    const events: string[] = [];
    const turns = Array.from({ length: 24 }, () => ({ text, toolCalls: [{ name: 'look' }] }));
    const server = await startServer(
      {
        model: scriptedModel([...turns, 'End.'], { chunkSize: 300_000, record: false }),
        tools: [look],
        loopDetection: false,
        limits: { maxTurns: 100 },
      },
      { limits: { streamBytes: 100_000, streamStallMs: 1000 }, log: ({ event }) => events.push(event) },
    );
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const socket = connect(server, STREAM);
    await read(socket, () => true);
    socket.pause();
    await server.call('POST', '/v1/sessions/s1/runs', { input: 'Go.' });
    await until(await open(server), isRunEnd);
    await expect.poll(() => events).toContain('stream_too_slow');
    const code = closed(socket);
    socket.resume();
    expect(await code).toBe(1013);
  });

  it('V6: is not opened when there are as many streams as the server keeps', async () => {
    const server = await startServer({ model: scriptedModel([]) }, { limits: { streams: 1 } });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    await until(sse(await server.call('GET', STREAM)), () => true);
    const first = connect(server, STREAM);
    await read(first, () => true);
    const second = connect(server, STREAM);
    const status = await new Promise((resolve) => {
      second.once('unexpected-response', (_, response) => resolve(response.statusCode));
    });
    expect(status).toBe(503);
    expect((await server.call('GET', STREAM)).status).toBe(503);
  });
});
