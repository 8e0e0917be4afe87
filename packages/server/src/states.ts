import type { Journal } from '@treadle/core';
import { openState, reduce, type SessionState } from '@treadle/core/kernel';

interface Entry {
  state: SessionState | null;
  /** Folding goes on one after the other. */
  turn: Promise<unknown>;
}

/** What sessions are at: their logs, folded, and kept so that the next question costs what is new. */
export function createStates(journal: Journal, most: number) {
  const entries = new Map<string, Entry>();

  async function fold(sessionId: string, entry: Entry): Promise<SessionState> {
    try {
      const { state } = entry;
      if (!state) {
        const opened = await openState(journal, sessionId);
        entry.state = opened.state;
        return opened.state;
      }
      for await (const event of journal.read(sessionId, state.seq + 1)) reduce(state, event);
      return state;
    } catch (error) {
      // A session that was removed, and may be made anew under its id.
      entries.delete(sessionId);
      throw error;
    }
  }

  return {
    /**
     * The state with all that its log has now. It is changed in place by the next question about the same session: read it
     * before you wait for anything.
     */
    of(sessionId: string): Promise<SessionState> {
      const entry = entries.get(sessionId) ?? { state: null, turn: Promise.resolve() };
      // What was asked for last is kept longest.
      entries.delete(sessionId);
      entries.set(sessionId, entry);
      for (const oldest of entries.keys()) {
        if (entries.size <= most) break;
        entries.delete(oldest);
      }
      const folded = entry.turn.then(() => fold(sessionId, entry));
      entry.turn = folded.catch(() => {});
      return folded;
    },
  };
}
