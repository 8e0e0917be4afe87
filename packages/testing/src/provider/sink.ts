import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';

/** How a reply's bytes are cut into writes: one per event, all in one, or so many bytes each. */
export type Chunking = 'events' | 'whole' | number;

export interface SinkOptions {
  readonly chunking: Chunking;
  readonly cutAfterBytes: number;
  readonly cutAfterEvents: number;
  /** `close` ends the connection in the middle of the body; `reset` also sends a TCP reset. */
  readonly cutBy: 'close' | 'reset';
}

/** Resolves when there is room to write again, or nobody to write to. Leaves no listener behind. */
async function drained(stream: Writable): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]).catch(() => {});
  over.abort();
}

/** Breaks a connection, after all that was written has left. */
export async function cutConnection(response: ServerResponse, by: SinkOptions['cutBy']): Promise<void> {
  const { socket } = response;
  if (!socket || socket.destroyed) return;
  if (socket.writableLength > 0) await drained(socket);
  if (by === 'reset') socket.resetAndDestroy();
  else socket.destroy();
}

/** Writes a reply in pieces and breaks the connection where it was told to. */
export function sink(response: ServerResponse, options: SinkOptions) {
  const pieceSize = typeof options.chunking === 'number' ? Math.max(1, options.chunking) : Number.POSITIVE_INFINITY;
  const byEvent = options.chunking === 'events';
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let sentBytes = 0;
  let events = 0;
  let broken = false;

  async function send(bytes: Uint8Array): Promise<void> {
    if (broken || response.destroyed) {
      broken = true;
      return;
    }
    const room = options.cutAfterBytes - sentBytes;
    const allowed = bytes.length > room ? bytes.subarray(0, room) : bytes;
    sentBytes += allowed.length;
    if (allowed.length > 0 && !response.write(allowed)) await drained(response);
    if (bytes.length >= room) await cut();
  }

  async function cut(): Promise<void> {
    broken = true;
    // The write leaves with the next turn of the loop; only then may the connection go.
    await new Promise((resolve) => setImmediate(resolve));
    await cutConnection(response, options.cutBy);
  }

  async function letOut(all: boolean): Promise<void> {
    if (waitingBytes === 0 || (!all && waitingBytes < pieceSize)) return;
    const joined = waiting.length === 1 && waiting[0] ? waiting[0] : Buffer.concat(waiting);
    let start = 0;
    while (joined.length - start >= pieceSize) {
      await send(joined.subarray(start, start + pieceSize));
      start += pieceSize;
    }
    const rest = joined.subarray(start);
    waiting = rest.length > 0 ? [rest] : [];
    waitingBytes = rest.length;
    if (!all || rest.length === 0) return;
    waiting = [];
    waitingBytes = 0;
    await send(rest);
  }

  return {
    /** One event's bytes. False when the connection is broken and nothing more can be written. */
    async event(bytes: Uint8Array): Promise<boolean> {
      if (bytes.length > 0) {
        waiting.push(bytes);
        waitingBytes += bytes.length;
        events++;
      }
      await letOut(byEvent);
      if (events >= options.cutAfterEvents && !broken) {
        await letOut(true);
        if (!broken) await cut();
      }
      return !broken;
    },
    /** Lets out what waits for its piece to become full. */
    flush: (): Promise<void> => (options.chunking === 'whole' ? Promise.resolve() : letOut(true)),
    /** Ends the body cleanly, after what is left. False when the connection broke instead. */
    async end(): Promise<boolean> {
      await letOut(true);
      if (broken) return false;
      response.end();
      return true;
    },
  };
}
