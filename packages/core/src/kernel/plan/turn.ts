import type { Agent } from '../../agent/agent.ts';
import { estimateMessage } from '../../messages/estimate.ts';
import { windowOf } from '../../features/compaction/options.ts';
import { fairShare, resultTokens } from '../../messages/result-share.ts';
import type { Draft } from '../../draft.ts';
import type { DurableEventBody, TurnTrigger } from '../../events/events.ts';
import { asHookDecision } from '../services/hook-decision.ts';
import type { LimitHit } from '../services/limits.ts';
import { UNKNOWN_USAGE, type StopReason } from '../../model/model.ts';
import { withWarnings } from '../../features/guardrails/filters.ts';
import { noCallReminder } from '../../features/output/no-call.ts';
import type { BetweenTurns } from '../between-turns.ts';
import { endingCall } from '../final-answer.ts';
import { afterClosing, gateFinish } from './finish.ts';
import { planHandoff } from '../../features/handoff/plan.ts';
import {
  closingMessage,
  continueCutReply,
  limitBefore,
  limitMessage,
  noProgress,
  timeIsUp,
  warnings,
} from '../../features/limits/plan.ts';
import { mayRecall } from '../perform/offered-tools.ts';
import { deliver } from '../services/queues.ts';
import { deliverNotes, endRun, promptMessages, type NewRun } from './runs.ts';
import { outputOf, outputSpent } from '../../features/output/plan.ts';
import { askTurnContext, turnContext } from '../../features/turn-context/plan.ts';
import { gateDelivery } from '../../features/guardrails/plan.ts';
import { askRouting, routedModel } from '../../features/routing/plan.ts';
import { runContext } from '../services/run-context.ts';
import type { RunState, TurnOutcome, TurnState } from '../state.ts';
import type { Step } from '../step.ts';

/** What follows a finished turn (or, with no outcome, a run's start): another turn, or the end. */
export function planTurn(between: BetweenTurns): Step {
  const { state, run, agent, now, last } = between;
  const { closing } = run.limits;
  // It was the last call there is; what it said is the answer.
  if (last && closing)
    return finish(between, endRun(run, now, closing.end, last.stopReason, { message: closing.message }));
  const spent = outputSpent(between);
  if (last && spent) return record([endRun(run, now, spent.end, last.stopReason, { message: spent.message })]);
  const terminal = endingCall(last, agent);
  if (last && terminal) {
    const handoff = planHandoff(between, terminal);
    if (handoff?.type === 'first') return handoff.step;
    const by = { terminalCallId: terminal.callId, ...(handoff ? { handoff: handoff.to } : {}) };
    return finish(between, endRun(run, now, 'completed', last.stopReason, by));
  }
  if (last && isRefusal(last.stopReason)) return record([refused(run, now, last.stopReason)]);
  const steering = deliver(state, agent, 'steering', run.runId, now);
  const reminder = steering.length === 0 ? remindOfCalls(between) : [];
  const goesOn = last === null || last.hadCalls || last.stopReason === 'pause' || steering.length + reminder.length > 0;
  const messages = goesOn ? steering : deliver(state, agent, 'follow_up', run.runId, now);
  if (messages.length > 0) return startTurn(between, messages);
  // Where calls are wanted, a reply of thoughts (all the text of a prompted model may be thoughts) is a slip, and not empty.
  const stuck = reminder.length > 0 && hasThoughts(run) ? null : noProgress(between);
  if (stuck?.type === 'stop') {
    const end = endRun(run, now, 'no_progress', last?.stopReason ?? null, { message: stuck.why });
    return record([...promptMessages(state, run, now), stuck.message, end]);
  }
  if (stuck || goesOn) return startTurn(between, stuck ? [...reminder, stuck.message] : reminder);
  const more = continueCutReply(between);
  if (more) return startTurn(between, [more]);
  return finish(between, ending(run, now, last.stopReason));
}

/** With a policy that wants calls, a reply without one isn't an answer. */
function remindOfCalls({ run, agent, now, last }: BetweenTurns): readonly DurableEventBody[] {
  if (agent.noToolCall === null || !last || !lacksCall(last)) return [];
  return [noCallReminder(run.runId, run.turns, now, agent.noToolCall)];
}

const hasThoughts = ({ lastMessage }: RunState): boolean =>
  lastMessage?.content.some((block) => block.type === 'thinking' && block.text.trim() !== '') === true;

/** The reply came to its end and called no tool. */
export const lacksCall = ({ hadCalls, stopReason }: Pick<TurnOutcome, 'hadCalls' | 'stopReason'>): boolean =>
  !hadCalls && (stopReason === 'stop' || stopReason === 'tool_use' || stopReason === 'other');

const record = (events: readonly DurableEventBody[]): Step => ({ type: 'record', events });

/** The run would end here; what stands at its end may ask, or keep it going. */
function finish(between: BetweenTurns, end: DurableEventBody): Step {
  const { run, now, last } = between;
  const gate = end.type === 'run_ended' && end.end === 'completed' ? gateFinish(between) : afterClosing(between);
  if (gate === null) return record([end.type === 'run_ended' ? { ...end, ...outputOf(between) } : end]);
  if (gate.type === 'go_on') return startTurn(between, gate.messages);
  const hit = gate.type === 'first' ? timeIsUp(between) : null;
  if (hit) {
    const late = endRun(run, now, hit.end, last?.stopReason ?? null, { message: hit.message });
    return record([limitMessage(run, now, hit), late]);
  }
  if (gate.type === 'first') return gate.step;
  return record([endRun(run, now, gate.end, last?.stopReason ?? null, { message: gate.message })]);
}

/** The next turn with its messages, unless a limit or a gate is in the way. */
function startTurn(between: BetweenTurns, messages: readonly DurableEventBody[]): Step {
  const { state, run, now, last } = between;
  const prompt = promptMessages(state, run, now);
  const hit = limitBefore(between);
  if (hit) {
    const closing = closingMessage(between, hit);
    if (closing) return record([turnStarted(run, run.turns, now, hit), ...prompt, closing]);
    const end = endRun(run, now, hit.end, last?.stopReason ?? null, { message: hit.message });
    return record([...prompt, limitMessage(run, now, hit), end]);
  }
  return (
    gateDelivery(between, prompt, messages) ??
    gateTurn(between, prompt) ??
    askTurnContext(between) ??
    askRouting(between) ??
    beginTurn(between, prompt, messages)
  );
}

function beginTurn(
  between: BetweenTurns,
  prompt: readonly DurableEventBody[],
  messages: readonly DurableEventBody[],
): Step {
  const { state, run, agent, now } = between;
  const events = run.turns === 0 ? runContext(state, agent, run, now) : [];
  events.push(turnStarted(agent.routing ? { ...run, modelIndex: routedModel(between) } : run, run.turns, now));
  addAll(events, turnContext(between));
  addAll(events, prompt);
  addAll(events, warnings(between));
  addAll(events, withWarnings(state.decisions, messages));
  addAll(events, deliverNotes(state, run.runId, now));
  return record(events);
}

/** Most of these are empty in most turns, where spreading or joining them costs as much as if they weren't. */
function addAll(events: DurableEventBody[], more: readonly DurableEventBody[]): void {
  for (const event of more) events.push(event);
}

/** What stands before every turn; null when it may begin. */
function gateTurn({ state, run, agent, now, last }: BetweenTurns, prompt: readonly DurableEventBody[]): Step | null {
  if (!agent.hooks?.has('before_turn')) return null;
  const { runId, turns: turnIndex } = run;
  const key = `before_turn:${turnIndex}`;
  const known = state.decisions.get(key);
  if (known === undefined) {
    return { type: 'decide', questions: [{ type: 'hook', event: 'before_turn', key, runId, turnIndex }] };
  }
  const said = asHookDecision(known.answer);
  if (said.decision === 'proceed' && said.endRun === undefined) return null;
  const message = said.endRun ?? said.reason ?? 'A before_turn hook said no.';
  return record([...prompt, endRun(run, now, 'stopped', last?.stopReason ?? null, { message })]);
}

const isRefusal = (stopReason: StopReason | null): boolean =>
  stopReason === 'refusal' || stopReason === 'content_filter';

const refused = (run: RunState, now: number, stopReason: StopReason | null): DurableEventBody =>
  endRun(run, now, 'refused', stopReason, { message: 'The model refused, or its provider filtered the reply.' });

function ending(run: RunState, now: number, stopReason: StopReason | null): DurableEventBody {
  if (stopReason !== 'length') return endRun(run, now, 'completed', stopReason);
  return endRun(run, now, 'length', stopReason, { message: 'The output limit cut the reply off. Raise maxTokens.' });
}

export function turnEnded(run: RunState, turn: TurnState, agent: Agent, at: number): DurableEventBody {
  const usage = turn.message?.usage ?? UNKNOWN_USAGE;
  const ended: Draft<Extract<DurableEventBody, { type: 'turn_ended' }>> = {
    type: 'turn_ended',
    at,
    runId: run.runId,
    turnIndex: turn.index,
    usage,
    cost: turn.message?.cost ?? null,
  };
  const tokens = resultsShare(turn, agent);
  if (tokens !== null) ended.resultsCut = { tokens, recall: mayRecall(agent) };
  return ended;
}

/** The tokens to which the results of a turn must be cut; null when they fit. */
function resultsShare(turn: TurnState, agent: Agent): number | null {
  if (turn.calls.length === 0) return null;
  const sizes: number[] = [];
  for (const { result } of turn.calls) if (result) sizes.push(estimateMessage(result));
  const window = windowOf(agent.context, agent.models[turn.modelIndex] ?? agent.model);
  return fairShare(sizes, resultTokens(agent.maxToolResultTokens, window), window);
}

export function turnStarted(run: NewRun, turnIndex: number, at: number, closing?: LimitHit): DurableEventBody {
  const { runId, modelIndex } = run;
  const started: Draft<Extract<DurableEventBody, { type: 'turn_started' }>> = {
    type: 'turn_started',
    at,
    runId,
    turnIndex,
    triggeredBy: triggerOf(run, turnIndex),
    attempt: 1,
  };
  if (modelIndex !== 0) started.modelIndex = modelIndex;
  if (closing) started.closing = { end: closing.end, message: closing.message };
  return started;
}

/** The priority of the first turn: a branch, then any other continuation, then who called. */
export function triggerOf(run: Pick<RunState, 'continuation' | 'startedBy'>, turnIndex: number): TurnTrigger {
  if (turnIndex > 0) return 'continuation';
  if (run.continuation.kind === 'branch') return 'branch';
  return run.continuation.kind === 'initial' ? run.startedBy : 'continuation';
}
