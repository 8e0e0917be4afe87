import type { DurableEvent, DurableEventBody, PreviousSession, SessionInput } from '../events/events.ts';

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
  /**
   * Lets the session go, and says in the same write when it wants to be driven again. Without `rest` it stays due, as it
   * became with the claim. Never throws for a claim already lost.
   */
  release(rest?: Rest): Promise<void>;
}

/** How a drive leaves a session: what its row among the wakes says from then on. */
export interface Rest {
  /** The last event that the drive has seen. When the log is longer by then, the session is due at once. */
  readonly seen: number;
  /** When it wants to be driven again, in milliseconds since 1970; null for not before the next input. */
  readonly wakeAt: number | null;
  /** For lists: what the session is at. */
  readonly status: 'idle' | 'running' | 'paused';
  /** For lists: what a paused run waits for, each kind once. */
  readonly waitsFor: readonly ('approval' | 'question' | 'client_tool')[];
}

/** A session that wants to be driven, and that nobody alive holds. */
export interface DueSession {
  readonly sessionId: string;
  /** Since when, in milliseconds since 1970. */
  readonly dueAt: number;
  readonly agentId?: string;
}

/** Which sessions `due` returns. */
export interface DueOptions {
  /** Those that are due by then, in milliseconds since 1970. */
  readonly before: number;
  /** At most so many, those due first before the others. Default 50. */
  readonly limit?: number;
  /** Only sessions of these agents, and those that name none. Default: of all. */
  readonly agents?: readonly string[];
}

/** The outcome of an append. */
export type AppendOutcome =
  /** Durable. The events got the numbers `expectedSeq + 1 … seq`. */
  | { readonly ok: true; readonly events: readonly DurableEvent[] }
  /** Inputs were posted since `expectedSeq`: read them, then try again. Nothing was written. */
  | { readonly ok: false; readonly seq: number };

/** The outcome of a posted input. */
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
  /** What somebody, or a model, has called it. Its own: a fork begins without one. */
  readonly title?: string;
  /** Its own, as its title is: sorted, each once; absent when there are none. */
  readonly tags?: readonly string[];
  /**
   * `running` while somebody drives it or is to go on with it, `paused` while it waits for somebody; absent at rest, and where
   * another session drives it.
   */
  readonly status?: 'running' | 'paused';
  /** What a paused session waits for, each kind once. */
  readonly waitsFor?: Rest['waitsFor'];
  /** The session whose place it took after a time of inactivity. */
  readonly previous?: PreviousSession;
  /** Present where the journal has noticed that its log is damaged: what is wrong. The rest is what could still be read. */
  readonly damage?: string;
}

/** Which sessions `list` returns. */
export interface ListOptions {
  /** At most so many, newest first. Default 50. */
  readonly limit?: number;
  /** The `cursor` of an earlier page. */
  readonly cursor?: string;
  readonly agentId?: string;
  /** Only sessions that have this tag. */
  readonly tag?: string;
}

/** A page of sessions, and where the next one begins. */
export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** Present when there are more. */
  readonly cursor?: string;
}

/** What somebody has folded a log into, from its first event to number `seq`, as text. */
export interface Snapshot {
  readonly seq: number;
  readonly text: string;
}

/**
 * Snapshots of a log, so that opening a session costs its tail and not its length. They are a cache: a journal may lose
 * any of them at any time, and keeps fewer of them the older they are (`thinSnapshots`). It doesn't look into their text;
 * whoever loads one checks it.
 */
export interface Snapshots {
  /**
   * Keeps a snapshot, from anyone, without a claim: what a log says up to an event never changes. One at the same event is
   * replaced. It is no write to the log: nobody who watches is told. `session_not_found` when there is no such event.
   */
  save(sessionId: string, snapshot: Snapshot): Promise<void>;
  /** The newest snapshot at event `upTo` or before it, those of a fork's prefix included; null when there is none. */
  load(sessionId: string, upTo: number): Promise<Snapshot | null>;
}

/**
 * The journal port: an append-only log per session, with one writer at a time and an inbox for everyone.
 * Every method rejects with a `TreadleError`: `session_not_found`, `session_exists`, `session_busy`, `fenced`,
 * `journal_failed` (also after `close`), `journal_timeout`, `journal_corrupt`, `journal_too_new`. `journalContract` of
 * `@treadle/testing` checks an implementation.
 *
 * What `append` and `post` have acknowledged survives the death of the process (in the memory journal, whose contents
 * die with it, there is nothing to survive).
 *
 * Events given to a journal and got from it are shared: nobody may change them.
 */
export interface Journal {
  /**
   * Starts a log with `session_created` as its event 1. As a fork, the log begins with the parent's events `1 … seq`, by
   * reference, and `first` is event `seq + 1`. `session_not_found` when the parent has no such event.
   */
  create(
    sessionId: string,
    first: DurableEventBody,
    fork?: { readonly sessionId: string; readonly seq: number },
  ): Promise<void>;
  /**
   * Takes the session for one drive, with an epoch higher than all before. `session_busy`, naming the owner, while
   * another owner's claim is alive. An owner that claims again replaces its own claim.
   */
  claim(sessionId: string, owner: Owner): Promise<Claim>;
  /**
   * Writes all events or none. `ok: false` when the log is ahead of `expectedSeq` through posts only. Rejects with
   * `fenced` when a higher epoch exists, the claim was released, or the log is otherwise not where the drive thinks it
   * is: that drive may write nothing any more.
   */
  append(
    sessionId: string,
    epoch: number,
    expectedSeq: number,
    events: readonly DurableEventBody[],
  ): Promise<AppendOutcome>;
  /**
   * Writes an `input_received`, from anyone, without a claim. The same key again in the same session writes nothing and
   * returns the number of the first. A fork doesn't inherit its parent's keys.
   */
  post(sessionId: string, input: SessionInput, key: string, at: number): Promise<PostOutcome>;
  /**
   * The events from number `from` on (1 is the first), a fork's prefix included, to the end of the log as it is when the
   * first one is asked for. What is written meanwhile is left to the next `read`. It costs what is read of it, however
   * much comes before `from`.
   */
  read(sessionId: string, from: number): AsyncIterable<DurableEvent>;
  /**
   * Calls `changed` with the log's last sequence number after each append or post, and after the session's removal: at once, before the writer is
   * acknowledged, for writes of this process; soon for those of others. A listener that throws is ignored. Returns a
   * function that ends the watch.
   */
  watch(sessionId: string, changed: (seq: number) => void): () => void;
  /**
   * Sessions by their last event's time, newest first. A damaged log keeps no other session from being listed. A session written to while someone pages moves to the front: it is
   * never listed twice, but may be missed by the later pages.
   */
  list(options?: ListOptions): Promise<SessionPage>;
  /**
   * Sessions that want to be driven, found without opening any. One is due when an input was posted to it that no drive
   * has let go after, when its time has come (`Rest.wakeAt`), and when the process that held it is no more. Never those
   * that another session drives (`isDrivenElsewhere`).
   */
  due(options: DueOptions): Promise<readonly DueSession[]>;
  /**
   * Deletes a session; its id is free again. What forks still use of it stays readable through them. `session_busy` while
   * a claim on it is alive.
   */
  remove(sessionId: string): Promise<void>;
  /** Absent when this journal keeps none: then a session that is opened is folded from its first event. */
  readonly snapshots?: Snapshots;
  /** Lets go of files, connections, timers and watchers. Calls after it reject with `journal_failed`. */
  close(): Promise<void>;
}
