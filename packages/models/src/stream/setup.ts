import type { Clock, Http, Usage } from '@treadle/core';
import type { ModelEvent, ModelRequest, ModelWarning } from '@treadle/core/model';
import type { HttpBody } from '@treadle/core/ports';
import type { Redact } from '../errors/redact.ts';
import type { Encoder, Protocol } from '../protocols/shared/protocol.ts';

/** What all streams of one model share. */
export interface StreamSetup {
  readonly protocol: Protocol;
  readonly http: Http;
  readonly clock: Clock;
  readonly redact: Redact;
  /** Whether an error that isn't worth trying again is so after all; see `Encoder`. */
  readonly recovers: Encoder['recovers'];
  /** Whether what only keeps the connection alive counts as an answer that goes on. */
  readonly pingsResetIdleTimeout: boolean;
  /** Finds out what has to be known of the server before a request is written. Undefined when nothing is left to ask. */
  readonly ready?: (signal: AbortSignal) => Promise<void> | undefined;
  /** A reply came to its end: what doesn't look right about what its prompt cost. */
  finished(request: ModelRequest, body: HttpBody, usage: Usage): ModelWarning | null;
  prepare(request: ModelRequest): {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: HttpBody;
    /** Tells what the request lost, once it was answered; nothing that was told before. */
    readonly warnings: () => readonly ModelWarning[];
  };
}

export type Body = AsyncIterator<Uint8Array>;

/** After the last event, what may still come is read so that the connection can be kept: this much, this long. */
export const DRAIN_BYTES = 64 * 1024;

export const DRAIN_MS = 1000;

/**
 * Characters of frames that gave no event. A decoder may keep what they hold until a block ends, such as a signature, so
 * the limits of a reply, which count events, don't bound them.
 */
export const MOST_SILENT = 64_000_000;

/** Events that say nothing but that somebody is still there. Comments are no events at all. */
export const KEEP_ALIVES: ReadonlySet<string> = new Set(['ping', 'keepalive', 'keep-alive', 'heartbeat']);

/** Ending the iteration closes the connection. Nobody is left who could do anything about a failure. */
export function leaveBody(body: Body | undefined): void {
  try {
    body?.return?.().catch(() => {});
  } catch {
    // It failed at once.
  }
}

export const DONE: Result = { done: true, value: undefined };

export type FinishEvent = Extract<ModelEvent, { readonly type: 'finish' }>;

export type Result = IteratorResult<ModelEvent>;
