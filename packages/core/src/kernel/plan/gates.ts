import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { asHookDecision } from '../services/hook-decision.ts';
import { permissionGate } from '../../features/permissions/plan.ts';
import { rejectCall } from '../perform/reject-call.ts';
import type { CallGate } from '../perform/call-gate.ts';
import type { Question } from '../services/question.ts';
import type { CallState, RunState, SessionState, TurnState } from '../state.ts';
import type { Step } from '../step.ts';

/** What must happen before these calls may start; null when they may. Calls that may not get their result here. */
export function gateCalls(gate: CallGate, calls: readonly CallState[]): Step | null {
  return hookGate(gate, calls) ?? permissionGate(gate, calls);
}

function hookGate(gate: CallGate, calls: readonly CallState[]): Step | null {
  const { state, agent, run, turn, now } = gate;
  const { hooks } = agent;
  if (!hooks) return null;
  // A call in doubt was asked about before it started the first time.
  const asked = calls.filter(({ name, status }) => status === 'requested' && hooks.has('before_tool', name));
  const questions = asked.filter(({ callId }) => !state.decisions.has(keyOf('before_tool', callId)));
  if (questions.length > 0) {
    return { type: 'decide', questions: questions.map((call) => hookQuestion('before_tool', run, turn, call)) };
  }
  const refused = asked.flatMap((call): DurableEventBody[] => {
    const { decision, reason } = decisionOf(state, call);
    if (decision !== 'deny') return [];
    return [rejectCall(run, turn, call, now, 'hook', `Not executed: ${reason ?? 'A hook said no.'}`)];
  });
  return refused.length > 0 ? { type: 'record', events: refused } : null;
}

const decisionOf = (state: SessionState, { callId }: CallState): ReturnType<typeof asHookDecision> =>
  asHookDecision(state.decisions.get(keyOf('before_tool', callId))?.answer ?? { decision: 'deny' });

const keyOf = (event: 'before_tool' | 'after_tool' | 'tool_failed', callId: string): string => `${event}:${callId}`;

/** Hooks that were to hear of an ended call and haven't, because a process died or a client brought the result. */
export function afterHooks(state: SessionState, run: RunState, turn: TurnState, agent: Agent): Step | null {
  if (!agent.hooks) return null;
  const questions = turn.calls.flatMap((call) => afterQuestions(state, run, turn, agent, call));
  return questions.length > 0 ? { type: 'decide', questions } : null;
}

/** What the hooks are to be told of a call that ran and has ended. */
export function afterQuestions(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  { hooks }: Agent,
  call: CallState,
): Question[] {
  if (!hooks || call.status !== 'ended' || call.attempt === 0) return [];
  const events = call.result?.isError === true ? (['after_tool', 'tool_failed'] as const) : (['after_tool'] as const);
  return events
    .filter((event) => hooks.has(event, call.name) && !state.decisions.has(keyOf(event, call.callId)))
    .map((event) => hookQuestion(event, run, turn, call));
}

function hookQuestion(
  event: 'before_tool' | 'after_tool' | 'tool_failed',
  run: RunState,
  turn: TurnState,
  { callId }: CallState,
): Question {
  return { type: 'hook', event, key: keyOf(event, callId), runId: run.runId, turnIndex: turn.index, callId };
}
