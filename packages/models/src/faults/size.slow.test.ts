// @module-tag slow

import type { Socket } from 'node:net';
import { createSession, defineAgent, type Limits } from '@treadle/core';
import type { Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import { faultBench, ofType } from '../test-support/faults.ts';
import { serveBytes } from '../test-support/servers.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// Replies that are longer than they may be.

const bench = faultBench();
const long = 'x'.repeat(200_000);

describe.each(TEST_WIRES)('on $name', (wire) => {
  it.each<[string, Turn, Partial<Limits>, string]>([
    ['text', { text: long }, { maxReplyLength: 50_000 }, 'reply_limit'],
    ['thinking', { thinking: long }, { maxThinkingLength: 50_000 }, 'thinking_limit'],
    [
      'arguments',
      { toolCalls: [{ name: 'act', arguments: { long } }] },
      { maxArgumentsLength: 50_000 },
      'arguments_limit',
    ],
  ])('%s beyond its limit ends the run, and the next prompt is answered', async (what, turn, limits, status) => {
    const { result, events, executed, requests } = await bench.play({ wire, turns: [turn], agent: { limits } });
    expect(result).toMatchObject({ status, message: expect.stringContaining('50000 characters') });
    expect(executed).toEqual([]);
    expect(requests).toHaveLength(1);
    const [reply] = ofType(events, 'message_added').filter(({ stoppedAt }) => stoppedAt !== undefined);
    expect(reply).toMatchObject({ stoppedAt: status.replace('_limit', ''), inView: what === 'text' });
    if (what === 'text') expect(result.text).toBe(long.slice(0, 50_000 - 512));
  });
});

const big = 'y'.repeat(100_000);
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** Sends one chunk after the other, for as long as somebody takes them. */
function sendForEver(socket: Socket, first: string, chunk: string): void {
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${first}`);
  const send = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', send);
  send();
}

async function playForEver(deployment: string, first: string, chunk: string) {
  let bytes = 0;
  await using server = await serveBytes((socket) => {
    socket.once('data', () => sendForEver(socket, first, chunk));
    socket.on('close', () => (bytes += socket.bytesWritten));
  });
  const model = resolveModel(`${deployment}/m`, { baseUrl: server.url, apiKey: 'k', env: {} });
  const result = await (await createSession(defineAgent({ model }))).prompt('Go.').result;
  await server.allClosed();
  return { result, bytes };
}

describe('a stream that never ends', { timeout: 60_000 }, () => {
  it('is cut off at the limit, and its connection is closed', { tags: ['share'] }, async () => {
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: big } }] })}\n\n`;
    const { result, bytes } = await playForEver('openai', '', chunk);
    expect(result).toMatchObject({ status: 'reply_limit' });
    expect(result.text).toHaveLength(16_000_000 - 512);
    // What was kept, what waited in the sockets, and no more.
    expect(bytes).toBeLessThan(40_000_000);
  });

  it('is cut off too when it gives neither text nor a call', async () => {
    const first =
      event('message_start', { message: { id: 'm', model: 'm', usage: {} } }) +
      event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } });
    const chunk = event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: big } });
    const { result, bytes } = await playForEver('anthropic', first, chunk);
    expect(result).toMatchObject({ status: 'model_error', error: { code: 'reply_limit', retryable: false } });
    expect(bytes).toBeLessThan(90_000_000);
  });
});
