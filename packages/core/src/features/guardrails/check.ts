import { plainData } from '../../tools/plain-data.ts';
import { TreadleError } from '../../errors.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { Message } from '../../messages/message.ts';
import type { StopToolCall } from '../../projections/run-result.ts';
import type { Clock } from '../../ports/clock.ts';
import { timedCall } from '../../timed-call.ts';

/** What a check says of an answer. `message` is told to the model, which goes on. */
export type AnswerVerdict = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** What a check may look at besides the answer. */
export interface AnswerContext {
  readonly sessionId: string;
  readonly runId: string;
  /** The call of a stop tool that would end the run: an `ask_question` is hardly an answer. */
  readonly stopTool: StopToolCall | null;
  /** How many answers of this run have failed. */
  readonly failures: number;
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}

/** Looks at the answer of a run that would end well. */
export type OutputGuardrail = (text: string, context: AnswerContext) => AnswerVerdict | Promise<AnswerVerdict>;

/** A check with limits of its own. */
export interface NamedOutputGuardrail {
  readonly check: OutputGuardrail;
  /** How many answers may fail before the run ends with `check_failed`, the last one not counted. Default 3. */
  readonly retries?: number;
  /** Milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
}

/**
 * The check with its limits; null for none.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkAnswerCheck(
  given: OutputGuardrail | NamedOutputGuardrail | undefined,
): Required<NamedOutputGuardrail> | null {
  if (given === undefined) return null;
  const { check, retries = 3, timeoutMs = 60_000 } = typeof given === 'function' ? { check: given } : given;
  if (typeof check !== 'function' || !Number.isSafeInteger(retries) || retries < 0 || !(timeoutMs > 0)) {
    throw new TreadleError(
      'invalid_definition',
      'outputGuardrail must be a function, or have one as check, with whole retries of at least 0 and a timeoutMs greater than 0.',
    );
  }
  return Object.freeze({ check, retries, timeoutMs });
}

/** What is kept of a check. `broken`: the check itself failed, and asking the model again would not mend it. */
export type CheckDecision =
  { readonly ok: true } | { readonly ok: false; readonly message: string; readonly broken?: true };

/** Asks the check. One that crashes, hangs or answers nonsense has not said yes. */
export async function askAnswerCheck(
  { check, timeoutMs }: Required<NamedOutputGuardrail>,
  text: string,
  context: AnswerContext,
  clock: Clock,
): Promise<CheckDecision> {
  const call = (signal: AbortSignal): unknown => check(text, { ...context, signal });
  const outcome = await timedCall({ name: 'The check of the answer', timeoutMs, clock, signal: context.signal, call });
  if (!outcome.ok) return { ok: false, message: outcome.problem, broken: true };
  const said: unknown = plainData(outcome.value).value;
  if (isJsonObject(said)) {
    if (said['ok'] === true) return { ok: true };
    const { message } = said;
    if (said['ok'] === false && typeof message === 'string') return { ok: false, message };
  }
  return { ok: false, message: 'The check of the answer answered with something that is no verdict.', broken: true };
}

/** A decision out of the log. What isn't one is a failure. */
export function asCheckDecision(answer: JsonValue): CheckDecision {
  if (isJsonObject(answer)) {
    if (answer['ok'] === true) return { ok: true };
    const { message, broken } = answer;
    if (typeof message === 'string') return { ok: false, message, ...(broken === true ? { broken } : {}) };
  }
  return { ok: false, message: 'The answer was refused.', broken: true };
}
