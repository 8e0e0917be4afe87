// @module-tag slow

import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { scriptedModel } from '@treadle/testing';
import { expect, it, onTestFinished } from 'vitest';
import { isRunEnd, sse, until } from '../test-support/events.ts';
import { startServer } from '../test-support/server.ts';

const STREAMS = 500;
/** Of both ends: the clients are in this process too. */
const MOST_KB = 64;

/** KB of JavaScript's heap and of buffers outside of it that are still needed. */
async function neededKB(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let time = 0; time < 4; time += 1) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024;
}

it(`V5: ${STREAMS} idle streams take at most ${MOST_KB} KB each, with their clients, and hold up nobody`, async () => {
  const many = { perSecond: 1e6, burst: 1e6 };
  const server = await startServer({ model: scriptedModel(['Hello.']) }, { limits: { requests: many } });
  await server.call('POST', '/v1/sessions', { id: 's1' });
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (): Promise<void> => {
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write(
      `GET /v1/sessions/s1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.bearer}\r\n\r\n`,
    );
    let told = '';
    await new Promise<void>((resolve, reject) => {
      socket.once('close', () => reject(new Error(`A stream was refused: ${told}`)));
      socket.on('data', (bytes) => {
        told += bytes.toString();
        if (told.includes('session_created')) resolve();
      });
    });
    // From here on it is idle, as its client is.
    socket.removeAllListeners('data');
  };
  const openMany = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 50) await Promise.all(Array.from({ length: Math.min(left, 50) }, open));
  };
  const { connections, feeds } = server.server.parts;
  await openMany(50);
  const before = await neededKB();
  await openMany(STREAMS);
  expect(connections.size).toBe(STREAMS + 50);
  expect(feeds.size).toBe(1);
  expect(((await neededKB()) - before) / STREAMS).toBeLessThan(MOST_KB);

  // One more is let in, and a run is streamed to it.
  const last = until(sse(await server.call('GET', '/v1/sessions/s1/stream')), isRunEnd);
  await server.call('POST', '/v1/sessions/s1/runs', { input: 'Hi' });
  expect((await last).at(-1)?.event).toMatchObject({ status: 'completed' });

  // Those who leave leave nothing.
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => connections.size, { timeout: 30_000 }).toBe(0);
  await expect.poll(() => feeds.size, { timeout: 30_000 }).toBe(0);
}, 60_000);
