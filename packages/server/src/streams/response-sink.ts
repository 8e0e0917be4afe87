import { ServerResponse } from 'node:http';
import type { Batch } from './batch.ts';
import type { Shared } from './shared.ts';
import { SSE_BEAT, sseText, type Sink } from './sink.ts';

/** As much of Node's `ServerResponse` as a stream writes to. */
export interface NodeResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): boolean;
  end(): unknown;
  destroy(): unknown;
  flushHeaders?(): void;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  readonly destroyed: boolean;
  /** Whether what is written is framed in chunks, as HTTP/1.1 does it. */
  readonly chunkedEncoding?: boolean;
  readonly socket?: NodeSocket | null;
  once(event: 'close' | 'drain', listener: () => void): unknown;
}

/** As much of the connection under it. */
export interface NodeSocket {
  write(text: string): boolean;
  readonly writable: boolean;
  readonly writableNeedDrain: boolean;
  once(event: 'drain', listener: () => void): unknown;
}

/** Characters that are held back to be written together with what comes next. */
const MOST_HELD = 64 * 1024;

/** Told once, whoever asks before or after. */
function closing(): { readonly isOver: () => boolean; over(): void; onClose(listener: () => void): void } {
  let listeners: (() => void)[] | null = [];
  return {
    isOver: () => listeners === null,
    over() {
      const told = listeners ?? [];
      listeners = null;
      for (const listener of told) listener();
    },
    onClose(listener) {
      if (listeners) listeners.push(listener);
      else listener();
    },
  };
}

const { write: ORIGINAL } = ServerResponse.prototype;

/** The connection of a response that is its own, and that nothing stands in front of, such as compression. */
function ownSocket(response: NodeResponse): NodeSocket | null {
  if (response.write !== ORIGINAL || response.chunkedEncoding !== true || !response.socket?.writable) return null;
  return response.socket;
}

/**
 * Writes a text as a chunk of a response. Node itself writes a chunk in four pieces (its length, a line's end, the text, a line's
 * end), which takes about twice the CPU of one piece: of a stream of small events that is the greater part.
 */
function writeChunk(response: NodeResponse, text: string): void {
  const socket = ownSocket(response);
  if (socket) socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  else response.write(text);
}

/** Writes to Node's response itself: no web stream is in the way of a delta. */
export function nodeSink(response: NodeResponse, batch: Batch, shared: Shared): Sink {
  const state = closing();
  let text = '';
  response.once('close', state.over);
  // What is written to the connection itself comes after the headers.
  response.flushHeaders?.();
  const flush = (): void => {
    if (text === '' || response.destroyed) return;
    const all = text;
    text = '';
    writeChunk(response, all);
  };
  const put = (more: string): void => {
    if (text === '') batch.add(flush);
    text += more;
    if (text.length > MOST_HELD) flush();
  };
  return {
    send: (frames, id) => put(shared.written(sseText, frames, id)),
    beat: () => put(SSE_BEAT),
    get buffered() {
      return text.length + response.writableLength;
    },
    drained() {
      flush();
      const full = ownSocket(response) ?? response;
      // Below its mark, what is left is on its way, and nobody will say that it is gone.
      if (response.destroyed || !full.writableNeedDrain) return Promise.resolve();
      return new Promise((resolve) => {
        full.once('drain', resolve);
        state.onClose(resolve);
      });
    },
    close(reason) {
      if (reason === 'slow') response.destroy();
      else {
        flush();
        response.end();
      }
      state.over();
    },
    onClose: state.onClose,
  };
}

/** The body of a `Response`, for any application that speaks `fetch`. */
export function bodySink(
  batch: Batch,
  shared: Shared,
): { readonly sink: Sink; readonly body: ReadableStream<Uint8Array> } {
  const state = closing();
  const encoder = new TextEncoder();
  let text = '';
  let waiting: (() => void)[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const wake = (): void => {
    const due = waiting;
    waiting = [];
    for (const resolve of due) resolve();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull: wake,
      cancel() {
        state.over();
        wake();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 16 * 1024 }),
  );
  const flush = (): void => {
    if (text === '' || state.isOver()) return;
    controller?.enqueue(encoder.encode(text));
    text = '';
  };
  const put = (more: string): void => {
    if (text === '') batch.add(flush);
    text += more;
    if (text.length > MOST_HELD) flush();
  };
  return {
    body,
    sink: {
      send: (frames, id) => put(shared.written(sseText, frames, id)),
      beat: () => put(SSE_BEAT),
      get buffered() {
        return text.length + Math.max(0, 16 * 1024 - (controller?.desiredSize ?? 0));
      },
      drained() {
        flush();
        if (state.isOver() || (controller?.desiredSize ?? 0) > 0) return Promise.resolve();
        return new Promise((resolve) => waiting.push(resolve));
      },
      close(reason) {
        if (state.isOver()) return;
        flush();
        // Erring drops what the reader hasn't taken; closing leaves it there.
        if (reason === 'slow') controller?.error(new Error('The reader was too slow.'));
        else controller?.close();
        state.over();
        wake();
      },
      onClose: state.onClose,
    },
  };
}
