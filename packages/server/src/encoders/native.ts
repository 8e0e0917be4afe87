import { NOTHING, type Encoder, type Frame, type StreamEnd, type StreamEvent, type StreamFormat } from './encoder.ts';

/**
 * What a stream of the native format says besides events: why it ends before the reader wanted it to. A stream of a run
 * that has ended just closes.
 */
export interface ClosingNotice {
  readonly type: 'closing';
  readonly reason: Exclude<StreamEnd['reason'], 'finished'>;
  readonly code?: string;
  readonly message?: string;
}

/** Our own format: each event as it is in the log, as JSON, and each live event as watchers get it. */
export const nativeFormat: StreamFormat = {
  name: 'json',
  contentType: 'text/event-stream',
  ids: true,
  stateless: true,
  encoder: () => NATIVE,
};

/** It keeps nothing, so all connections share it. */
const NATIVE: Encoder = {
  begin: () => NOTHING,
  event: (event) => [{ data: eventJson(event) }],
  end: (end) => (end.reason === 'finished' ? NOTHING : [closing(end)]),
};

/**
 * An event as JSON. The parsed value of arguments that are still streaming is left out: it repeats all that came before, and
 * a client that wants it can parse the text.
 */
export function eventJson(event: StreamEvent): string {
  if (event.type === 'message_delta' && event.partial !== undefined) {
    const { partial: _, ...rest } = event;
    return JSON.stringify(rest);
  }
  if (event.type !== 'child_event') return JSON.stringify(event);
  // What a sub-agent streams is told in the same words.
  const { event: inner, ...rest } = event;
  return `${JSON.stringify(rest).slice(0, -1)},"event":${eventJson(inner)}}`;
}

function closing(end: Exclude<StreamEnd, { reason: 'finished' }>): Frame {
  const notice: ClosingNotice = { type: 'closing', ...end };
  return { data: JSON.stringify(notice) };
}
