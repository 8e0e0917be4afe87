import type { JsonValue } from '../../json.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { answerOf } from '../../kernel/final-answer.ts';
import { asDecision, type QuestionOf } from '../../kernel/services/question.ts';
import { askOutputGuardrails } from './output.ts';
import { askInputGuardrails, textOfInput } from './input.ts';

/** Asks the input guardrails about an input. */
export async function decideInput(
  { agent, state, clock }: PerformContext,
  { inputSeq }: QuestionOf<'filter'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const input = state.inbox.find(({ seq }) => seq === inputSeq)?.input;
  if (!agent.inputGuardrails || !input) return { verdict: 'pass' };
  if (input.type !== 'prompt' && input.type !== 'steering' && input.type !== 'follow_up') return { verdict: 'pass' };
  const text = textOfInput(input.type === 'prompt' ? input.messages : [input.message]);
  const facts = { sessionId: state.sessionId, origin: input.type, messages: state.view, signal };
  return asDecision(await askInputGuardrails(agent.inputGuardrails, text, facts, clock));
}

/** Asks the output guardrails about the answer. */
export async function decideAnswer(
  { agent, state, clock }: PerformContext,
  { runId = '' }: QuestionOf<'output' | 'check'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  if (!agent.outputGuardrails) return { ok: true };
  const { text, terminal } = answerOf(state, agent);
  const failures = state.run?.checksFailed ?? 0;
  const facts = { sessionId: state.sessionId, runId, stopTool: terminal, failures, messages: state.view, signal };
  return asDecision(await askOutputGuardrails(agent.outputGuardrails, text, facts, clock));
}
