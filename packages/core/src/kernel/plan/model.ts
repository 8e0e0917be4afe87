import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { CALL_GATES, money, VIEW_GATES } from '../features.ts';
import { first } from '../moments.ts';
import { endRun } from './run-events.ts';
import { triggerOf, turnEnded } from './turn-events.ts';
import type { RunState, SessionState, TurnState } from '../state.ts';
import { record, type Step } from '../step.ts';

/** What happens next with a turn whose reply isn't there: the call, another attempt at it, or giving up. */
export function planModelCall(state: SessionState, run: RunState, turn: TurnState, agent: Agent, now: number): Step {
  const { runId } = run;
  const { index: turnIndex, attempt, modelIndex, modelAttempt, failure } = turn;
  const again = (index: number): DurableEventBody => ({
    type: 'turn_started',
    at: now,
    runId,
    turnIndex,
    triggeredBy: triggerOf(run, turnIndex),
    attempt: attempt + 1,
    ...(index === 0 ? {} : { modelIndex: index }),
  });
  // The drive that made this call is gone, and what it had streamed, or was being summed up for it, with it.
  if (!failure && run.tooLong === null && turn.epoch !== state.epoch && mayHaveBeenMade(run, agent)) {
    return record([
      { type: 'message_discarded', at: now, runId, turnIndex, attempt, reason: 'interrupted' },
      ...money.settleOpen(state, run, now),
      again(modelIndex),
    ]);
  }
  const stray = money.settleStray(state, run, turn, now);
  if (stray.length > 0) return record(stray);
  const compaction = first(VIEW_GATES, state, run, turn, agent, now);
  if (compaction) return compaction;
  if (failure) {
    const { error, retry } = failure;
    if (!retry)
      return record([
        turnEnded(run, turn, agent, now),
        endRun(run, now, 'model_error', 'error', { message: error.message, error }),
      ]);
    return now < retry.at ? { type: 'wait', until: retry.at } : record([again(retry.modelIndex)]);
  }
  const budget = first(CALL_GATES, state, run, turn, agent, now);
  if (budget) return budget;
  const granted = run.limits.reservation ? money.of(state, run, turn) : null;
  const call = { type: 'call_model', turnIndex, attempt, modelIndex, modelAttempt } as const;
  return granted?.granted === true ? { ...call, money: granted } : call;
}

/** Where money is limited no call is made before it is set aside: without a reservation nobody has asked. */
const mayHaveBeenMade = (run: RunState, agent: Agent): boolean =>
  run.limits.reservation !== null || !money.isLimited(run, agent);
