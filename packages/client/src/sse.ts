import { createParser } from 'eventsource-parser';
import { ClientError } from './error.ts';

/** One server-sent event. */
export interface ServerSentEvent {
  /** The last id that was sent, up to and with this event; null before the first. */
  readonly id: string | null;
  readonly data: string;
}

export interface ReadOptions {
  /** Called with the milliseconds that the server wants to pass before the next connection. */
  readonly onRetry?: (ms: number) => void;
  /** Characters of an event. The default is far more than the biggest body that a server takes. */
  readonly maxLength?: number;
}

/** Reads a body of server-sent events to its end. @throws ClientError `too_large` */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { onRetry = () => {}, maxLength = 64 * 1024 * 1024 }: ReadOptions = {},
): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  // It takes a byte order mark away, as the standard wants.
  const decoder = new TextDecoder();
  let id: string | null = null;
  let events: ServerSentEvent[] = [];
  const parser = createParser({
    maxBufferSize: maxLength,
    onRetry,
    onEvent({ id: own, data }) {
      id = own ?? id;
      events.push({ id, data });
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded')
        throw new ClientError(0, 'too_large', `The server sent an event of more than ${maxLength} characters.`);
    },
  });
  try {
    for (;;) {
      const piece = await reader.read();
      if (piece.done) return;
      parser.feed(decoder.decode(piece.value, { stream: true }));
      yield* events;
      events = [];
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
