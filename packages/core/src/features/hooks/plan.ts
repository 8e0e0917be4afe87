import { userText } from '../../messages/final-text.ts';
import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import type { BetweenTurns, FinishGate } from '../../kernel/between-turns.ts';
import type { CallGate } from '../../kernel/plan/call-gate.ts';
import { asHookDecision, type HookDecision } from '../../kernel/services/hook-decision.ts';
import type { Question, SessionSource } from '../../kernel/services/question.ts';
import { rejectCall } from '../../kernel/plan/reject-call.ts';
import { endRun } from '../../kernel/plan/run-events.ts';
import type { CallState, RunState, SessionState, TurnState } from '../../kernel/state.ts';
import { record, type Step } from '../../kernel/step.ts';
import { type Start, refuseRun } from '../../kernel/plan/start.ts';

/** What hooks want the model to know, as messages: before its next call. */
export function deliverNotes({ notes }: SessionState, runId: string, at: number): readonly DurableEventBody[] {
  return notes.map(({ id, text }) => ({
    type: 'message_added',
    at,
    runId,
    inView: true,
    message: userText(id, at, 'hook', text),
  }));
}

export function callHooks(gate: CallGate, calls: readonly CallState[]): Step | null {
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

/** A stop hook that says no keeps the run going, with its reason for the model. */
export function stopHook({ state, run, agent, now }: BetweenTurns): FinishGate | null {
  if (!agent.hooks?.has('stop')) return null;
  const { runId } = run;
  const key = `stop:${run.turns}`;
  const known = state.decisions.get(key);
  if (known === undefined) {
    return { type: 'first', step: { type: 'decide', questions: [{ type: 'hook', event: 'stop', key, runId }] } };
  }
  const { decision, reason, endRun } = asHookDecision(known.answer);
  if (decision !== 'deny' || endRun !== undefined) return null;
  const text = reason ?? 'A stop hook says that there is more to do.';
  const message = userText(`${runId}.stop.${run.turns}`, now, 'hook', text);
  return { type: 'go_on', messages: [{ type: 'message_added', at: now, runId, inView: true, message }] };
}

/** What stands before every turn; null when it may begin. */
export function turnHooks(
  { state, run, agent, now, last }: BetweenTurns,
  prompt: readonly DurableEventBody[],
): Step | null {
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

const mayStart = ({ decision, endRun }: HookDecision): boolean => decision === 'proceed' && endRun === undefined;

/** A hook before a run may refuse it. */
export function startHooks(event: 'user_prompt_submit' | 'before_run'): (start: Start) => Step | null {
  return (start) => {
    const { state, agent, entry, started } = start;
    if (!agent.hooks?.has(event) || (event === 'user_prompt_submit' && entry.input.type !== 'prompt')) return null;
    const key = `${event}:${entry.seq}`;
    const known = state.decisions.get(key);
    const question: Question = { type: 'hook', event, key, runId: started.run.runId, inputSeq: entry.seq };
    if (known === undefined) return { type: 'decide', questions: [question] };
    const said = asHookDecision(known.answer);
    return mayStart(said) ? null : refuseRun(start, said.endRun ?? said.reason ?? `A ${event} hook said no.`);
  };
}

/** What is asked when a session was opened. */
export function sessionStart({ hooks }: Agent, source: SessionSource, epoch: number): readonly Question[] {
  if (!hooks?.has('session_start', source)) return [];
  return [{ type: 'hook', event: 'session_start', key: `session_start:${epoch}`, source }];
}
