import type { TreadleEvent } from '@treadle/core';
import type { SessionSnapshot } from '../encoders/encoder.ts';
import type { ClosingNotice } from '../encoders/native.ts';

export type Told = TreadleEvent | SessionSnapshot | ClosingNotice;

/** One server-sent event of the native format. */
export interface Message {
  readonly id: string | null;
  readonly event: Told;
}

/** Reads server-sent events, as the format is, from a response. Comments are passed over. */
export async function* sse(response: Response): AsyncGenerator<Message> {
  if (!response.body) throw new Error('There is no body.');
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const data = lines.flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
      if (data.length === 0) continue;
      const id = lines.find((line) => line.startsWith('id: '))?.slice(4) ?? null;
      yield { id, event: JSON.parse(data.join('\n')) as Told };
    }
  }
}

/** Messages up to and with the first that `isLast`. The rest of the stream is let go of. */
export async function until(messages: AsyncIterable<Message>, isLast: (event: Told) => boolean): Promise<Message[]> {
  const seen: Message[] = [];
  for await (const message of messages) {
    seen.push(message);
    if (isLast(message.event)) break;
  }
  return seen;
}

/** The text that was streamed of each message that stands: what was voided is left out. */
export function streamedTexts(events: Iterable<Told>): Map<string, string> {
  const texts = new Map<string, string>();
  let open = '';
  for (const event of events) {
    if (event.type === 'message_started') {
      open = event.messageId;
      texts.set(open, '');
    } else if (event.type === 'message_delta' && event.kind === 'text') {
      open = event.messageId;
      texts.set(open, (texts.get(open) ?? '') + event.text);
    } else if (event.type === 'message_discarded') texts.delete(open);
  }
  return texts;
}

export const isRunEnd = ({ type }: Told): boolean => type === 'run_ended';
