import type { ServerResponse } from 'node:http';
import { SSE_BEAT, sseText, type Sink } from './sink.ts';

/** Bytes that wait in the body itself before its reader is full. */
const ROOM = 16 * 1024;

/** A stream to Node's response, which costs half of what a body of web streams does. */
export function nodeSink(response: ServerResponse): Sink {
  let wake = (): void => {};
  for (const event of ['drain', 'close']) response.on(event, () => wake());
  response.flushHeaders();
  const put = (text: string): void => {
    if (!response.destroyed && !response.writableEnded) response.write(text);
  };
  return {
    send: (frames, id) => put(sseText(frames, id)),
    beat: () => put(SSE_BEAT),
    get buffered() {
      return response.writableLength;
    },
    drained() {
      if (response.destroyed || !response.writableNeedDrain) return Promise.resolve();
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
    close: (reason) => void (reason === 'slow' ? response.destroy() : response.end()),
    onClose: (listener) => void (response.closed ? listener() : response.once('close', listener)),
  };
}

/** A stream as the body of a `Response`, for any application that speaks `fetch`. */
export function bodySink(): { readonly sink: Sink; readonly body: ReadableStream<Uint8Array> } {
  const gone = new AbortController();
  const encoder = new TextEncoder();
  let room = Promise.withResolvers<void>();
  const wake = (): void => {
    room.resolve();
    room = Promise.withResolvers();
  };
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull: wake,
      cancel: () => gone.abort(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: ROOM }),
  );
  gone.signal.addEventListener('abort', wake);
  const free = (): number => controller?.desiredSize ?? ROOM;
  const put = (text: string): void => {
    if (!gone.signal.aborted) controller?.enqueue(encoder.encode(text));
  };
  return {
    body,
    sink: {
      send: (frames, id) => put(sseText(frames, id)),
      beat: () => put(SSE_BEAT),
      get buffered() {
        return ROOM - free();
      },
      drained: () => (gone.signal.aborted || free() > 0 ? Promise.resolve() : room.promise),
      close(reason) {
        if (gone.signal.aborted) return;
        // Erring drops what the reader hasn't taken; closing leaves it there.
        if (reason === 'slow') controller?.error(new Error('The reader was too slow.'));
        else controller?.close();
        gone.abort();
      },
      onClose(listener) {
        if (gone.signal.aborted) listener();
        else gone.signal.addEventListener('abort', listener);
      },
    },
  };
}
