import { ClientError } from './error.ts';

/** One server-sent event. */
export interface ServerSentEvent {
  /** The last id that was sent, up to and with this event; null before the first. */
  readonly id: string | null;
  readonly data: string;
}

/** Takes a stream of server-sent events in pieces, wherever they were cut. */
export interface SseParser {
  /** The events that are complete with this piece. @throws ClientError `too_large` */
  push(text: string): readonly ServerSentEvent[];
  /** Milliseconds that the server wants to pass before the next connection; null when it hasn't said. */
  readonly retryMs: number | null;
}

/** Characters of an event, beyond which something is wrong with the server: the biggest body that it takes is a fraction of it. */
const MOST_CHARACTERS = 64 * 1024 * 1024;

const CR = 13;
const LF = 10;

/**
 * Parses server-sent events by the rules of the HTML standard: lines end with CR, LF or both; what has no empty line behind it
 * is no event. Work per character is constant.
 */
export function createSseParser({ maxLength = MOST_CHARACTERS }: { readonly maxLength?: number } = {}): SseParser {
  /** The line that has no end yet. */
  let open: string[] = [];
  /** Of the open line, and of the data before it. */
  let length = 0;
  let skipLf = false;
  let id: string | null = null;
  let data: string[] = [];
  let retryMs: number | null = null;

  function takeLine(line: string): ServerSentEvent | null {
    if (line === '') {
      const event = data.length > 0 ? { id, data: data.join('\n') } : null;
      data = [];
      return event;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') data.push(value);
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
    return null;
  }

  function hold(text: string): void {
    if (text === '') return;
    open.push(text);
    length += text.length;
    if (length <= maxLength) return;
    throw new ClientError(0, 'too_large', `The server sent an event of more than ${maxLength} characters.`);
  }

  return {
    get retryMs() {
      return retryMs;
    },
    push(text) {
      const events: ServerSentEvent[] = [];
      let at = 0;
      if (skipLf && text !== '') {
        if (text.charCodeAt(0) === LF) at = 1;
        skipLf = false;
      }
      // Looked for once per piece, and not once per line.
      let cr = text.indexOf('\r', at);
      for (;;) {
        const lf = text.indexOf('\n', at);
        if (cr !== -1 && cr < at) cr = text.indexOf('\r', at);
        const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
        if (end === -1) break;
        hold(text.slice(at, end));
        const event = takeLine(open.join(''));
        open = [];
        if (data.length === 0) length = 0;
        if (event) events.push(event);
        at = end + 1;
        if (text.charCodeAt(end) !== CR) continue;
        if (at === text.length) skipLf = true;
        else if (text.charCodeAt(at) === LF) at += 1;
      }
      hold(text.slice(at));
      return events;
    },
  };
}

/** Reads a body of server-sent events to its end. `retry` is called with what the server says of the time to wait. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  retry: (ms: number) => void = () => {},
): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  // It takes a byte order mark away, as the standard wants.
  const decoder = new TextDecoder();
  const parser = createSseParser();
  try {
    for (;;) {
      const piece = await reader.read();
      if (piece.done) return;
      const events = parser.push(decoder.decode(piece.value, { stream: true }));
      if (parser.retryMs !== null) retry(parser.retryMs);
      yield* events;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
