import { plainData } from '../../tools/plain-data.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { UserContent } from '../../messages/content.ts';
import type { Message } from '../../messages/message.ts';
import type { Clock } from '../../ports/clock.ts';
import { timedCall } from '../../timed-call.ts';

/** What a guardrail makes of an input: it passes, it passes with a word of warning for the model, or it doesn't. */
export type FilterVerdict =
  | { readonly verdict: 'pass' }
  | { readonly verdict: 'warn'; readonly message: string }
  | { readonly verdict: 'reject'; readonly reason: string };

/** What a guardrail may look at besides the text. */
export interface FilterContext {
  readonly sessionId: string;
  /** How the text comes in. */
  readonly origin: 'prompt' | 'steering' | 'follow_up';
  /** The conversation it comes into, as models see it. */
  readonly messages: readonly Message[];
  /** Aborted when the time is up or the run was interrupted. */
  readonly signal: AbortSignal;
}

/** Looks at the text of an input, all of its messages joined by newlines, before a model does. */
export type InputGuardrail = (text: string, context: FilterContext) => FilterVerdict | Promise<FilterVerdict>;

/** A guardrail with a name for messages and a time of its own. */
export interface NamedInputGuardrail {
  readonly name?: string;
  readonly execute: InputGuardrail;
  /** Milliseconds; what takes longer is rejected. Default 10,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * The guardrails as they are asked, in their order; null for none.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkInputGuardrails(
  given: readonly (InputGuardrail | NamedInputGuardrail)[] | undefined,
): readonly Required<NamedInputGuardrail>[] | null {
  if (given === undefined || given.length === 0) return null;
  return Object.freeze(
    given.map((one, index) => {
      const {
        execute,
        timeoutMs = DEFAULT_TIMEOUT_MS,
        name = `Input guardrail ${index + 1}`,
      } = typeof one === 'function' ? { execute: one } : one;
      if (typeof execute !== 'function' || !(timeoutMs > 0)) {
        throw new TreadleError('invalid_definition', `${name} must be a function, with a timeoutMs greater than 0.`);
      }
      return { name, execute, timeoutMs };
    }),
  );
}

/** What all guardrails together say of an input. */
export type FilterDecision =
  | { readonly verdict: 'pass' }
  | { readonly verdict: 'warn'; readonly warnings: readonly string[] }
  | { readonly verdict: 'reject'; readonly reason: string };

/** Asks the guardrails in their order. The first that rejects is the last that is asked; one that fails has rejected. */
export async function askInputGuardrails(
  guardrails: readonly Required<NamedInputGuardrail>[],
  text: string,
  context: FilterContext,
  clock: Clock,
): Promise<FilterDecision> {
  const warnings: string[] = [];
  for (const { name, execute, timeoutMs } of guardrails) {
    const call = (signal: AbortSignal): unknown => execute(text, { ...context, signal });
    const outcome = await timedCall({ name, timeoutMs, clock, signal: context.signal, call });
    const said = outcome.ok
      ? verdictOf(plainData(outcome.value).value, name)
      : { verdict: 'reject' as const, reason: outcome.problem };
    if (said.verdict === 'reject') return said;
    if (said.verdict === 'warn') warnings.push(said.message);
  }
  return warnings.length === 0 ? { verdict: 'pass' } : { verdict: 'warn', warnings };
}

function verdictOf(value: unknown, name: string): FilterVerdict {
  if (isJsonObject(value)) {
    const { verdict, message, reason } = value;
    if (verdict === 'pass') return { verdict };
    if (verdict === 'warn' && typeof message === 'string') return { verdict, message };
    if (verdict === 'reject') return { verdict, reason: typeof reason === 'string' ? reason : `${name} said no.` };
  }
  return { verdict: 'reject', reason: `${name} answered with something that is no verdict.` };
}

/** Where the decision about an input is kept. */
export const filterKey = (inputSeq: number): string => `filter:${inputSeq}`;

/** A decision out of the log. What isn't one is a rejection. */
export function asFilterDecision(answer: JsonValue): FilterDecision {
  if (isJsonObject(answer)) {
    const { verdict, warnings, reason } = answer;
    if (verdict === 'pass') return { verdict };
    if (verdict === 'warn' && Array.isArray(warnings)) return { verdict, warnings: warnings.map(String) };
    if (verdict === 'reject' && typeof reason === 'string') return { verdict, reason };
  }
  return { verdict: 'reject', reason: 'The input was rejected.' };
}

/** Everything an input says, as filters read it. */
export const textOfInput = (messages: readonly { readonly content: readonly UserContent[] }[]): string =>
  messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : []))).join('\n');

/** Messages of inputs, with what filters warn of in brackets at the end of each input's last message. */
export function withWarnings(
  decisions: ReadonlyMap<string, { readonly answer: JsonValue }>,
  events: readonly DurableEventBody[],
): readonly DurableEventBody[] {
  if (decisions.size === 0) return events;
  return events.map((event, index) => {
    if (event.type !== 'message_added' || event.inputSeq === undefined || event.message.role !== 'user') return event;
    const known = decisions.get(filterKey(event.inputSeq));
    const following = events[index + 1];
    if (!known || (following?.type === 'message_added' && following.inputSeq === event.inputSeq)) return event;
    const said = asFilterDecision(known.answer);
    if (said.verdict !== 'warn') return event;
    const markers = said.warnings.map((warning): UserContent => ({ type: 'text', text: `[Warning: ${warning}]` }));
    return { ...event, message: { ...event.message, content: [...event.message.content, ...markers] } };
  });
}
