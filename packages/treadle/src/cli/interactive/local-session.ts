import { sessionsOf, TreadleError, type Journal, type Run, type Session, type TreadleEvent } from '@treadle/core';
import { isDurable, type SessionInput } from '@treadle/core/events';

import type { Live } from '../sessions/live.ts';
import type { TerminalSession } from '../../terminal/session/session.ts';

/** Milliseconds that another process has to go on with what it has answered. */
const OTHERS_FIRST_MS = 500;
/** What somebody must act on. */
const ACTED_ON: ReadonlySet<SessionInput['type']> = new Set([
  'prompt',
  'steering',
  'follow_up',
  'cancel',
  'approval_answer',
  'client_tool_results',
]);
/** Durable events that a terminal shows of a long log: what came before is in the pager. */
const SHOWN = 200;

export interface LocalSessionOptions {
  readonly journal: Journal;
  readonly live: Live;
  /** The last event when it was opened. */
  readonly seq: number;
  /** What went wrong in a run, besides what the log says. */
  fail(error: unknown): void;
}

/**
 * A session that this process drives, or is about to. Its events include those that other processes write, and the text that
 * they stream.
 */
export function localSession(session: Session, { journal, live, seq, fail }: LocalSessionOptions): TerminalSession {
  const first = Math.max(1, seq - SHOWN + 1);
  const closed = new AbortController();
  const { signal } = closed;
  const remove = live.add(session);

  /**
   * Somebody else has said something. Who only posts drives nothing: then the session goes on here. A process that has
   * begun to drive it meanwhile keeps it.
   */
  function goOnSoon(): void {
    const goOn = async (): Promise<void> => {
      // It may be about to end, and not have seen what was said.
      await session.activeRun?.outcome.catch(() => {});
      if (signal.aborted || session.activeRun !== null) return;
      await session.refresh();
      if (session.canResume) await session.resume().outcome;
    };
    setTimeout(() => void goOn().catch(() => {}), OTHERS_FIRST_MS).unref();
  }

  async function* events(): AsyncGenerator<TreadleEvent> {
    const { followSession } = await import('@treadle/server/live');
    for await (const event of followSession({ sessionId: session.id, journal, live, from: first, signal })) {
      // Earlier input waits for the user here.
      const isNew = isDurable(event) && event.seq > seq;
      if (isNew && event.type === 'input_received' && ACTED_ON.has(event.input.type)) goOnSoon();
      yield event;
    }
  }

  /** What becomes of a run, the log says; only that it could not be driven is said here. */
  const drive = (run: Run): void => {
    run.outcome.catch((error: unknown) => fail(error));
  };

  async function post(input: SessionInput): Promise<void> {
    // Another process may have answered, or gone on. A cancellation doesn't wait for what it ends.
    if (session.activeRun === null && input.type !== 'cancel') await session.refresh();
    switch (input.type) {
      case 'prompt': {
        const content = input.messages.flatMap((message) => message.content);
        // Whoever said it has not seen yet that a run is there.
        if (session.activeRun === null) drive(session.prompt(content));
        else await session.steer(content);
        return;
      }
      case 'steering':
      case 'follow_up': {
        const { content } = input.message;
        // The run has ended since it was typed: nothing would deliver it.
        if (session.activeRun === null && session.status === 'idle') drive(session.prompt(content));
        else if (input.type === 'steering') await session.steer(content);
        else await session.followUp(content);
        return;
      }
      case 'approval_answer': {
        const { type: _, approvalId, decision, requestKey: __, ...said } = input;
        const run = session[decision](approvalId, said);
        // The answer is in the log by then, and whoever drives goes on with it.
        run.outcome.catch((error: unknown) => {
          if (!(error instanceof TreadleError && error.code === 'session_busy')) fail(error);
        });
        return;
      }
      case 'client_tool_results':
        drive(session.addToolOutputs(input.results));
        return;
      case 'cancel':
        await session.abort(input.reason);
        return;
      case 'clear_queue':
        await session.clearQueue(input.kind);
        return;
      case 'permission_updates':
        await session.updatePermissions(input.updates);
        return;
      case 'compact':
        await session.compact(input.instructions === undefined ? {} : { instructions: input.instructions });
        return;
      case 'stop_task':
        await session.tasks.stop(input.taskId);
        return;
      case 'rename':
        await sessionsOf(journal).rename(session.id, input.title);
        return;
      case 'continue':
        drive(session.continue());
        return;
      default:
        throw new Error(`A terminal posts no ${input.type}.`);
    }
  }

  return {
    id: session.id,
    events: events(),
    leftOut: first - 1,
    history: () => journal.read(session.id, 1),
    post,
    async resume() {
      drive(session.resume());
    },
    isCutOff: async () => session.activeRun === null && session.status === 'running' && session.canResume,
    async close() {
      closed.abort();
      remove();
      await session.close({ abort: true, reason: 'The terminal was left.' });
    },
  };
}
