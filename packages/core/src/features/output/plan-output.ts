import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import type { JsonValue } from '../../json.ts';
import { asCheckDecision } from '../guardrails/check.ts';
import { asFilterDecision, filterKey } from '../guardrails/filters.ts';
import { asOutputDecision } from './structured.ts';
import { slotMessages } from '../turn-context/turn-context.ts';
import { isTerminalToolName } from '../../tools/terminal-tools.ts';
import type { BetweenTurns, FinishGate } from '../../kernel/between-turns.ts';
import { endingCall } from '../../kernel/final-answer.ts';
import { endRun, rejectInput } from '../../kernel/plan/runs.ts';
import type { Question } from '../../kernel/services/question.ts';
import type { SessionState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

/** Whether the answer fits the schema: each turn's is held against it once. */
export function outputGate(between: BetweenTurns): FinishGate | null {
  const { state, run, agent } = between;
  if (!agent.output || speaksToUser(between)) return null;
  const key = outputKey(run.turns);
  const known = state.decisions.get(key);
  if (known === undefined) return ask({ type: 'output', key, runId: run.runId });
  const said = asOutputDecision(known.answer);
  if (said.ok) return null;
  return outputSpent(between) ?? tell(between, 'output', said.message);
}

/** A question, or a word, is no value and isn't meant to be one. */
function speaksToUser({ last, agent }: BetweenTurns): boolean {
  const call = endingCall(last, agent);
  return call !== undefined && isTerminalToolName(call.toolName) && call.toolName !== 'task_completion';
}

/** The end of a run whose values have been wrong too often; null while there are retries left. */
export function outputSpent({ run, agent }: BetweenTurns): Extract<FinishGate, { type: 'end' }> | null {
  if (!agent.output || run.outputsFailed <= agent.output.retries) return null;
  const message = `The answer didn't fit its schema, ${times(run.outputsFailed)}.`;
  return { type: 'end', end: 'invalid_output', message };
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

const outputKey = (turns: number): string => `output:${turns}`;

/** The value the run comes to, where it has come to one. */
export function outputOf({ state, run, agent }: BetweenTurns): { readonly output?: JsonValue } {
  const known = agent.output ? state.decisions.get(outputKey(run.turns)) : undefined;
  const said = known && asOutputDecision(known.answer);
  return said?.ok === true ? { output: said.value } : {};
}

/** What the user's check says of the answer. */
export function checkGate(between: BetweenTurns): FinishGate | null {
  const { state, run, agent } = between;
  if (!agent.finalAnswerCheck) return null;
  const key = `check:${run.turns}`;
  const known = state.decisions.get(key);
  if (known === undefined) return ask({ type: 'check', key, runId: run.runId });
  const said = asCheckDecision(known.answer);
  if (said.ok) return null;
  if (said.broken === true) return { type: 'end', end: 'check_failed', message: said.message };
  if (run.checksFailed > agent.finalAnswerCheck.retries) {
    const message = `The answer failed its check, ${times(run.checksFailed)}: ${said.message}`;
    return { type: 'end', end: 'check_failed', message };
  }
  return tell(between, 'check', said.message);
}

const ask = (question: Question): FinishGate => ({ type: 'first', step: { type: 'decide', questions: [question] } });

function tell({ run, now }: BetweenTurns, what: 'output' | 'check', text: string): FinishGate {
  const { runId } = run;
  const id = `${runId}.${what}.${run.turns}`;
  const message = { role: 'user', id, at: now, origin: 'check', content: [{ type: 'text', text }] } as const;
  return { type: 'go_on', messages: [{ type: 'message_added', at: now, runId, inView: true, message }] };
}

/** Asks about an input that no filter has seen; null when it was asked about, or nobody is to be. */
export function askAboutInput(
  state: SessionState,
  agent: Agent,
  inputSeqs: readonly number[],
  runId: string,
): Step | null {
  if (!agent.inputFilters) return null;
  const questions = inputSeqs
    .map((inputSeq): Question => ({ type: 'filter', key: filterKey(inputSeq), runId, inputSeq }))
    .filter(({ key }) => !state.decisions.has(key));
  return questions.length === 0 ? null : { type: 'decide', questions };
}

/** Why the filters refuse an input; null when they don't. */
export function filterRefusal(state: SessionState, inputSeq: number): string | null {
  const known = state.decisions.get(filterKey(inputSeq));
  const said = known && asFilterDecision(known.answer);
  return said?.verdict === 'reject' ? said.reason : null;
}

/** What stands between messages that were queued and the turn they belong to; null when they may come in. */
export function gateDelivery(
  between: BetweenTurns,
  prompt: readonly DurableEventBody[],
  messages: readonly DurableEventBody[],
): Step | null {
  const { state, run, agent, now, last } = between;
  if (!agent.inputFilters) return null;
  const seqs = messages.flatMap((event) =>
    event.type === 'message_added' && event.inputSeq !== undefined ? [event.inputSeq] : [],
  );
  const first = askAboutInput(state, agent, seqs, run.runId);
  if (first) return first;
  const refused = state.inbox.flatMap((entry) => {
    const reason = seqs.includes(entry.seq) ? filterRefusal(state, entry.seq) : null;
    return reason === null ? [] : [{ entry, reason }];
  });
  const [worst] = refused;
  if (!worst) return null;
  const rejected = refused.map(({ entry, reason }) => rejectInput(entry, now, reason, run.runId));
  const end = endRun(run, now, 'rejected', last?.stopReason ?? null, { message: worst.reason });
  return { type: 'record', events: [...prompt, ...rejected, end] };
}

const contextKey = (turnIndex: number): string => `turn_context:${turnIndex}`;

/** Asks for what is to be known before the next turn; null when it was asked, or nobody is to be. */
export function askTurnContext({ state, run, agent }: BetweenTurns): Step | null {
  const { runId, turns: turnIndex } = run;
  const key = contextKey(turnIndex);
  if (!agent.turnContext || state.decisions.has(key)) return null;
  return { type: 'decide', questions: [{ type: 'turn_context', key, runId, turnIndex }] };
}

/** What is to be known before the next turn, and isn't yet. */
export function turnContext({ state, run, agent, now }: BetweenTurns): readonly DurableEventBody[] {
  if (!agent.turnContext) return [];
  const { runId, turns: turnIndex } = run;
  return slotMessages(state.decisions.get(contextKey(turnIndex))?.answer, state.slots, { runId, turnIndex, at: now });
}
