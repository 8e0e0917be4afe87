import { viewParts } from '../../view-parts.ts';
import { errorText } from '../../errors.ts';
import type { ViewPart } from '../../events/events.ts';
import type { JsonValue } from '../../json.ts';
import type { Message } from '../../messages/message.ts';
import { timedCall } from '../../timed-call.ts';
import type { PerformContext } from '../../kernel/context.ts';
import type { Question } from '../../kernel/services/question.ts';

/** Milliseconds a filter has. */
const TIMEOUT_MS = 10_000;

/**
 * Asks what the next agent is shown of the conversation. A filter that fails is asked for a reason: then it is shown nothing.
 */
export async function decideHandoff(
  { agent, state, clock, emit }: PerformContext,
  { callId, runId }: Extract<Question, { type: 'handoff' }>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const reply = state.view.findLast((message) => message.role === 'tool' && message.callId === callId);
  const filter = reply?.role === 'tool' ? agent.tools.get(reply.toolName)?.handsOff?.filter : undefined;
  const view = state.view.slice();
  const failed = (problem: string): JsonValue => {
    const message = `The next agent is shown nothing of the conversation: ${problem}`;
    const run = runId === undefined ? {} : { runId };
    emit({ type: 'warning', afterSeq: state.seq, ...run, code: 'handoff_filter_failed', message });
    return { view: [], problem };
  };
  const call = (): unknown => filter?.(view);
  const outcome = await timedCall({ name: 'The filter of the handoff', timeoutMs: TIMEOUT_MS, clock, signal, call });
  if (!outcome.ok) return failed(outcome.problem);
  try {
    return { view: partsOf(view, outcome.value) as unknown as JsonValue };
  } catch (thrown) {
    return failed(errorText(thrown));
  }
}

/** What is kept, by its places. Calls and their results are kept together, or left out together. */
function partsOf(view: readonly Message[], kept: unknown): ViewPart[] {
  if (!Array.isArray(kept)) throw new Error('The filter returned no list of messages.');
  const wanted = new Set<unknown>(kept);
  const foreign = kept.some((message) => !view.includes(message as Message));
  if (foreign) throw new Error('The filter returned a message that is not one of the conversation.');
  return viewParts(
    view,
    view.filter((message) => wanted.has(message) && isWhole(view, wanted, message)),
  );
}

/** A reply goes with all results of its calls, and they with it. */
function isWhole(view: readonly Message[], wanted: ReadonlySet<unknown>, message: Message): boolean {
  if (message.role !== 'assistant' && message.role !== 'tool') return true;
  const reply =
    message.role === 'assistant'
      ? message
      : view.find((each) => each.role === 'assistant' && callsIn(each).includes(message.callId));
  if (!reply || !wanted.has(reply)) return false;
  const calls = callsIn(reply);
  return view.every((each) => each.role !== 'tool' || !calls.includes(each.callId) || wanted.has(each));
}

const callsIn = (message: Message): readonly string[] =>
  message.role === 'assistant'
    ? message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []))
    : [];
