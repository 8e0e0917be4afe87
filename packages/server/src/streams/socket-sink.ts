import type { WebSocket } from 'ws';
import type { CloseReason, Sink } from './sink.ts';

/** Close codes of RFC 6455, and of its registry. */
const CODES: Readonly<Record<CloseReason, readonly [number, string]>> = {
  finished: [1000, 'finished'],
  removed: [1000, 'removed'],
  draining: [1001, 'draining'],
  failed: [1011, 'failed'],
  // Try again later: with the last id you have.
  slow: [1013, 'too slow'],
};

/**
 * A WebSocket as the end of a stream. With `envelopes` each message is `{"id": …, "event": …}`, so that a client has the id to
 * come back with; without, it is the frame's data alone, in the words of a protocol that has its own.
 */
export function socketSink(socket: WebSocket, envelopes: boolean): Sink {
  let alive = true;
  socket.on('pong', () => {
    alive = true;
  });
  return {
    send(frames, id) {
      if (socket.readyState !== socket.OPEN) return;
      for (const [at, { data }] of frames.entries()) {
        const place = id !== null && at === frames.length - 1 ? `"id":"${id}",` : '';
        socket.send(envelopes ? `{${place}"event":${data}}` : data);
      }
    },
    beat() {
      // Who doesn't answer from one beat to the next is gone, and nobody has told us.
      if (!alive) socket.terminate();
      else if (socket.readyState === socket.OPEN) {
        alive = false;
        socket.ping();
      }
    },
    get buffered() {
      return socket.bufferedAmount;
    },
    drained() {
      if (socket.bufferedAmount === 0 || socket.readyState !== socket.OPEN) return Promise.resolve();
      return new Promise((resolve) => {
        // An empty ping is written behind all that waits.
        socket.ping('', false, () => resolve());
        socket.once('close', resolve);
      });
    },
    close(reason) {
      const [code, words] = CODES[reason];
      socket.close(code, words);
    },
    onClose(listener) {
      if (socket.readyState === socket.CLOSED) listener();
      else socket.once('close', listener);
    },
  };
}
