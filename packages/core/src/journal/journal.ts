import type { DurableEvent, DurableEventBody, SessionInput } from '../events/events.ts';

/** Who drives a session: shown to the next process that wants it. */
export interface Owner {
  /** Unique per drive. */
  readonly id: string;
  /** For people: a process id, a host name, a command. */
  readonly label: string;
}

/** A held session. While it is held and renewed, nobody else gets it. */
export interface Claim {
  readonly sessionId: string;
  readonly epoch: number;
  /** The last sequence number of the log when it was claimed. */
  readonly seq: number;
  /** Milliseconds after which the claim lapses unless renewed; `Infinity` where a claim dies with its process. */
  readonly leaseMs: number;
  /** Extends the lease. False when the session was taken over. */
  renew(): Promise<boolean>;
  /** Lets the session go. Never throws for a claim already lost. */
  release(): Promise<void>;
}

export type AppendOutcome =
  /** Durable. The events got the numbers `expectedSeq + 1 … seq`. */
  | { readonly ok: true; readonly events: readonly DurableEvent[] }
  /** Inputs were posted since `expectedSeq`: read them, then try again. Nothing was written. */
  | { readonly ok: false; readonly seq: number };

export interface PostOutcome {
  readonly seq: number;
  /** True when an input with this key was there already; nothing was written. */
  readonly duplicate: boolean;
}

/** One row of `list`. */
export interface SessionSummary {
  readonly sessionId: string;
  /** Last sequence number. */
  readonly seq: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly agentId?: string;
  /** The beginning of the first prompt, at most 120 characters. */
  readonly firstPrompt?: string;
  readonly parent?: { readonly sessionId: string; readonly seq: number };
}

export interface ListOptions {
  /** At most so many, newest first. Default 50. */
  readonly limit?: number;
  /** The `cursor` of an earlier page. */
  readonly cursor?: string;
  readonly agentId?: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** Present when there are more. */
  readonly cursor?: string;
}

/**
 * The journal port: an append-only log per session, with one writer at a time and an inbox for everyone.
 * Every method rejects with a `TreadleError`: `session_not_found`, `session_exists`, `session_busy`, `fenced`,
 * `journal_failed`, `journal_corrupt`, `journal_too_new`.
 *
 * What `append` and `post` have acknowledged survives the death of the process.
 */
export interface Journal {
  /** Starts a log with `session_created` as its event 1; as a fork, the log goes on after the parent's event `seq`. */
  create(
    sessionId: string,
    first: DurableEventBody,
    fork?: { readonly sessionId: string; readonly seq: number },
  ): Promise<void>;
  /** Takes the session for one drive, with a new epoch. `session_busy` while another owner's claim is alive. */
  claim(sessionId: string, owner: Owner): Promise<Claim>;
  /** Writes all events or none. Rejects with `fenced` when a higher epoch exists. */
  append(
    sessionId: string,
    epoch: number,
    expectedSeq: number,
    events: readonly DurableEventBody[],
  ): Promise<AppendOutcome>;
  /** Writes an `input_received`, from anyone, without a claim. The same key again changes nothing. */
  post(sessionId: string, input: SessionInput, key: string, at: number): Promise<PostOutcome>;
  /** The events from number `from` on (1 is the first), a fork's prefix included, to the end of the log as it is now. */
  read(sessionId: string, from: number): AsyncIterable<DurableEvent>;
  /** Calls `changed` after each append or post it hears of, from this process at once and from others soon. */
  watch(sessionId: string, changed: () => void): () => void;
  list(options?: ListOptions): Promise<SessionPage>;
  /** Deletes a session. What forks still use of it stays readable through them. */
  remove(sessionId: string): Promise<void>;
  /** Lets go of files, connections and timers. */
  close(): Promise<void>;
}
