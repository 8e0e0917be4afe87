import type { Agent } from '../agent/agent.ts';
import type { DurableEventBody, RunEnd } from '../events/events.ts';
import type { StopReason } from '../model/model.ts';
import { noCallRejected } from '../features/output/no-call.ts';
import { planBranches, startBranches } from '../features/branches/plan.ts';
import { planIdleCompaction } from '../features/compaction/plan.ts';
import type { BetweenTurns } from './between-turns.ts';
import { endOpenCalls, planCalls } from './plan/calls.ts';
import { reachedLimit, sizeHit, type LimitHit } from './services/limits.ts';
import { overspent, settleAtEnd } from '../features/budget/plan.ts';
import { limitMessage, ONLY_TIME } from '../features/limits/plan.ts';
import { planTasks, wakeUp } from '../features/background/plan.ts';
import { stopOpenChildren } from '../features/subagents/plan.ts';
import { planModelCall } from './plan/model.ts';
import { deliverNotes, endRun, promptMessages, rejectInput, startRun } from './plan/runs.ts';
import { deliver, reportUndelivered } from './services/queues.ts';
import { limitsOf, usedBy } from './services/run-limits.ts';
import { gateRun, refuseRun } from './plan/start.ts';
import { runContext } from './services/run-context.ts';
import { lacksCall, planTurn, turnEnded, turnStarted } from './plan/turn.ts';
import { turnOutcome, type InboxEntry, type RunState, type SessionState, type TurnState } from './state.ts';
import type { Step } from './step.ts';

/**
 * Says what happens next in a session. Pure: the same state, agent and time give the same step.
 *
 * @param now Milliseconds since 1970, the time the events it plans are stamped with.
 */
export function plan(state: SessionState, agent: Agent, now: number): Step {
  const tasks = state.tasks === null ? null : planTasks(state.tasks, agent, now);
  return tasks ?? reportUndelivered(state, settleAtEnd(state, planStep(state, agent, now), now), now);
}

function planStep(state: SessionState, agent: Agent, now: number): Step {
  const { run } = state;
  if (run === null) return planIdle(state, agent, now);
  const { turn } = run;
  // The prompt joins the history with the first turn; a run that has none to come needs it now.
  if (turn !== null || run.turns > 0 || run.cancel || run.stop) {
    const missing = promptMessages(state, run, now);
    if (missing.length > 0) return record(missing);
  }
  const misplaced = rejectMisplaced(state, run, now);
  if (misplaced.length > 0) return { type: 'record', events: misplaced };
  if (run.cancel) return stop({ state, run, agent, now }, 'aborted', run.cancel.reason ?? CANCELLED);
  const tooMuch = overspent(run, agent);
  if (tooMuch) return stop({ state, run, agent, now }, tooMuch.end, tooMuch.message, tooMuch);
  const tooLong = run.limits.stoppedAt && sizeHit(run.limits.stoppedAt, limitsOf(run, agent));
  if (tooLong) return stop({ state, run, agent, now }, tooLong.end, tooLong.message, tooLong);
  if (run.stop) return stop({ state, run, agent, now }, 'stopped', run.stop.reason);
  if (run.branches) {
    const next = planBranches(run, agent, now);
    return 'limit' in next ? stop({ state, run, agent, now }, next.end, next.message, next) : next;
  }
  if (turn === null) return planTurn({ state, run, agent, now, last: run.last });
  const hit = reachedLimit(usedBy(run, now), limitsOf(run, agent), ONLY_TIME);
  if (hit) return stop({ state, run, agent, now }, hit.end, hit.message, hit);
  if (turn.message === null || turn.failure) return planModelCall(state, run, turn, agent, now);
  return planCalls(state, run, turn, agent, now) ?? endTurn(state, run, turn, agent, now);
}

const record = (events: readonly DurableEventBody[]): Step => ({ type: 'record', events });

/** The turn ends and, where nobody has to be asked first, the next thing begins in the same append. */
function endTurn(state: SessionState, run: RunState, turn: TurnState, agent: Agent, now: number): Step {
  const last = turnOutcome(turn);
  const next = planTurn({ state, run, agent, now, last });
  const events: DurableEventBody[] = [];
  if (agent.noToolCall !== null && turn.message && lacksCall(last))
    events.push(noCallRejected(run.runId, turn.index, turn.message.id, now));
  events.push(turnEnded(run, turn, agent, now));
  if (next.type === 'record') for (const event of next.events) events.push(event);
  return record(events);
}

/** The input that is next while no run is open. What is queued waits for a run. */
export const nextInput = ({ inbox }: SessionState): InboxEntry | undefined =>
  inbox.find(({ input }) => input.type !== 'steering' && input.type !== 'follow_up');

function planIdle(state: SessionState, agent: Agent, now: number): Step {
  const asked = nextInput(state);
  const entry = asked ?? wakeUp(state.tasks, agent);
  if (!entry) return { type: 'idle' };
  const { input, cancelled } = entry;
  if (input.type === 'compact') return planIdleCompaction(state, agent, entry, now);
  if (input.type === 'branch' && !cancelled) return startBranches(state, agent, entry, input, now);
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
    if (agent.inputFilters) return refuseRun({ state, agent, entry, started, now }, message, 'aborted');
    return record([started.event, ...started.messages, endRun(run, now, 'aborted', 'aborted', { message })]);
  }
  const gate = gateRun({ state, agent, entry, started, now });
  if (gate) return gate;
  const context = runContext(state, agent, { runId: run.runId, inputSeq: entry.seq }, now);
  // Who has a say about turns is asked once the run has begun.
  if (agent.hooks?.has('before_turn') || agent.turnContext || agent.routing || (agent.inputFilters && steered(state)))
    return record([started.event, ...context]);
  const steering = deliver(state, agent, 'steering', run.runId, now);
  const notes = deliverNotes(state, run.runId, now);
  return record([started.event, ...context, turnStarted(run, 0, now), ...started.messages, ...steering, ...notes]);
}

const steered = ({ inbox }: SessionState): boolean => inbox.some(({ input }) => input.type === 'steering');

const CANCELLED = 'The run was cancelled.';

/**
 * A run is open: what was posted since it began and wants another one doesn't fit, and must not wait unseen for its end.
 * What waited before it began has its turn afterwards.
 */
function rejectMisplaced(state: SessionState, run: RunState, now: number): readonly DurableEventBody[] {
  if (run.cancel || state.inbox.length === 0) return NOTHING;
  return state.inbox
    .filter(({ seq, input }) => seq > run.startedSeq && NEEDS_NO_RUN.has(input.type))
    .map((entry) => rejectInput(entry, now, 'A run is active. Steer it, follow up, or wait for its end.', run.runId));
}

const NOTHING: readonly DurableEventBody[] = [];

const NEEDS_NO_RUN: ReadonlySet<string> = new Set(['prompt', 'continue', 'branch', 'import']);

/** Closes what is open, in order, and ends the run. */
function stop(
  { state, run, agent, now }: Omit<BetweenTurns, 'last'>,
  end: RunEnd,
  message: string,
  limit?: LimitHit,
): Step {
  const { turn } = run;
  const children = turn && stopOpenChildren(state, turn, message);
  if (children) return children;
  const lastStop: StopReason | null = turn?.message?.stopReason ?? run.last?.stopReason ?? null;
  return record([
    ...(turn ? [...endOpenCalls(state, run, turn, now, message), turnEnded(run, turn, agent, now)] : []),
    ...(limit ? [limitMessage(run, now, limit)] : []),
    endRun(run, now, end, end === 'aborted' ? 'aborted' : lastStop, { message }),
  ]);
}
