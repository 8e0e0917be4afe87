import type { DurableEventBody, RunEnd } from '../events/events.ts';
import type { Limits } from '../limits/limits.ts';
import { totalTokens } from '../model/model.ts';
import type { RunState } from './state.ts';

/** A limit that was reached: how the run ends, and why in words. */
export interface LimitHit {
  readonly end: Extract<RunEnd, 'turn_limit' | 'token_limit' | 'time_limit'>;
  readonly message: string;
}

/** Milliseconds of driven time, up to `now` while a drive is at work. */
export function activeTime(run: RunState, now: number): number {
  return run.activeMs + (run.paused ? 0 : Math.max(0, now - run.lastAt));
}

/**
 * The limit a run has reached, if any. With a turn open only time counts: turns and tokens are checked before the next
 * model call, so a turn that began is finished.
 */
export function exceededLimit(
  run: RunState,
  limits: Limits,
  now: number,
  { turnOpen }: { readonly turnOpen: boolean },
): LimitHit | null {
  const elapsed = activeTime(run, now);
  if (elapsed >= limits.maxDurationMs) {
    const message = `time limit reached (${(elapsed / 1000).toFixed(1)} s of ${limits.maxDurationMs / 1000} s)`;
    return { end: 'time_limit', message };
  }
  if (turnOpen) return null;
  if (run.turns >= limits.maxTurns) {
    return { end: 'turn_limit', message: `turn limit reached (${run.turns} of ${limits.maxTurns} turns)` };
  }
  const tokens = totalTokens(run.usage);
  if (tokens >= limits.maxTotalTokens) {
    return { end: 'token_limit', message: `token limit reached (${tokens} of ${limits.maxTotalTokens} tokens)` };
  }
  return null;
}

/** What the history says about a run that was stopped. */
export function limitMessage(run: RunState, at: number, limit: LimitHit): DurableEventBody {
  const text = `[Agent stopped: ${limit.message}]`;
  return {
    type: 'message_added',
    at,
    runId: run.runId,
    inView: true,
    message: { role: 'user', id: `${run.runId}.limit`, at, origin: 'limit', content: [{ type: 'text', text }] },
  };
}
