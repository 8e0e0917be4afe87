/** One server-sent event. */
export interface ServerSentEvent {
  /** The last id that was sent, up to and with this event; null before the first. */
  readonly id: string | null;
  readonly data: string;
}

/** Reads a body of server-sent events to its end. Work per byte is constant: what is complete is cut off once per piece. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let open: string[] = [];
  let id: string | null = null;
  let data: string[] = [];
  try {
    for (;;) {
      const piece = await reader.read();
      if (piece.done) return;
      const lines = decoder.decode(piece.value, { stream: true }).split('\n');
      for (let at = 0; at < lines.length; at += 1) {
        open.push(lines[at] ?? '');
        // The last one has no end yet.
        if (at === lines.length - 1) break;
        const line = open.join('').replace(/\r$/, '');
        open = [];
        if (line === '' && data.length > 0) {
          yield { id, data: data.join('\n') };
          data = [];
        } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
        else if (line.startsWith('id:')) id = line.slice(3).trim();
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
