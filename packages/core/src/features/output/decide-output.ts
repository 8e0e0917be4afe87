import type { JsonValue } from '../../json.ts';
import { askAnswerCheck } from '../guardrails/check.ts';
import { askFilters, textOfInput } from '../guardrails/filters.ts';
import { askOutput, OUTPUT_TOOL, type OutputDecision } from './structured.ts';
import { askTurnContext } from '../turn-context/turn-context.ts';
import { timedCall } from '../../timed-call.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { answerOf } from '../../kernel/final-answer.ts';
import type { Question } from '../../kernel/services/question.ts';

type QuestionOf<Type extends Question['type']> = Extract<Question, { readonly type: Type }>;

/** Decisions are plain data; an interface just doesn't say so. */
const asDecision = (decision: object): JsonValue => decision as unknown as JsonValue;

/** Asks the input filters about an input. */
export async function decideInput(
  { agent, state, clock }: PerformContext,
  { inputSeq }: QuestionOf<'filter'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const input = state.inbox.find(({ seq }) => seq === inputSeq)?.input;
  if (!agent.inputFilters || !input) return { verdict: 'pass' };
  if (input.type !== 'prompt' && input.type !== 'steering' && input.type !== 'follow_up') return { verdict: 'pass' };
  const text = textOfInput(input.type === 'prompt' ? input.messages : [input.message]);
  const facts = { sessionId: state.sessionId, origin: input.type, messages: state.view, signal };
  return asDecision(await askFilters(agent.inputFilters, text, facts, clock));
}

/** Asks the user's check about the answer. */
export async function decideAnswer(
  { agent, state, clock }: PerformContext,
  { runId = '' }: QuestionOf<'output' | 'check'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  if (!agent.finalAnswerCheck) return { ok: true };
  const { text, terminal } = answerOf(state, agent);
  const failures = state.run?.checksFailed ?? 0;
  const facts = { sessionId: state.sessionId, runId, terminalTool: terminal, failures, messages: state.view, signal };
  return asDecision(await askAnswerCheck(agent.finalAnswerCheck, text, facts, clock));
}

/** A schema that can't tell by then can't tell. */
const SCHEMA_TIMEOUT_MS = 60_000;

/** Holds the answer against the schema. */
export async function decideOutput(
  { agent, state, clock }: PerformContext,
  _question: QuestionOf<'output' | 'check'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { output } = agent;
  if (!output) return { ok: true, value: null };
  const { text, terminal } = answerOf(state, agent);
  const given = terminal?.name === OUTPUT_TOOL ? { value: output.unwrap(terminal.arguments) } : { text };
  const call = (): Promise<OutputDecision> => askOutput(output, given);
  const outcome = await timedCall({ name: 'Checking the answer', timeoutMs: SCHEMA_TIMEOUT_MS, clock, signal, call });
  return asDecision(outcome.ok ? (outcome.value as OutputDecision) : { ok: false, message: outcome.problem });
}

/** Asks what the model should know before its next turn. */
export async function decideTurnContext(
  { agent, state, clock, emit }: PerformContext,
  { runId, turnIndex }: QuestionOf<'turn_context'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  if (!agent.turnContext) return {};
  const facts = { sessionId: state.sessionId, runId, turnIndex, messages: state.view, signal };
  return asDecision(
    await askTurnContext(agent.turnContext, facts, clock, (message) =>
      emit({ type: 'warning', afterSeq: state.seq, runId, code: 'context_failed', message }),
    ),
  );
}
