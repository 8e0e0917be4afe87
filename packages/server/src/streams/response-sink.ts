import type { Batch } from './batch.ts';
import { SSE_BEAT, sseText, type Sink } from './sink.ts';

/** As much of Node's `ServerResponse` as a stream writes to. */
export interface NodeResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): boolean;
  end(): unknown;
  destroy(): unknown;
  readonly writableLength: number;
  readonly destroyed: boolean;
  once(event: 'close' | 'drain', listener: () => void): unknown;
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

/** Writes to Node's response itself: no web stream is in the way of a delta. */
export function nodeSink(response: NodeResponse, batch: Batch): Sink {
  const state = closing();
  let text = '';
  response.once('close', state.over);
  const flush = (): void => {
    if (text === '' || response.destroyed) return;
    const all = text;
    text = '';
    response.write(all);
  };
  const put = (more: string): void => {
    if (text === '') batch.add(flush);
    text += more;
    if (text.length > MOST_HELD) flush();
  };
  return {
    send: (frames, id) => put(sseText(frames, id)),
    beat: () => put(SSE_BEAT),
    get buffered() {
      return text.length + response.writableLength;
    },
    drained() {
      flush();
      if (response.writableLength === 0 || response.destroyed) return Promise.resolve();
      return new Promise((resolve) => {
        response.once('drain', resolve);
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
export function bodySink(batch: Batch): { readonly sink: Sink; readonly body: ReadableStream<Uint8Array> } {
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
      send: (frames, id) => put(sseText(frames, id)),
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
