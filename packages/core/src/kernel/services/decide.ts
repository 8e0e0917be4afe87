import type { DurableEventBody } from '../../events/events.ts';
import type { JsonValue } from '../../json.ts';
import type { PerformContext } from '../context.ts';
import { reserveBudget } from '../../features/budget/decide.ts';
import { decideHandoff } from '../../features/handoff/decide.ts';
import { askHook } from '../../features/hooks/decide.ts';
import { askMemory, updateMemory } from '../../features/memory/decide.ts';
import { askPermission } from '../../features/permissions/decide.ts';
import { decideRouting } from '../../features/routing/decide.ts';
import { decideOutput } from '../../features/output/decide.ts';
import { decideTurnContext } from '../../features/turn-context/decide.ts';
import { decideAnswer, decideInput } from '../../features/guardrails/decide.ts';
import { untilInterrupted } from '../perform/interrupt.ts';
import { KIND_OF, type Question } from './question.ts';

/**
 * Finds the answer to a question. Never throws: whoever fails to answer is answered for, and a gate that fails says no.
 * Undefined when somebody is asked who may answer much later: what was recorded instead makes the plan wait.
 */
type Decider<Type extends Question['type']> = (
  context: PerformContext,
  question: Extract<Question, { type: Type }>,
  signal: AbortSignal,
) => Promise<JsonValue | undefined>;

const DECIDERS: { readonly [Type in Question['type']]: Decider<Type> } = {
  hook: askHook,
  permission: askPermission,
  memory: askMemory,
  memory_update: updateMemory,
  filter: decideInput,
  output: decideOutput,
  check: decideAnswer,
  turn_context: decideTurnContext,
  budget: reserveBudget,
  handoff: decideHandoff,
  routing: decideRouting,
};

/** Whoever answers questions of this type; the table says so, which the type checker can't follow. */
const askWho = ({ type }: Question): Decider<Question['type']> => DECIDERS[type] as Decider<Question['type']>;

/** Asks, all at once, and records each answer by itself. An interrupt leaves what isn't answered yet unanswered. */
export async function decide(context: PerformContext, questions: readonly Question[]): Promise<void> {
  const abort = new AbortController();
  const forget = context.interrupt.on(() => abort.abort());
  try {
    await Promise.all(questions.map((question) => answer(context, question, abort.signal)));
  } finally {
    forget();
  }
}

async function answer(context: PerformContext, question: Question, signal: AbortSignal): Promise<void> {
  const asked = askWho(question)(context, question, signal);
  const decision = await untilInterrupted(context.interrupt, asked, undefined);
  if (decision === undefined) return;
  await context.log.record([decisionMade(question, context.clock.now(), decision)]);
}

function decisionMade(question: Question, at: number, decision: JsonValue): DurableEventBody {
  const { type, key, runId, turnIndex, callId } = question;
  return {
    type: 'decision_made',
    at,
    ...(runId === undefined ? {} : { runId }),
    kind: KIND_OF[type],
    key,
    ...(turnIndex === undefined ? {} : { turnIndex }),
    ...(callId === undefined ? {} : { callId }),
    decision,
  };
}
