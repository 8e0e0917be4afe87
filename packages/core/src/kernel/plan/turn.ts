import type { DurableEventBody } from '../../events/events.ts';
import type { StopReason } from '../../model/model.ts';
import type { BetweenTurns, FinishGate } from '../between-turns.ts';
import {
  AFTER_PROMPT,
  BEFORE_PROMPT,
  CLOSING_GATES,
  CONTINUES,
  decorated,
  endFacts,
  ENDING_CALL,
  ENDS_RUN,
  FINISH_GATES,
  modelOfTurn,
  NOTES,
  REMINDERS,
  RESULTS,
  RUN_CONTEXT,
  stuckIn,
  TURN_GATES,
  turnLimit,
} from '../features.ts';
import { endingCall } from '../final-answer.ts';
import { first, gather } from '../moments.ts';
import { deliver } from '../services/queues.ts';
import { endRun, limitMessage, promptMessages } from './run-events.ts';
import { timeIsUp } from '../services/run-limits.ts';
import { turnStarted } from './turn-events.ts';
import type { RunState } from '../state.ts';
import { record, type Step } from '../step.ts';

/** What follows a finished turn (or, with no outcome, a run's start): another turn, or the end. */
export function planTurn(between: BetweenTurns): Step {
  const { state, run, agent, now, last } = between;
  const { closing } = run.limits;
  // It was the last call there is; what it said is the answer.
  if (last && closing)
    return finish(between, endRun(run, now, closing.status, last.stopReason, { message: closing.message }));
  const spent = last && first(ENDS_RUN, between);
  if (spent) return record([endRun(run, now, spent.status, last.stopReason, { message: spent.message })]);
  const terminal = endingCall(last, agent);
  if (last && terminal) {
    const handoff = ENDING_CALL(between, terminal);
    if (handoff?.type === 'first') return handoff.step;
    const by = { stopCallId: terminal.callId, ...(handoff ? { handoff: handoff.to } : {}) };
    return finish(between, endRun(run, now, 'completed', last.stopReason, by));
  }
  if (last && isRefusal(last.stopReason)) return record([refused(run, now, last.stopReason)]);
  const steering = [...gather(RESULTS, state, run.runId, now), ...deliver(state, agent, 'steering', run.runId, now)];
  const reminder = steering.length === 0 ? gather(REMINDERS, between) : [];
  const goesOn = last === null || last.hadCalls || last.stopReason === 'pause' || steering.length + reminder.length > 0;
  const messages = goesOn ? steering : deliver(state, agent, 'follow_up', run.runId, now);
  if (messages.length > 0) return startTurn(between, messages);
  const stuck = stuckIn(between, reminder.length > 0);
  if (stuck?.type === 'stop') {
    const end = endRun(run, now, 'loop_detected', last?.stopReason ?? null, { message: stuck.why });
    return record([...decorated(state, promptMessages(state, run, now)), stuck.message, end]);
  }
  if (stuck || goesOn) return startTurn(between, stuck ? [...reminder, stuck.message] : reminder);
  const more = first(CONTINUES, between);
  if (more) return startTurn(between, [more]);
  return finish(between, ending(run, now, last.stopReason));
}

/** The run would end here; what stands at its end may ask, or keep it going. */
function finish(between: BetweenTurns, end: DurableEventBody): Step {
  const { run, now, last } = between;
  const isGood = end.type === 'run_ended' && end.status === 'completed';
  const gate: FinishGate | null = first(isGood ? FINISH_GATES : CLOSING_GATES, between);
  if (gate === null) return record([end.type === 'run_ended' ? { ...end, ...endFacts(between) } : end]);
  if (gate.type === 'go_on') return startTurn(between, gate.messages);
  const hit = gate.type === 'first' ? timeIsUp(between) : null;
  if (hit) {
    const late = endRun(run, now, hit.status, last?.stopReason ?? null, { message: hit.message });
    return record([limitMessage(run, now, hit), late]);
  }
  if (gate.type === 'first') return gate.step;
  return record([endRun(run, now, gate.status, last?.stopReason ?? null, { message: gate.message })]);
}

/** The next turn with its messages, unless a limit or a gate is in the way. */
function startTurn(between: BetweenTurns, messages: readonly DurableEventBody[]): Step {
  const { state, run, now, last } = between;
  const prompt = decorated(state, promptMessages(state, run, now));
  const hit = turnLimit.before(between);
  if (hit) {
    const closing = turnLimit.closingMessage(between, hit);
    if (closing) return record([turnStarted(run, run.turns, now, hit), ...prompt, closing]);
    const end = endRun(run, now, hit.status, last?.stopReason ?? null, { message: hit.message });
    return record([...prompt, limitMessage(run, now, hit), end]);
  }
  return first(TURN_GATES, between, prompt, messages) ?? beginTurn(between, prompt, messages);
}

function beginTurn(
  between: BetweenTurns,
  prompt: readonly DurableEventBody[],
  messages: readonly DurableEventBody[],
): Step {
  const { state, run, agent, now } = between;
  return record([
    ...(run.turns === 0 ? gather(RUN_CONTEXT, state, agent, run, now) : []),
    turnStarted({ ...run, modelIndex: modelOfTurn(between) }, run.turns, now),
    ...gather(BEFORE_PROMPT, between),
    ...prompt,
    ...gather(AFTER_PROMPT, between),
    ...decorated(state, messages),
    ...gather(NOTES, state, run.runId, now),
  ]);
}

const isRefusal = (stopReason: StopReason | null): boolean =>
  stopReason === 'refusal' || stopReason === 'content_filter';

const refused = (run: RunState, now: number, stopReason: StopReason | null): DurableEventBody =>
  endRun(run, now, 'refused', stopReason, { message: 'The model refused, or its provider filtered the reply.' });

const NO_CALL = {
  kind: 'other',
  code: 'no_tool_call',
  message: 'The model stopped to call a tool, and its reply has no call that can run. Try again, or ask another model.',
  retryable: false,
} as const;

function ending(run: RunState, now: number, stopReason: StopReason | null): DurableEventBody {
  if (stopReason === 'tool_use')
    return endRun(run, now, 'model_error', stopReason, { message: NO_CALL.message, error: NO_CALL });
  if (stopReason !== 'length') return endRun(run, now, 'completed', stopReason);
  return endRun(run, now, 'length', stopReason, { message: 'The output limit cut the reply off. Raise maxTokens.' });
}
