import type { Message, PendingCall, TreadleEvent } from '@treadle/core';
import type { SessionStatus } from '@treadle/core/session';
import { isPassing } from './error.ts';
import type { Http } from './http.ts';
import { readEvents } from './sse.ts';

/** What a reader gets who is too far behind to be told every event: the stream goes on with the event after `seq`. */
export interface Snapshot {
  readonly type: 'snapshot';
  readonly seq: number;
  readonly sessionId: string;
  readonly status: SessionStatus;
  readonly runId?: string;
  readonly messages: readonly Message[];
  readonly pending: readonly PendingCall[];
}

/** Why the server ends a stream. */
interface Closing {
  readonly type: 'closing';
  readonly reason: 'removed' | 'draining' | 'failed';
}

/** One event of a stream, and the id to come back with. */
export interface StreamMessage {
  readonly id: string | null;
  readonly event: TreadleEvent | Snapshot;
}

/** Options of a stream of events. */
export interface StreamOptions {
  /** The id of the last message that was seen. Default: from the beginning of the session. */
  readonly after?: string;
  /** Ends the stream. The run it tells of is not cancelled by that. */
  readonly signal?: AbortSignal;
}

/**
 * Tells of a session, event by event, and comes back by itself, after the last event it has told, whenever the connection
 * breaks. It ends when the session is deleted.
 *
 * @throws ClientError for what will not pass: no such session, no right to see it.
 */
export async function* streamSession(
  http: Http,
  sessionId: string,
  { after, signal }: StreamOptions = {},
): AsyncGenerator<StreamMessage> {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/stream`;
  let last: string | null = after ?? null;
  let leastMs = 0;
  const onRetry = (ms: number): void => {
    leastMs = ms;
  };
  for (let failures = 0; !signal?.aborted;) {
    try {
      for await (const { id, data } of readEvents(await http.stream(path, last, signal), { onRetry })) {
        const event = JSON.parse(data) as StreamMessage['event'] | Closing;
        if (event.type === 'closing') {
          if (event.reason === 'removed') return;
          break;
        }
        failures = 0;
        last = id;
        yield { id, event };
        if (signal?.aborted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
    }
    if (signal?.aborted) return;
    await http.pause(failures, signal, leastMs).catch(() => {});
    failures += 1;
  }
}
