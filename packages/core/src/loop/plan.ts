import type { Agent } from '../agent.ts';
import type { DurableEventBody, RunEnd, TurnTrigger } from '../events/events.ts';
import { UNKNOWN_USAGE, type StopReason } from '../model/model.ts';
import { endOpenCalls, planCalls } from './plan-calls.ts';
import { exceededLimit, type LimitHit } from './plan-limits.ts';
import { endRun, inputMessage, promptMessages, rejectInput, startRun, type NewRun } from './plan-runs.ts';
import { turnOutcome, type RunState, type SessionState, type TurnState } from './state.ts';
import type { Step } from './step.ts';

/**
 * Says what happens next in a session. Pure: the same state, agent and time give the same step.
 *
 * @param now Milliseconds since 1970, the time the events it plans are stamped with.
 */
export function plan(state: SessionState, agent: Agent, now: number): Step {
  const { run } = state;
  if (run === null) return planIdle(state, agent, now);
  const missing = promptMessages(state, run, now);
  if (missing.length > 0) return record(missing);
  const misplaced = rejectMisplaced(state, run, now);
  if (misplaced.length > 0) return { type: 'record', events: misplaced };
  if (run.cancel) return stop(state, run, now, 'aborted', run.cancel.reason ?? CANCELLED);
  const { turn } = run;
  if (turn === null) return record(nextTurn(state, run, agent, now, run.last));
  const hit = exceededLimit(run, agent.limits, now, { turnOpen: true });
  if (hit) return stop(state, run, now, hit.end, hit.message, hit);
  if (turn.message === null || turn.failure) return planModelCall(state, run, turn, now);
  const calls = planCalls(state, run, turn, agent, now);
  if (calls) return calls;
  return record([turnEnded(run, turn, now), ...nextTurn(state, run, agent, now, turnOutcome(turn))]);
}

const record = (events: readonly DurableEventBody[]): Step => ({ type: 'record', events });

function planIdle(state: SessionState, agent: Agent, now: number): Step {
  const entry = state.inbox.find(({ input }) => input.type !== 'steering' && input.type !== 'follow_up');
  if (!entry) return { type: 'idle' };
  const { input, cancelled } = entry;
  if (input.type !== 'prompt' && input.type !== 'continue') {
    return record([rejectInput(entry, now, 'There is no run this belongs to.')]);
  }
  const last = state.view.findLast(({ role }) => role !== 'extension');
  if (input.type === 'continue' && (last === undefined || last.role === 'assistant')) {
    const reason = last === undefined ? 'The history is empty.' : "The history ends with the assistant's message.";
    return record([rejectInput(entry, now, reason)]);
  }
  const started = startRun(state, agent, entry, now);
  if (cancelled) {
    // Cancelled before it began: what was said is kept, and the run is over.
    const message = cancelled.reason ?? CANCELLED;
    return record([started.event, ...started.messages, endRun(started.run, now, 'aborted', 'aborted', { message })]);
  }
  const steering = deliver(state, 'steering', started.run.runId, now);
  return record([started.event, turnStarted(started.run, 0, now), ...started.messages, ...steering]);
}

const CANCELLED = 'The run was cancelled.';

/**
 * A run is open: what was posted since it began and wants another one doesn't fit, and must not wait unseen for its end.
 * What waited before it began has its turn afterwards.
 */
function rejectMisplaced(state: SessionState, run: RunState, now: number): DurableEventBody[] {
  if (run.cancel) return [];
  return state.inbox
    .filter(({ seq, input }) => seq > run.startedSeq && NEEDS_NO_RUN.has(input.type))
    .map((entry) => rejectInput(entry, now, 'A run is active. Steer it, follow up, or wait for its end.', run.runId));
}

const NEEDS_NO_RUN: ReadonlySet<string> = new Set(['prompt', 'continue', 'import']);

function planModelCall(state: SessionState, run: RunState, turn: TurnState, now: number): Step {
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
  if (failure) {
    const { error, retry } = failure;
    if (!retry)
      return record([
        turnEnded(run, turn, now),
        endRun(run, now, 'model_error', 'error', { message: error.message, error }),
      ]);
    return now < retry.at ? { type: 'wait', until: retry.at } : record([again(retry.modelIndex)]);
  }
  if (turn.epoch === state.epoch) return { type: 'call_model', turnIndex, attempt, modelIndex, modelAttempt };
  // The drive that made this call is gone, and what it had streamed with it.
  return record([
    { type: 'message_discarded', at: now, runId, turnIndex, attempt, reason: 'interrupted' },
    again(modelIndex),
  ]);
}

/** Closes what is open, in order, and ends the run. */
function stop(state: SessionState, run: RunState, now: number, end: RunEnd, message: string, limit?: LimitHit): Step {
  const { turn } = run;
  const lastStop: StopReason | null = turn?.message?.stopReason ?? run.last?.stopReason ?? null;
  return record([
    ...(turn ? [...endOpenCalls(state, run, turn, now, message), turnEnded(run, turn, now)] : []),
    ...(limit ? [limitMessage(run, now, limit)] : []),
    endRun(run, now, end, end === 'aborted' ? 'aborted' : lastStop, { message }),
  ]);
}

function limitMessage(run: RunState, at: number, limit: LimitHit): DurableEventBody {
  const text = `[Agent stopped: ${limit.message}]`;
  return {
    type: 'message_added',
    at,
    runId: run.runId,
    inView: true,
    message: { role: 'user', id: `${run.runId}.limit`, at, origin: 'limit', content: [{ type: 'text', text }] },
  };
}

/** What follows a finished turn (or, with no outcome, a run's start): another turn, or the end. */
function nextTurn(
  state: SessionState,
  run: RunState,
  agent: Agent,
  now: number,
  last: RunState['last'],
): DurableEventBody[] {
  const terminal = last?.succeeded.find(({ toolName }) => agent.tools.get(toolName)?.terminal === true);
  if (last && terminal) return [endRun(run, now, 'completed', last.stopReason, { terminalCallId: terminal.callId })];
  if (last && isRefusal(last.stopReason)) return [finish(run, now, last.stopReason)];
  const steering = deliver(state, 'steering', run.runId, now);
  const goesOn = last === null || last.hadCalls || last.stopReason === 'pause' || steering.length > 0;
  const messages = goesOn ? steering : deliver(state, 'follow_up', run.runId, now);
  if (!goesOn && messages.length === 0) return [finish(run, now, last.stopReason)];
  const hit = exceededLimit(run, agent.limits, now, { turnOpen: false });
  if (hit)
    return [limitMessage(run, now, hit), endRun(run, now, hit.end, last?.stopReason ?? null, { message: hit.message })];
  return [turnStarted(run, run.turns, now), ...messages];
}

const isRefusal = (stopReason: StopReason | null): boolean =>
  stopReason === 'refusal' || stopReason === 'content_filter';

function finish(run: RunState, now: number, stopReason: StopReason | null): DurableEventBody {
  if (isRefusal(stopReason)) {
    return endRun(run, now, 'refused', stopReason, {
      message: 'The model refused, or its provider filtered the reply.',
    });
  }
  if (stopReason === 'length') {
    return endRun(run, now, 'length', stopReason, { message: 'The output limit cut the reply off. Raise maxTokens.' });
  }
  return endRun(run, now, 'completed', stopReason);
}

/** Takes the oldest queued message of a kind: one at a time, so that each gets an answer of its own. */
function deliver(state: SessionState, kind: 'steering' | 'follow_up', runId: string, now: number): DurableEventBody[] {
  const entry = state.inbox.find(({ input }) => input.type === kind);
  if (entry?.input.type !== 'steering' && entry?.input.type !== 'follow_up') return [];
  const { message } = entry.input;
  return [inputMessage(runId, now, entry.seq, kind, message, 0)];
}

function turnEnded(run: RunState, turn: TurnState, at: number): DurableEventBody {
  const usage = turn.message?.usage ?? UNKNOWN_USAGE;
  return { type: 'turn_ended', at, runId: run.runId, turnIndex: turn.index, usage, cost: turn.message?.cost ?? null };
}

function turnStarted(run: NewRun, turnIndex: number, at: number): DurableEventBody {
  const { runId, modelIndex } = run;
  const model = modelIndex === 0 ? {} : { modelIndex };
  return { type: 'turn_started', at, runId, turnIndex, triggeredBy: triggerOf(run, turnIndex), attempt: 1, ...model };
}

/** The priority of the first turn: a branch, then any other continuation, then who called. */
function triggerOf(run: Pick<RunState, 'continuation' | 'startedBy'>, turnIndex: number): TurnTrigger {
  if (turnIndex > 0) return 'continuation';
  if (run.continuation.kind === 'branch') return 'branch';
  return run.continuation.kind === 'initial' ? run.startedBy : 'continuation';
}
