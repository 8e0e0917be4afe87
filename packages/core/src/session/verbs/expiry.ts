import { errorText, TreadleError, type TreadleErrorCode } from '../../errors.ts';
import { agentOfRun } from '../../kernel/perform/offered-tools.ts';
import { plan } from '../../kernel/plan.ts';
import { pendingOfRun } from './tool-outputs.ts';
import type { Expiry, SessionParts } from '../parts.ts';
import { hasWork, refresh, resume } from '../runs.ts';

/** Whether there is something to do that nobody has to answer first. */
export const canResume = (parts: SessionParts): boolean =>
  plan(parts.state, agentOfRun(parts.agent, parts.state), parts.clock.now()).type !== 'idle';

/** Milliseconds until it is tried again, where another process holds the session, or sees its end otherwise. */
const AGAIN_MS = 1000;

/** Another process has it, or has seen to it. */
const HARMLESS: ReadonlySet<TreadleErrorCode> = new Set(['session_busy', 'fenced', 'nothing_to_continue']);

/** When it is too late for the first of the answers that are waited for; Infinity for never. */
export function firstExpiry(parts: SessionParts): number {
  if (parts.state.run === null) return Infinity;
  // Tasks in the background see to theirs themselves.
  return Math.min(...pendingOfRun(parts).map(({ expiresAt = Infinity }) => expiresAt));
}

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
    const next = firstExpiry(parts);
    if (next === Infinity) return;
    const ms = Math.max(0, Math.max(next, notBefore) - parts.clock.now());
    cancel = parts.clock.after(ms, () => void wake(), { background: true });
  }

  async function wake(): Promise<void> {
    notBefore = parts.clock.now() + AGAIN_MS;
    try {
      // Somebody may have answered, or be at it.
      if (!parts.active) await refresh(parts);
      if (stopped || parts.active) return;
      if (hasWork(parts) && canResume(parts)) await resume(parts).outcome;
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
