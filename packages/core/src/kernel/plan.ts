import type { Agent } from '../agent/agent.ts';
import type { DurableEventBody, RunStatus } from '../events/events.ts';
import type { StopReason } from '../model/model.ts';
import type { BetweenTurns } from './between-turns.ts';
import {
  ALWAYS,
  AMENDMENTS,
  ASKS_ABOUT_TURNS,
  BEFORE_END,
  decorated,
  END_OF_TURN,
  HOLDS,
  holdsInputBack,
  IDLE_INPUTS,
  INSTEAD_OF_TURNS,
  NOTES,
  RESULTS,
  RUN_CONTEXT,
  START_GATES,
  STOPPING,
  STOPS,
  WAKES,
} from './features.ts';
import { first, gather } from './moments.ts';
import { endOpenCalls, planCalls } from './plan/calls.ts';
import { planModelCall } from './plan/model.ts';
import { planTurn } from './plan/turn.ts';
import type { LimitHit } from './services/limits.ts';
import { deliver, reportUndelivered } from './services/queues.ts';
import { endRun, limitMessage, promptMessages, rejectInput, startRun } from './plan/run-events.ts';
import { timeIsUp } from './services/run-limits.ts';
import { refuseRun } from './plan/start.ts';
import { turnEnded, turnStarted } from './plan/turn-events.ts';
import { turnOutcome, type InboxEntry, type RunState, type SessionState, type TurnState } from './state.ts';
import { record, type Step } from './step.ts';

/** What a plan needs to know besides the log. */
export interface Surroundings {
  /** Input is still arriving: a run that would end well waits for it. */
  readonly isInputOpen: boolean;
  /** Somebody cuts the run short: nothing is waited for. */
  readonly isInterrupted: boolean;
  /** Whether the session keeps blobs. */
  readonly keepsBlobs: boolean;
}

const ALONE: Surroundings = { isInputOpen: false, isInterrupted: false, keepsBlobs: false };

/**
 * Says what happens next in a session. Pure: the same state, agent, time and surroundings give the same step.
 *
 * @param now Milliseconds since 1970, the time the events it plans are stamped with.
 */
export function plan(state: SessionState, agent: Agent, now: number, around: Surroundings = ALONE): Step {
  const urgent = first(ALWAYS, state, agent, now);
  if (urgent) return urgent;
  let step = planStep(state, agent, now);
  for (const amend of AMENDMENTS) step = amend(state, step, now);
  step = reportUndelivered(state, step, now);
  if (!endsRun(step)) return step;
  const isHeld = around.isInputOpen || HOLDS.some((holds) => holds(state, agent));
  if (isHeld && !around.isInterrupted && endsWell(step)) return { type: 'wait', until: null };
  return first(BEFORE_END, state, agent, around.keepsBlobs) ?? step;
}

const endsRun = (step: Step): boolean =>
  step.type === 'record' && step.events.some((event) => event.type === 'run_ended');

const endsWell = (step: Step): boolean =>
  step.type === 'record' && step.events.some((event) => event.type === 'run_ended' && event.status === 'completed');

function planStep(state: SessionState, agent: Agent, now: number): Step {
  const { run } = state;
  if (run === null) return planIdle(state, agent, now);
  const { turn } = run;
  // The prompt joins the history with the first turn; a run that has none to come needs it now.
  if (turn !== null || run.turns > 0 || run.cancel || run.stop) {
    const missing = promptMessages(state, run, now);
    if (missing.length > 0) return record(decorated(state, missing));
  }
  const misplaced = rejectMisplaced(state, run, now);
  if (misplaced.length > 0) return { type: 'record', events: misplaced };
  if (run.cancel) return stop({ state, run, agent, now }, 'aborted', run.cancel.reason ?? CANCELLED);
  const over = first(STOPS, run, agent);
  if (over) return stop({ state, run, agent, now }, over.status, over.message, over);
  if (run.stop) return stop({ state, run, agent, now }, 'stopped', run.stop.reason);
  const instead = first(INSTEAD_OF_TURNS, run, agent, now);
  if (instead)
    return 'limit' in instead ? stop({ state, run, agent, now }, instead.status, instead.message, instead) : instead;
  if (turn === null) return planTurn({ state, run, agent, now, last: run.last });
  const hit = timeIsUp({ run, agent, now });
  if (hit) return stop({ state, run, agent, now }, hit.status, hit.message, hit);
  if (turn.message === null || turn.failure) return planModelCall(state, run, turn, agent, now);
  return planCalls(state, run, turn, agent, now) ?? endTurn(state, run, turn, agent, now);
}

/** The turn ends and, where nobody has to be asked first, the next thing begins in the same append. */
function endTurn(state: SessionState, run: RunState, turn: TurnState, agent: Agent, now: number): Step {
  const last = turnOutcome(turn);
  const next = planTurn({ state, run, agent, now, last });
  const events = gather(END_OF_TURN, run, turn, agent, now);
  events.push(turnEnded(run, turn, agent, now));
  if (next.type === 'record') for (const event of next.events) events.push(event);
  return record(events);
}

/** The input that is next while no run is open. What is queued waits for a run. */
export const nextInput = ({ inbox }: SessionState): InboxEntry | undefined =>
  inbox.find(({ input }) => input.type !== 'steering' && input.type !== 'follow_up');

function planIdle(state: SessionState, agent: Agent, now: number): Step {
  const asked = nextInput(state);
  const entry = asked ?? first(WAKES, state, agent);
  if (!entry) return { type: 'idle' };
  const { input, cancelled } = entry;
  const other = first(IDLE_INPUTS, state, agent, entry, now);
  if (other) return other;
  if (input.type !== 'prompt' && input.type !== 'continue') {
    return record([rejectInput(entry, now, 'There is no run this belongs to.')]);
  }
  const last = state.view.findLast(({ role }) => role !== 'extension');
  if (asked && input.type === 'continue' && (last === undefined || last.role === 'assistant')) {
    const reason = last === undefined ? 'The history is empty.' : "The history ends with the assistant's message.";
    return record([rejectInput(entry, now, reason)]);
  }
  const started = startRun(state, agent, entry, now);
  const { run } = started;
  if (cancelled) {
    // Cancelled before it began: what was said is kept, and the run is over.
    const message = cancelled.reason ?? CANCELLED;
    // What no filter has seen must not reach a model by way of the history.
    if (holdsInputBack(agent)) return refuseRun({ state, agent, entry, started, now }, message, 'aborted');
    return record([
      started.event,
      ...decorated(state, started.messages),
      endRun(run, now, 'aborted', 'aborted', { message }),
    ]);
  }
  const gate = first(START_GATES, { state, agent, entry, started, now });
  if (gate) return gate;
  const context = gather(RUN_CONTEXT, state, agent, { runId: run.runId, inputSeq: entry.seq }, now);
  // Who has a say about turns is asked once the run has begun.
  if (ASKS_ABOUT_TURNS.some((asks) => asks(state, agent))) return record([started.event, ...context]);
  return record([
    started.event,
    ...context,
    turnStarted(run, 0, now),
    ...decorated(state, started.messages),
    ...gather(RESULTS, state, run.runId, now),
    ...deliver(state, agent, 'steering', run.runId, now),
    ...gather(NOTES, state, run.runId, now),
  ]);
}

const CANCELLED = 'The run was cancelled.';

/**
 * A run is open: what was posted since it began and wants another one doesn't fit, and must not wait unseen for its end.
 * What waited before it began has its turn afterwards.
 */
function rejectMisplaced(state: SessionState, run: RunState, now: number): readonly DurableEventBody[] {
  if (run.cancel || state.inbox.length === 0) return NOTHING;
  return state.inbox
    .filter(({ seq, input }) => seq > run.startedSeq && NEEDS_NO_RUN.has(input.type) && !('queued' in input))
    .map((entry) => rejectInput(entry, now, 'A run is active. Steer it, follow up, or wait for its end.', run.runId));
}

const NOTHING: readonly DurableEventBody[] = [];

const NEEDS_NO_RUN: ReadonlySet<string> = new Set(['prompt', 'continue', 'branch', 'import']);

/** Closes what is open, in order, and ends the run. */
function stop(
  { state, run, agent, now }: Omit<BetweenTurns, 'last'>,
  status: RunStatus,
  message: string,
  limit?: LimitHit,
): Step {
  const { turn } = run;
  const ends = turn && first(STOPPING, state, turn, message);
  if (ends) return ends;
  const lastStop: StopReason | null = turn?.message?.stopReason ?? run.last?.stopReason ?? null;
  return record([
    ...(turn ? [...endOpenCalls(state, run, turn, now, message), turnEnded(run, turn, agent, now)] : []),
    ...(limit ? [limitMessage(run, now, limit)] : []),
    endRun(run, now, status, status === 'aborted' ? 'aborted' : lastStop, { message }),
  ]);
}
