import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { testClock } from '../clock.ts';
import { ask, failureOf, nextText, post, textOf, type HttpCases } from './case.ts';
import { begin, serve, serveBytes } from './server.ts';

/** Requests that fail, take too long, or are given up. */
export const failureCases: HttpCases = {
  async 'rejects when nobody listens'(create) {
    const server = await serve(() => {});
    await server[Symbol.asyncDispose]();
    const error = await failureOf(create({})(post(server.url)));
    assert.match(`${error.message} ${String(error.code)} ${String(error.cause)}`, /ECONNREFUSED/);
  },
  async 'fails when the connection breaks inside the body'(create) {
    await using server = await serve((_, response) => {
      begin(response).write('one', () => setImmediate(() => response.destroy()));
    });
    await failureOf(ask(create({}), server.url));
  },
  async 'fails with a code of its own on what is no HTTP'(create) {
    for (const answer of [
      'SSH-2.0-OpenSSH_9.9\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\noneXX',
      `HTTP/1.1 200 OK\r\n${'x-large: y\r\n'.repeat(100_000)}\r\n`,
    ]) {
      await using server = await serveBytes((socket) => socket.once('data', () => socket.write(answer)));
      const error = await failureOf(ask(create({}), server.url));
      assert.equal(error.code, 'TREADLE_MALFORMED_RESPONSE', error.stack);
      await server.allClosed();
    }
  },
  async 'gives up on a server that sends no headers'(create) {
    const clock = testClock();
    const arrived = Promise.withResolvers<void>();
    await using server = await serve(() => arrived.resolve());
    const asked = failureOf(create({ clock, firstByteTimeoutMs: 40 })(post(server.url)));
    await arrived.promise;
    await clock.advance(40);
    const { code, message } = await asked;
    assert.deepEqual([code, message], ['TREADLE_FIRST_BYTE_TIMEOUT', 'No response within 40 ms.']);
    await server.allClosed();
    assert.equal(clock.pending, 0);
  },
  async 'gives up on a body that falls silent'(create) {
    const clock = testClock();
    await using server = await serve((_, response) => void begin(response).write('one'));
    const { body, idleTimeoutMs } = await create({ clock, idleTimeoutMs: 40 })(post(server.url));
    assert.equal(idleTimeoutMs, 40);
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    const silent = failureOf(chunks.next());
    await clock.advance(40);
    assert.equal((await silent).code, 'TREADLE_IDLE_TIMEOUT');
    await server.allClosed();
    assert.equal(clock.pending, 0);
  },
  async 'does not count the time in which nobody waits for the body'(create) {
    const clock = testClock();
    const two = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      begin(response).write('one');
      void two.promise.then(() => response.end('two'));
    });
    const { body } = await create({ clock, idleTimeoutMs: 40 })(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    await clock.advance(1000);
    two.resolve();
    assert.equal(await nextText(chunks), 'two');
    assert.equal(await nextText(chunks), undefined);
  },
  async 'sends nothing when the signal was aborted before'(create) {
    await using server = await serve((_, response) => response.end());
    const error = await failureOf(create({})(post(server.url, { signal: AbortSignal.abort() })));
    assert.deepEqual([error.name, server.connections()], ['AbortError', 0]);
  },
  async 'closes the connection when the signal aborts before the headers, and rejects with its reason'(create) {
    const arrived = Promise.withResolvers<void>();
    await using server = await serve(() => arrived.resolve());
    const control = new AbortController();
    const asked = failureOf(create({})(post(server.url, { signal: control.signal })));
    await arrived.promise;
    control.abort(new Error('enough'));
    control.abort(new Error('more than enough'));
    assert.equal((await asked).message, 'enough');
    await server.allClosed();
    assert.deepEqual(getEventListeners(control.signal, 'abort'), []);
  },
  async 'closes the connection when the signal aborts amid the body, which fails with its reason'(create) {
    await using server = await serve((_, response) => void begin(response).write('one'));
    const control = new AbortController();
    const response = await create({})(post(server.url, { signal: control.signal }));
    const reading = failureOf(textOf(response));
    control.abort(new Error('enough'));
    assert.equal((await reading).message, 'enough');
    await server.allClosed();
    assert.deepEqual(getEventListeners(control.signal, 'abort'), []);
  },
  async 'closes the connection when the signal aborts while it sends'(create) {
    const begun = Promise.withResolvers<void>();
    await using server = await serveBytes((socket) => {
      // It reads a little and no more, so that the rest can't be sent.
      socket.once('data', () => {
        socket.pause();
        begun.resolve();
        setImmediate(() => socket.once('close', () => {}));
      });
    });
    const control = new AbortController();
    const body = new Uint8Array(32 * 1024 * 1024);
    const asked = failureOf(create({})(post(server.url, { body, signal: control.signal })));
    await begun.promise;
    control.abort(new Error('enough'));
    assert.equal((await asked).message, 'enough');
  },
  async 'fails a body that has come but was not read when the signal aborts'(create) {
    const { gzipSync } = await import('node:zlib');
    const body = gzipSync(Buffer.alloc(8 * 1024 * 1024));
    await using server = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(body),
    );
    const control = new AbortController();
    const response = await create({})(post(server.url, { signal: control.signal }));
    const chunks = response.body[Symbol.asyncIterator]();
    await chunks.next();
    control.abort(new Error('enough'));
    assert.equal((await failureOf(chunks.next())).message, 'enough');
  },
  async 'closes the connection when the reader leaves early'(create) {
    await using server = await serve((_, response) => void begin(response).write('one'));
    const { body } = await create({})(post(server.url));
    for await (const chunk of body) {
      assert.equal(Buffer.from(chunk).toString(), 'one');
      break;
    }
    await server.allClosed();
  },
};
