import type { DurableEvent } from '../../events/events.ts';
import type { Journal } from '../../journal/journal.ts';
import { reduce, initialState } from '../reduce.ts';
import { decodeState, encodeState } from './snapshot.ts';
import type { SessionState } from '../state.ts';

/** Events after which a snapshot is due: folding them takes a few milliseconds. */
const SNAPSHOT_EVERY = 500;

/** Keeps snapshots of a session's state, where its journal can. */
export interface SnapshotKeeper {
  /** Told of each event once it is folded in. */
  take(event: DurableEvent): void;
  /**
   * Keeps a snapshot when one is due: after a number of events, and no fewer than the view has messages, so that what is
   * written stays in proportion to the log. Nothing waits for it, and nothing needs it: one that fails is forgotten.
   */
  keepIfDue(state: SessionState): void;
}

/** A session's state, folded from its newest usable snapshot and what follows it, or from the beginning. */
export interface OpenedState {
  readonly state: SessionState;
  /** Null when the journal keeps no snapshots. */
  readonly keeper: SnapshotKeeper | null;
}

/**
 * Folds a session's log. What is read of it is what was written since the last snapshot, however long it is. A snapshot
 * that is damaged, of another version or of another log is passed over, for an older one or none.
 *
 * @throws TreadleError `session_not_found`, `journal_too_new`, `journal_corrupt`.
 */
export async function openState(journal: Journal, sessionId: string): Promise<OpenedState> {
  const { snapshots } = journal;
  let upTo = Number.MAX_SAFE_INTEGER;
  while (snapshots) {
    // One that can't be read is as good as none.
    const snapshot = await snapshots.load(sessionId, upTo).catch(() => null);
    if (snapshot === null || snapshot.seq > upTo) break;
    const opened = await openFrom(journal, decodeState(sessionId, snapshot));
    if (opened) return opened;
    upTo = snapshot.seq - 1;
  }
  const state = initialState(sessionId);
  const keeper = keeperOf(journal, 0);
  for await (const event of journal.read(sessionId, 1)) {
    reduce(state, event);
    keeper?.take(event);
  }
  return { state, keeper };
}

/** Null when the log isn't the one that the state was folded from. */
async function openFrom(journal: Journal, decoded: ReturnType<typeof decodeState>): Promise<OpenedState | null> {
  if (decoded === null) return null;
  const { state } = decoded;
  const from = state.seq;
  const keeper = keeperOf(journal, from);
  let isOurs = false;
  // The last event folded in is read once more, to compare.
  for await (const event of journal.read(state.sessionId, from)) {
    if (isOurs) reduce(state, event);
    else isOurs = decoded.isOf(event);
    if (!isOurs) return null;
    keeper?.take(event);
  }
  return isOurs ? { state, keeper } : null;
}

function keeperOf({ snapshots }: Journal, from: number): SnapshotKeeper | null {
  if (!snapshots) return null;
  let kept = from;
  let last: DurableEvent | null = null;
  return {
    take(event) {
      last = event;
    },
    keepIfDue(state) {
      if (state.seq - kept < Math.max(SNAPSHOT_EVERY, state.view.length) || last?.seq !== state.seq) return;
      kept = state.seq;
      try {
        // Not awaited: the loop goes on, and a session whose snapshot is lost is opened from an older one.
        void snapshots.save(state.sessionId, encodeState(state, last)).catch(() => {});
      } catch {
        // A state that is no JSON, or a journal that throws at once: no reason to end a run.
      }
    },
  };
}
