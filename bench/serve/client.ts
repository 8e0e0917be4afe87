// The client of the `serve` metric, in a process of its own: it opens streams on bare sockets, counts what comes in, and
// otherwise does as little as it can.

import { connect, type Socket } from 'node:net';
import { median } from '../table.ts';
import { answer, type Ready, type Received } from './job.ts';

interface Stream {
  readonly socket: Socket;
  events: number;
  bytes: number;
  /** The last byte that came was the end of a line. */
  wasLineEnd: boolean;
}

const LINE_END = 10;
const streams: Stream[] = [];
/** What the first stream was told. */
let told: Buffer[] = [];
let isDone = (): boolean => false;
let done = (): void => {};

/** Two line ends in a row end an event. HTTP's own lines end with CR LF, and come between no two of them. */
function count(stream: Stream, bytes: Buffer): void {
  stream.bytes += bytes.length;
  if (stream.wasLineEnd && bytes[0] === LINE_END) stream.events += 1;
  for (let at = bytes.indexOf('\n\n'); at >= 0; at = bytes.indexOf('\n\n', at + 2)) stream.events += 1;
  stream.wasLineEnd = bytes.at(-1) === LINE_END;
}

async function open(index: number, { port, token, paths }: Ready): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const stream: Stream = { socket, events: 0, bytes: 0, wasLineEnd: false };
  streams.push(stream);
  const path = paths[index % paths.length] ?? '';
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\n\r\n`,
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', (head: Buffer) => {
      const status = head.toString('latin1', 0, 15);
      if (status.startsWith('HTTP/1.1 200')) resolve();
      else reject(new Error(`A stream was answered with ${head.toString('latin1')}`));
    });
  });
  socket.on('data', (bytes: Buffer) => {
    count(stream, bytes);
    if (index === 0) told.push(bytes);
    if (isDone()) done();
  });
  socket.once('close', () => {
    if (socket.errored) throw socket.errored;
  });
}

async function openMany(count: number, ready: Ready): Promise<void> {
  // As many at a time as a backlog takes.
  while (count > 0) {
    const some = Math.min(count, 100);
    await Promise.all(Array.from({ length: some }, () => open(streams.length, ready)));
    count -= some;
  }
}

/** Milliseconds that opening a stream takes, one after the other, at the median. */
async function openMs(count: number, ready: Ready): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < count; time += 1) {
    const begin = performance.now();
    await open(streams.length, ready);
    times.push(performance.now() - begin);
  }
  return median(times);
}

function mark(): void {
  told = [];
  for (const stream of streams) Object.assign(stream, { events: 0, bytes: 0, wasLineEnd: false });
}

/** Chunks without the lines that say how long they are. */
function bodyOf(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    text += bytes.toString('utf8', lineEnd + 2, lineEnd + 2 + length);
    at = lineEnd + 2 + length + 2;
  }
  return text;
}

async function finish(events: number | null): Promise<Received> {
  let expected = events;
  // Looking at all of them each time would be quadratic: those that are done are passed over for good.
  let checked = 0;
  isDone = () => {
    if (expected === null && Buffer.concat(told.slice(-2)).includes('"type":"run_ended"'))
      expected = streams[0]?.events ?? 0;
    if (expected === null) return false;
    while (checked < streams.length && (streams[checked]?.events ?? 0) >= expected) checked += 1;
    return checked === streams.length;
  };
  if (!isDone()) await new Promise<void>((resolve) => (done = resolve));
  isDone = () => false;
  for (const stream of streams) {
    if (stream.events !== expected) throw new Error(`A stream had ${stream.events} events instead of ${expected}.`);
  }
  return {
    events: streams.reduce((sum, stream) => sum + stream.events, 0),
    bytes: streams.reduce((sum, stream) => sum + stream.bytes, 0),
    text: bodyOf(Buffer.concat(told)),
  };
}

answer(async (command) => {
  switch (command.type) {
    case 'open':
      return openMany(command.count, command.ready);
    case 'openMs':
      return openMs(command.count, command.ready);
    case 'mark':
      return mark();
    case 'finish':
      return finish(command.events);
    case 'close':
      for (const { socket } of streams.splice(0)) socket.destroy();
      return;
    default:
      throw new Error(`A client knows no "${command.type}".`);
  }
});
