import type { JsonValue } from '../../json.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { asDecision, type QuestionOf } from '../../kernel/services/question.ts';
import { askTurnContext } from './turn-context.ts';

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
