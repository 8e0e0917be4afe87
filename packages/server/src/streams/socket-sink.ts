import type { WebSocket } from 'ws';
import type { Frame } from '../encoders/encoder.ts';
import type { Shared } from './shared.ts';
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

const AS_TEXT = { binary: false } as const;

/** Bytes, so that all who are told the same are sent the same. */
const bare = (frames: readonly Frame[]): readonly Buffer[] => frames.map(({ data }) => Buffer.from(data));

const enveloped = (frames: readonly Frame[], id: string | null): readonly Buffer[] =>
  frames.map(({ data }, at) => {
    const isLast = id !== null && at === frames.length - 1;
    return Buffer.from(isLast ? `{"id":"${id}","event":${data}}` : `{"event":${data}}`);
  });

/**
 * A WebSocket as the end of a stream. With `envelopes` each message is `{"id": …, "event": …}`, so that a client has the id to
 * come back with; without, it is the frame's data alone, in the words of a protocol that has its own.
 */
export function socketSink(socket: WebSocket, envelopes: boolean, shared: Shared): Sink {
  const write = envelopes ? enveloped : bare;
  let alive = true;
  socket.on('pong', () => {
    alive = true;
  });
  return {
    send(frames, id) {
      if (socket.readyState !== socket.OPEN) return;
      for (const message of shared.written(write, frames, id)) socket.send(message, AS_TEXT);
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
