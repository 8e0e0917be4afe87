import { errorText, TreadleError, type TreadleErrorCode } from './errors.ts';
import { agentOfRun } from './loop/offered-tools.ts';
import { plan } from './loop/plan.ts';
import { isTooLate } from './loop/plan-answers.ts';
import type { CallState } from './loop/state.ts';
import type { Run } from './run.ts';
import { pendingCalls } from './session-results.ts';
import {
  goOnWith,
  hasWork,
  openCalls,
  refresh,
  resume,
  start,
  type Expiry,
  type SessionParts,
} from './session-runs.ts';

/** Goes on with the open run, also with one that waits for a sub-agent whose question nobody has answered in time. */
export function resumeSession(parts: SessionParts): Run {
  if (parts.active || overdue(parts).length === 0) return resume(parts);
  return start(parts, async (control) => {
    await goOnWith(parts, control);
    for (const { callId, childSessionId } of overdue(parts)) {
      // The call looks again, and its sub-agent finds that the time is over. Several may see it; once is enough.
      const key = `expired:${callId}:${parts.state.seq}`;
      if (childSessionId !== null) await parts.post({ type: 'child_updated', sessionId: childSessionId }, key);
    }
  });
}

/** Whether there is something to do that nobody has to answer first. */
export const canGoOn = (parts: SessionParts): boolean =>
  plan(parts.state, agentOfRun(parts.agent, parts.state), parts.clock.now()).type !== 'idle' ||
  overdue(parts).length > 0;

/** Calls whose sub-agents wait for an answer that would come too late. */
function overdue(parts: SessionParts): CallState[] {
  const now = parts.clock.now();
  return openCalls(parts).filter(
    ({ status, paused }) =>
      status === 'started' &&
      paused?.woken === false &&
      paused.pending.some(({ expiresAt = null }) => isTooLate({ expiresAt }, now)),
  );
}

/** Milliseconds until it is tried again, where another process holds the session. */
const AGAIN_MS = 1000;

/** Another process has it, or has seen to it. */
const HARMLESS: ReadonlySet<TreadleErrorCode> = new Set(['session_busy', 'fenced', 'nothing_to_continue']);

/**
 * Goes on with a run at the time at which nobody can answer any more what it waits for. The timer keeps no process alive:
 * where none has the session open, whoever opens it next goes on.
 */
export function createExpiry(parts: SessionParts): Expiry {
  let cancel = (): void => {};
  let stopped = false;
  let notBefore = 0;

  function arm(): void {
    cancel();
    cancel = () => {};
    if (stopped || parts.active) return;
    const next = Math.min(...pendingCalls(parts).map(({ expiresAt = Infinity }) => expiresAt));
    if (next === Infinity) return;
    const ms = Math.max(0, Math.max(next, notBefore) - parts.clock.now());
    cancel = parts.clock.after(ms, () => void wake(), { background: true });
  }

  async function wake(): Promise<void> {
    try {
      // Somebody may have answered, or be at it.
      if (!parts.active) await refresh(parts);
      if (stopped || parts.active) return;
      if (!hasWork(parts) || !canGoOn(parts)) return;
      notBefore = parts.clock.now() + AGAIN_MS;
      await resumeSession(parts).end;
    } catch (error) {
      if (error instanceof TreadleError && HARMLESS.has(error.code)) return;
      const message = `The time to answer is over, and the run could not go on: ${errorText(error)}`;
      parts.hub.emit({ type: 'warning', afterSeq: parts.state.seq, code: 'expiry_failed', message });
    }
  }

  return {
    arm,
    stop() {
      stopped = true;
      cancel();
    },
  };
}
