// @module-tag slow

import type { Socket } from 'node:net';
import { createSession, defineAgent, type DurableEvent, type Http, type TreadleEvent } from '@treadle/core';
import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { openai } from '../deployments/openai.ts';
import { fetchHttp } from '../http/fetch-http.ts';
import { nodeHttp } from '../http/node-http.ts';
import type { HttpTimeouts } from '../http/timeouts.ts';
import { undiciHttp } from '../http/undici-http.ts';
import { ofType, until } from '../test-support/faults.ts';
import { serveBytes } from '../test-support/servers.ts';
import { sse } from '../test-support/streams.ts';

// After a machine has slept, or a VPN has changed, kept connections are dead and nothing says so.

type AttemptFailed = Extract<DurableEvent, { type: 'attempt_failed' }>;

const KEPT = 12;
const FIRST_BYTE_MS = 20_000;

const EVENTS = sse({ choices: [{ index: 0, delta: { content: 'Here.' }, finish_reason: 'stop' }] }, '[DONE]');
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${EVENTS.length}\r\n\r\n${EVENTS}`;

describe.each<[string, (timeouts: HttpTimeouts) => Http]>([
  ['nodeHttp', (timeouts) => nodeHttp({ env: {}, ...timeouts })],
  ['fetchHttp', (timeouts) => fetchHttp(undefined, timeouts)],
  ['undiciHttp', (timeouts) => undiciHttp({ env: {}, ...timeouts })],
])('a run over %s', (_, create) => {
  it(`with ${KEPT} kept connections that went silent completes after one retry`, async () => {
    const sockets: Socket[] = [];
    const silent = new Set<Socket>();
    const lost: Socket[] = [];
    let unanswered: Socket[] = [];
    await using server = await serveBytes((socket) => {
      sockets.push(socket);
      socket.on('data', () => {
        if (silent.has(socket)) return void lost.push(socket);
        unanswered.push(socket);
        // Together, so that each session has a connection of its own.
        if (sockets.length < KEPT) return;
        for (const each of unanswered) each.write(ANSWER);
        unanswered = [];
      });
    });
    const clock = testClock();
    const http = create({ clock, firstByteTimeoutMs: FIRST_BYTE_MS });
    const model = openai('m', { apiKey: 'k', baseUrl: server.url.replace('localhost', '127.0.0.1'), http, clock });
    const agent = defineAgent({ model });
    const sessions = await Promise.all(Array.from({ length: KEPT }, () => createSession(agent, { clock })));
    await Promise.all(sessions.map((session) => session.prompt('Hello?').result));
    for (const socket of sockets) silent.add(socket);

    const [session] = sessions;
    const events: TreadleEvent[] = [];
    session?.subscribe((event) => events.push(event));
    const run = session?.prompt('Still there?');
    let isOver = false;
    const result = run?.result.finally(() => (isOver = true));
    const failures = (): readonly AttemptFailed[] => ofType(events, 'attempt_failed');
    for (let seen = 0; !isOver; await new Promise((resolve) => setImmediate(resolve))) {
      if (lost.length === seen) continue;
      seen = lost.length;
      await clock.advance(FIRST_BYTE_MS);
      await until(() => failures().length === seen && lost.at(-1)?.destroyed === true);
      // The retry comes half a second later or more. Until then a library has seen that its connection is closed, and
      // `fetch` has made another.
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      const { retry } = failures().at(-1) ?? expect.fail('No attempt failed.');
      await clock.advance(retry?.delayMs ?? 0);
    }
    expect(await result).toMatchObject({ status: 'completed', text: 'Here.' });
    expect(failures()).toMatchObject([{ error: { code: 'TREADLE_FIRST_BYTE_TIMEOUT', retryable: true } }]);
  });
});
