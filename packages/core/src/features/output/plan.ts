import type { DurableEventBody } from '../../events/events.ts';
import type { JsonValue } from '../../json.ts';
import { ask, type BetweenTurns, type FinishGate, tell, times } from '../../kernel/between-turns.ts';
import { endingCall } from '../../kernel/final-answer.ts';
import { lacksCall } from '../../kernel/plan/turn-events.ts';
import { isStopToolName } from '../../tools/stop-tool-names.ts';
import { userText } from '../../messages/final-text.ts';
import { asOutputDecision } from './structured.ts';

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
  if (call === undefined) return false;
  // Whoever the session is handed over to gives the value.
  if (agent.tools.get(call.toolName)?.handsOff) return true;
  return isStopToolName(call.toolName) && call.toolName !== 'task_completion';
}

/** The end of a run whose values have been wrong too often; null while there are retries left. */
export function outputSpent({ run, agent }: BetweenTurns): Extract<FinishGate, { type: 'end' }> | null {
  if (!agent.output || run.outputsFailed <= agent.output.retries) return null;
  const message = `The answer didn't fit its schema, ${times(run.outputsFailed)}.`;
  return { type: 'end', status: 'invalid_output', message };
}

const outputKey = (turns: number): string => `output:${turns}`;

/** The value the run comes to, where it has come to one. */
export function outputOf({ state, run, agent }: BetweenTurns): { readonly output?: JsonValue } {
  const known = agent.output ? state.decisions.get(outputKey(run.turns)) : undefined;
  const said = known && asOutputDecision(known.answer);
  return said?.ok === true ? { output: said.value } : {};
}

/** With a policy that wants calls, a reply without one isn't an answer. */
export function remindOfCalls({ run, agent, now, last }: BetweenTurns): readonly DurableEventBody[] {
  if (agent.requireToolCall === null || !last || !lacksCall(last)) return [];
  const { runId, turns } = run;
  const message = userText(`${runId}.no_call.${turns}`, now, 'reminder', agent.requireToolCall);
  return [{ type: 'message_added', at: now, runId, inView: true, message }];
}
