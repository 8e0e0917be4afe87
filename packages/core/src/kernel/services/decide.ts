import type { DurableEventBody } from '../../events/events.ts';
import type { JsonValue } from '../../json.ts';
import type { PerformContext } from '../context.ts';
import { untilInterrupted } from '../perform/interrupt.ts';
import { DECIDERS, type Decider } from '../features.ts';
import { KIND_OF, type Question } from './question.ts';

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
