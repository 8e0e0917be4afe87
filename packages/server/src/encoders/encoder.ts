import type { Message, PendingCall, TreadleEvent } from '@treadle/core';
import type { SessionStatus } from '@treadle/core/session';

/** What a session has come to, for a reader who can't be told every event since the last one it saw. */
export interface SessionSnapshot {
  readonly type: 'snapshot';
  /** The last event that is in it: the stream goes on with the next. */
  readonly seq: number;
  readonly sessionId: string;
  readonly status: SessionStatus;
  /** The open run. */
  readonly runId?: string;
  /** The conversation as models see it, oldest first. */
  readonly messages: readonly Message[];
  /** What the open run waits for. */
  readonly pending: readonly PendingCall[];
}

/** Everything a stream tells: the session's events, and now and then a snapshot in the place of many of them. */
export type StreamEvent = TreadleEvent | SessionSnapshot;

/** What an encoder knows before the first event. */
export interface StreamStart {
  readonly sessionId: string;
  /** The run that is streamed, once it is known; absent on streams of whole sessions. */
  readonly runId?: string;
  /** True when the reader has seen a part of it before, and goes on after it. */
  readonly resumed: boolean;
}

/** Why a stream is over. */
export type StreamEnd =
  /** The run that was streamed has ended or paused: its last event was told. */
  | { readonly reason: 'finished' }
  /** The session was deleted. */
  | { readonly reason: 'removed' }
  /** The server is about to stop. The run goes on elsewhere, or later. */
  | { readonly reason: 'draining' }
  /** Something failed here; the run goes on all the same. The message is for clients to read. */
  | { readonly reason: 'failed'; readonly code: string; readonly message: string };

/** One message of a stream: the fields of a server-sent event, or a WebSocket message. */
export interface Frame {
  readonly data: string;
  /** The `event` field of a server-sent event. A WebSocket message has none. */
  readonly event?: string;
}

/**
 * Writes events in the words of one protocol: a fold without effects, so that the same events give the same frames. Each
 * connection has one of its own, which may keep what it needs to know of what it was told before.
 *
 * It is told the events of a session in their order, without gap or repeat: the durable ones, and the live ones of the message
 * that is open. A message that was finished before the reader came is told as a whole, by its `message_added`, without
 * deltas. A reader who comes back gets an encoder that has seen nothing, and then what it has missed; the deltas it gets
 * of a message that it knows a part of begin after that part.
 */
export interface Encoder {
  begin(start: StreamStart): readonly Frame[];
  event(event: StreamEvent): readonly Frame[];
  end(end: StreamEnd): readonly Frame[];
}

/** A protocol that a stream may be written in. */
export interface StreamFormat {
  /** How it is asked for. */
  readonly name: string;
  readonly contentType: string;
  /** Further headers of a response that streams in it. */
  readonly headers?: Readonly<Record<string, string>>;
  /** False for protocols whose clients take no `id` fields. A reader of theirs can't resume by `Last-Event-ID`. */
  readonly ids: boolean;
  /**
   * True when its encoders keep nothing, so that an event has the same frames whoever is told and whenever: they are then made
   * once for all who follow a session. Default: each connection's encoder is asked.
   */
  readonly stateless?: boolean;
  encoder(): Encoder;
}

/** No frames. */
export const NOTHING: readonly Frame[] = [];

/** All frames of a finished stream: what golden files hold. */
export function encodeAll(
  format: StreamFormat,
  start: StreamStart,
  events: Iterable<StreamEvent>,
  end: StreamEnd,
): readonly Frame[] {
  const encoder = format.encoder();
  const frames = [...encoder.begin(start)];
  for (const event of events) frames.push(...encoder.event(event));
  frames.push(...encoder.end(end));
  return frames;
}
