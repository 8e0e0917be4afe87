import { SSE_BEAT, sseText, type Sink } from './sink.ts';

/** Bytes that wait in the body itself before its reader is full. */
const ROOM = 16 * 1024;

/**
 * A stream as the body of a response. `cut` ends the connection below it, where there is one that can be ended: what the reader
 * has not taken is dropped.
 */
export function bodySink(cut: (() => void) | null): {
  readonly sink: Sink;
  readonly body: ReadableStream<Uint8Array>;
} {
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
        if (reason !== 'slow') controller?.close();
        else if (cut) cut();
        // Erring drops what the reader hasn't taken; closing leaves it there.
        else controller?.error(new Error('The reader was too slow.'));
        gone.abort();
      },
      onClose(listener) {
        if (gone.signal.aborted) listener();
        else gone.signal.addEventListener('abort', listener);
      },
    },
  };
}
