import type { Limits, UseLimit } from '../../events/limits.ts';
import { totalTokens } from '../../model/model.ts';
import type { BetweenTurns } from '../between-turns.ts';
import type { RunState } from '../state.ts';
import { type LimitHit, reachedLimit, type Used, withLimits } from './limits.ts';

/** The limits a run is under. */
export const limitsOf = (run: RunState, agent: { readonly limits: Limits }): Limits =>
  withLimits(agent.limits, run.limits.own);

/** Milliseconds of driven time, up to `now` while a drive is at work. */
export function activeTime(run: RunState, now: number): number {
  return run.activeMs + (run.paused ? 0 : Math.max(0, now - run.lastAt));
}

/** What a run has used of each limit. */
export const usedBy = (run: RunState, now: number): Used => ({
  turns: run.turns,
  tool_turns: run.limits.toolTurns,
  tool_calls: run.limits.toolCalls,
  tokens: totalTokens(run.usage),
  time: activeTime(run, now),
  cost: run.limits.spent,
});

/** Whether the run's time is up: then nobody is asked about its end, for nobody would be given the time to answer. */
export const timeIsUp = ({ run, agent, now }: Pick<BetweenTurns, 'run' | 'agent' | 'now'>): LimitHit | null =>
  reachedLimit(usedBy(run, now), limitsOf(run, agent), ONLY_TIME);

/** The one limit that is looked at inside a turn. */
const ONLY_TIME: readonly UseLimit[] = ['time'];
