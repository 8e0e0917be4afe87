import type { Journal, TreadleEvent } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import type { LiveFeed } from '@treadle/core/ports';
import { TreadleError } from '@treadle/core';
import { followSession } from '@treadle/server/live';

import { randomUUID } from 'node:crypto';

/** What a person says to a session. */
export type TypedInput = Extract<
  SessionInput,
  { readonly type: 'prompt' | 'steering' | 'follow_up' | 'cancel' | 'approval_answer' | 'clear_queue' }
>;

/** A session that another process drives: what happens in it, and a way to say something. */
export interface AttachedSession {
  readonly id: string;
  /** From the first event of the log on. It ends when the session is left or deleted. */
  readonly events: AsyncIterable<TreadleEvent>;
  /**
   * Puts an input into the log: a prompt, steering, a follow-up, an answer, a cancellation.
   *
   * @throws TreadleError or ClientError `conflict` for a question that somebody else has answered.
   */
  post(input: TypedInput): Promise<void>;
  /** Leaves the session as it is. */
  close(): void;
}

/** Who reads along and says something: told to everyone else. */
export interface Reader {
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A session by its journal: what its process has written, as soon as it is there, and the text that it streams. */
export function journalSession(journal: Journal, live: LiveFeed, id: string, { by, now }: Reader): AttachedSession {
  const closed = new AbortController();

  async function post(input: TypedInput): Promise<void> {
    const said = { ...input, by };
    if (input.type !== 'approval_answer') {
      await journal.post(id, said, randomUUID(), now());
      return;
    }
    const asked = await sessionAsking(journal, id, input.approvalId);
    const { duplicate } = await journal.post(asked, said, answerKey(input.approvalId), now());
    if (duplicate) throw new TreadleError('conflict', 'It was answered already.');
    // Those above it are told, the one that is next to it first.
    for (let below = asked; below !== id;) {
      const above = await parentOf(journal, below);
      if (above === null) return;
      await journal.post(
        above,
        { type: 'child_updated', sessionId: below },
        `told:${answerKey(input.approvalId)}`,
        now(),
      );
      below = above;
    }
  }

  return {
    id,
    events: followSession({ sessionId: id, journal, live, signal: closed.signal }),
    post,
    close: () => closed.abort(),
  };
}

/** As core has it: the question is the key, and whoever posts first has answered. */
const answerKey = (approvalId: string): string => `answer:${approvalId}`;

/** The session whose call waits: this one, or a sub-agent's. */
async function sessionAsking(journal: Journal, id: string, approvalId: string): Promise<string> {
  let found = id;
  for await (const event of journal.read(id, 1)) {
    if (event.type !== 'run_paused' && event.type !== 'tool_paused') continue;
    for (const call of event.pending) if (call.approvalId === approvalId) found = call.sessionId ?? id;
  }
  return found;
}

async function parentOf(journal: Journal, id: string): Promise<string | null> {
  for await (const event of journal.read(id, 1)) {
    return event.type === 'session_created' ? (event.spawnedBy?.sessionId ?? null) : null;
  }
  return null;
}
