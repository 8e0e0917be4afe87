import type { Agent } from '../../agent/agent.ts';
import type { ToolExecution } from '../../agent/definition.ts';
import type { DurableEventBody, PendingCall } from '../../events/events.ts';
import { isOverdue, isWaiting, expiryOf, isAsked, isPending, pendingCall } from '../services/pending.ts';
import { argumentsProblem } from '../../tools/arguments.ts';
import { rejectCall, type Rejection } from './reject-call.ts';
import { skipCalls } from '../services/queues.ts';
import { limitsOf } from '../services/run-limits.ts';
import type { CallState, RunState, SessionState, TurnState } from '../state.ts';
import {
  ANSWERS,
  callOrder,
  cutCallWords,
  decidedAgainst,
  ENDED_CALLS,
  EXPIRED_CALLS,
  REFUSED_CALLS,
  TOOL_GATES,
} from '../features.ts';
import { first, gather } from '../moments.ts';
import type { Step } from '../step.ts';

/** What happens next with the calls of a turn; null when all have ended. */
export function planCalls(state: SessionState, run: RunState, turn: TurnState, agent: Agent, now: number): Step | null {
  const answers = gather(ANSWERS, state, run, turn, now);
  if (answers.length > 0) return { type: 'record', events: answers };
  if (turn.ended === turn.calls.length) return first(ENDED_CALLS, state, run, turn, agent);
  const expired = gather(EXPIRED_CALLS, run, turn, now);
  if (expired.length > 0) return { type: 'record', events: expired };
  const rejected = rejections(state, run, turn, agent, now);
  if (rejected.length > 0) return { type: 'record', events: rejected };
  const skipped = skipCalls(state, run, turn, agent, now);
  if (skipped.length > 0) return { type: 'record', events: skipped };
  const refused = refusals(run, turn, agent, now);
  if (refused.length > 0) return { type: 'record', events: refused };
  const runnable: CallState[] = [];
  for (const call of callOrder.notHeldBack(turn.calls, agent)) if (mayRun(state, agent, call, now)) runnable.push(call);
  if (runnable.length > 0) {
    const calls = callOrder.withinLimit(nextGroup(runnable, agent), run, agent);
    return (
      first(TOOL_GATES, { state, run, turn, agent, now }, calls) ?? { type: 'run_tools', turnIndex: turn.index, calls }
    );
  }
  const untold = first(ENDED_CALLS, state, run, turn, agent);
  if (untold) return untold;
  const open = turn.calls.filter(({ status }) => status !== 'ended');
  if (run.paused) return { type: 'idle' };
  return { type: 'record', events: pause(state, run, turn, agent, open, now) };
}

/** The first who refuses calls is enough: what is left of them is looked at in the next step. */
function refusals(run: RunState, turn: TurnState, agent: Agent, now: number): readonly DurableEventBody[] {
  for (const refuse of REFUSED_CALLS) {
    const refused = refuse(run, turn, agent, now);
    if (refused.length > 0) return refused;
  }
  return NOTHING;
}

/** True when all that is left of a turn is for a client or a person to answer: its run is paused, or about to be. */
export function waitsForOthers(turn: TurnState | null | undefined): boolean {
  const open = turn?.calls.filter(({ status }) => status !== 'ended') ?? [];
  // What hasn't begun may be waiting its turn behind a call that a person is asked about.
  const isHeld = open.some(isAsked);
  return (
    open.length > 0 &&
    open.every((call) => isPending(call) || isAsked(call) || isWaiting(call) || (isHeld && call.status === 'requested'))
  );
}

const inDoubt = (state: SessionState, call: CallState): boolean =>
  call.status === 'started' && call.runs === 'server' && call.epoch < state.epoch && !call.asking;

/** Calls that can't or mustn't run get their results here, without a start. */
function rejections(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  agent: Agent,
  now: number,
): readonly DurableEventBody[] {
  let all: DurableEventBody[] | null = null;
  const most = limitsOf(run, agent).maxCallsPerTurn;
  for (const [index, call] of turn.calls.entries()) {
    const why = index < most ? rejection(state, turn, agent, call) : refused(call, most);
    if (why) (all ??= []).push(rejectCall(run, turn, call, now, why.reason, why.words));
  }
  return all ?? NOTHING;
}

const NOTHING: readonly DurableEventBody[] = [];

type Why = { readonly reason: Rejection; readonly words: string } | null;

/** The calls of a reply that are more than one may have. */
const refused = ({ status }: CallState, most: number): Why =>
  status === 'requested'
    ? {
        reason: 'too_many_calls',
        words: `Not executed: only the first ${most} calls of a reply are. Send the others in your next reply.`,
      }
    : null;

/** Why a call can't or mustn't run; null when it may. */
function rejection(state: SessionState, turn: TurnState, agent: Agent, call: CallState): Why {
  const tool = agent.tools.get(call.name);
  if (call.status === 'requested') {
    if (call.problem) return { reason: call.problem, words: problemWords(turn, call) };
    return tool ? null : { reason: 'unknown_tool', words: unknownTool(call.name, agent) };
  }
  if (call.status === 'started' && call.asking && call.decision !== null && !tool) {
    return { reason: 'unknown_tool', words: unknownTool(call.name, agent) };
  }
  if (!inDoubt(state, call)) return null;
  if (tool && call.replay !== 'never' && call.decision !== 'reject') return null;
  return { reason: 'in_doubt', words: inDoubtWords(call) };
}

const IN_DOUBT =
  'The process running this call died before its result was recorded. Whether it took effect is unknown. ' +
  'It was not run again. Check the state of things before you repeat it.';

const inDoubtWords = ({ decisionMessage }: CallState): string =>
  decisionMessage === null ? IN_DOUBT : `${IN_DOUBT} The person who was asked said: ${decisionMessage}`;

const unknownTool = (name: string, agent: Agent): string =>
  agent.toolDefinitions.length === 0
    ? `There is no tool named "${name}". There are no tools.`
    : `There is no tool named "${name}". The tools are: ${agent.toolDefinitions.map((tool) => tool.name).join(', ')}.`;

function problemWords(turn: TurnState, call: CallState): string {
  const block = turn.message?.content.find((part) => part.type === 'tool_call' && part.callId === call.callId);
  if (turn.message && call.problem === 'cut_off') return cutCallWords(turn.message);
  if (block?.type !== 'tool_call') return argumentsProblem(call.problem, '');
  return block.problemMessage ?? argumentsProblem(call.problem, block.argumentsText ?? '');
}

function mayRun(state: SessionState, agent: Agent, call: CallState, now: number): boolean {
  // A client's call starts here too: its arguments are checked before the client sees them.
  if (call.status === 'requested') return agent.tools.has(call.name) && !isAsked(call);
  if (call.status === 'started' && call.asking) return call.decision !== null;
  if (call.paused && (call.paused.woken || isOverdue(call.paused, now))) return agent.tools.has(call.name);
  return inDoubt(state, call) && (call.replay === 'safe' || call.decision === 'approve');
}

/** The calls that start now: in call order, as many as the mode allows, a sequential tool always alone. */
function nextGroup(runnable: readonly CallState[], agent: Agent): CallState[] {
  const most = groupSize(agent.toolExecution);
  const group: CallState[] = [];
  for (const call of runnable) {
    if (group.length === most) break;
    const alone = agent.tools.get(call.name)?.execution === 'sequential';
    if (alone && group.length > 0) break;
    group.push(call);
    if (alone) break;
  }
  return group;
}

function groupSize(execution: ToolExecution): number {
  if (execution.mode === 'sequential') return 1;
  return execution.mode === 'batched' ? execution.size : Number.POSITIVE_INFINITY;
}

/** Everything we can do is done: hand the client its calls, ask what is to be asked, and wait. */
function pause(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  { permissions: { answerTimeoutMs } }: Agent,
  open: readonly CallState[],
  at: number,
): DurableEventBody[] {
  const place = { at, runId: run.runId, turnIndex: turn.index };
  const events: DurableEventBody[] = [];
  const pending: PendingCall[] = [];
  for (const call of open) {
    const named = { callId: call.callId, toolName: call.name, arguments: call.arguments };
    if (inDoubt(state, call)) {
      const approvalId = call.approvalId ?? `approval_${call.callId}_${call.attempt}`;
      const asked = call.approvalId !== null;
      const expiry = asked ? expiryOf(call) : answerTimeoutMs === null ? {} : { expiresAt: at + answerTimeoutMs };
      const question = { approvalId, question: IN_DOUBT_QUESTION, ...expiry };
      pending.push({ type: 'approval', ...named, ...question });
      if (!asked) events.push({ type: 'approval_requested', ...place, ...named, ...question });
      continue;
    }
    if (call.paused && call.status !== 'requested') pending.push(...call.paused.pending);
    else if (call.status !== 'requested' || isAsked(call)) pending.push(pendingCall(call));
  }
  const isApproval = pending.some(({ approvalId }) => approvalId !== undefined);
  const reason = isApproval ? 'approval' : pending.length > 0 ? 'client_tools' : 'sub_agent';
  return [...events, { type: 'run_paused', at, runId: run.runId, reason, pending }];
}

const IN_DOUBT_QUESTION = 'This call was started and may have taken effect. Run it again?';

/** Ends every call of a turn that is being closed early, so that none is left without a result. */
export function endOpenCalls(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  now: number,
  why: string,
): DurableEventBody[] {
  return turn.calls
    .filter(({ status }) => status !== 'ended')
    .map((call) => {
      if (call.isForked) return rejectCall(run, turn, call, now, 'in_doubt', FORKED);
      if (inDoubt(state, call)) return rejectCall(run, turn, call, now, 'in_doubt', IN_DOUBT);
      return (
        decidedAgainst(state, run, turn, call, now) ??
        rejectCall(run, turn, call, now, 'cancelled', `${call.asking ? 'Stopped' : 'Not executed'}: ${why}`)
      );
    });
}

const FORKED =
  'Unknown: forked. This session was forked from another one while the call was under way there. What came of it is not ' +
  'known here, and it was not run again. Check the state of things before you repeat it.';
