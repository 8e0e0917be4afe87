import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { Http } from '@treadle/core';
import { testClock, type TestClock } from '../clock.ts';
import { ask, failureOf, post, type HttpCases } from './case.ts';
import { begin, serve, serveBytes, type CaseServer } from './server.ts';

const FIRST_BYTE_MS = 1000;
const KEPT = 12;

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A server whose old connections fall silent, as after a machine has slept or a VPN has changed: nothing closes them. */
interface FallingSilent {
  readonly server: CaseServer;
  /** Answers nothing any more on the connections that there are. */
  fallSilent(): void;
  /** The connection on which the next request is lost. */
  lost(): Promise<Socket>;
}

async function fallingSilent(): Promise<FallingSilent> {
  const sockets: Socket[] = [];
  const silent = new Set<Socket>();
  const unanswered: Socket[] = [];
  let next = Promise.withResolvers<Socket>();
  const server = await serveBytes((socket) => {
    sockets.push(socket);
    socket.on('data', () => {
      if (silent.has(socket)) return next.resolve(socket);
      // The first requests are answered together, so that each has a connection of its own.
      unanswered.push(socket);
      if (sockets.length >= KEPT) for (const each of unanswered.splice(0)) each.write(OK);
    });
  });
  return {
    server,
    fallSilent() {
      for (const socket of sockets) silent.add(socket);
    },
    async lost() {
      next = Promise.withResolvers();
      return next.promise;
    },
  };
}

/** Asks as a model's call does: again after each failure. Resolves with the number of failures. */
async function failuresUntilAnswered(http: Http, clock: TestClock, { server, lost }: FallingSilent): Promise<number> {
  for (let failures = 0; ; failures++) {
    const answer = ask(http, server.url).catch((error: unknown) => error);
    const first = await Promise.race([answer, lost()]);
    if (first === 'ok') return failures;
    await clock.advance(FIRST_BYTE_MS);
    assert.equal(
      (await failureOf(answer.then((error) => Promise.reject(error as Error)))).code,
      'TREADLE_FIRST_BYTE_TIMEOUT',
    );
    const socket = first as Socket;
    if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
    // A call waits half a second or more before its retry. Until then a library has seen that its connection is closed.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What becomes of connections between requests. */
export const connectionCases: HttpCases = {
  async 'keeps the connection for the next request, and leaves no listener on its signal'(create) {
    await using server = await serve((_, response) => response.end('x'));
    const http = create({});
    const { signal } = new AbortController();
    for (let turn = 0; turn < 10; turn++) await ask(http, server.url, { signal });
    // A connection may still be on its way back when the next request is sent.
    assert.ok(server.connections() <= 2, `${server.connections()} connections`);
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  },
  async 'answers many requests at once, each with its own response'(create) {
    await using server = await serve((request, response) => response.end(request.url));
    const http = create({});
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
    assert.deepEqual(await Promise.all(paths.map((path) => ask(http, `${server.url}${path}`))), paths);
  },
  async 'holds back a server that is faster than the reader'(create) {
    const total = 256 * 1024 * 1024;
    let written = 0;
    const stalled = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      begin(response);
      const block = Buffer.alloc(64 * 1024);
      const write = (): void => {
        while (written < total) {
          written += block.length;
          if (response.write(block)) continue;
          const before = written;
          response.once('drain', write);
          // Held back for so long, by a reader on the same machine.
          setTimeout(() => written === before && stalled.resolve(), 100);
          return;
        }
        stalled.resolve();
      };
      write();
    });
    const { body } = await create({})(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    await stalled.promise;
    assert.ok(written < total / 4, `${written} bytes were taken`);
    await chunks.return?.();
  },
  async 'answers a call whose kept connection was closed by the server, with one retry at most'(create) {
    const sockets: Socket[] = [];
    await using server = await serve((request, response) => {
      sockets.push(request.socket);
      response.end('ok');
    });
    const http = create({});
    assert.equal(await ask(http, server.url), 'ok');
    // The server's reset and the next request cross on the way.
    const second = ask(http, server.url).catch(() => ask(http, server.url));
    for (const socket of sockets) socket.resetAndDestroy();
    assert.equal(await second, 'ok');
  },
  async [`answers a call with one retry while ${KEPT} kept connections are silent`](create) {
    const clock = testClock();
    const http = create({ clock, firstByteTimeoutMs: FIRST_BYTE_MS });
    const scene = await fallingSilent();
    await using server = scene.server;
    await Promise.all(Array.from({ length: KEPT }, () => ask(http, server.url)));
    assert.equal(server.connections(), KEPT);
    scene.fallSilent();
    assert.equal(await failuresUntilAnswered(http, clock, scene), 1);
    for (let call = 0; call < 3; call++) {
      const failures = await failuresUntilAnswered(http, clock, scene);
      assert.ok(failures <= 1, `${failures} failures of a later call`);
    }
  },
};
