import type { JsonValue } from '../../json.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { answerOf } from '../../kernel/final-answer.ts';
import { asDecision, type QuestionOf } from '../../kernel/services/question.ts';
import { warnUnchecked } from '../../kernel/services/unchecked-patterns.ts';
import { timedCall } from '../../timed-call.ts';
import { askOutput, type OutputDecision } from './structured.ts';
import { OUTPUT_TOOL } from '../../tools/stop-tool-names.ts';
import type { ArgumentsOutcome } from '../../tools/tool.ts';

/** A schema that can't tell by then can't tell. */
const SCHEMA_TIMEOUT_MS = 60_000;

/** Holds the answer against the schema. */
export async function decideOutput(
  context: PerformContext,
  _question: QuestionOf<'output' | 'check'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { agent, state, clock } = context;
  const { output } = agent;
  if (!output) return { ok: true, value: null };
  const { text, terminal } = answerOf(state, agent);
  const given = terminal?.name === OUTPUT_TOOL ? { value: output.unwrap(terminal.arguments) } : { text };
  const check = async (value: JsonValue): Promise<ArgumentsOutcome> => {
    const checked = await output.check(value, agent.validator);
    warnUnchecked(context, 'the output', checked);
    return checked;
  };
  const call = (): Promise<OutputDecision> => askOutput({ mode: output.mode, check }, given);
  const outcome = await timedCall({ name: 'Checking the answer', timeoutMs: SCHEMA_TIMEOUT_MS, clock, signal, call });
  return asDecision(outcome.ok ? outcome.value : { ok: false, message: outcome.problem });
}
