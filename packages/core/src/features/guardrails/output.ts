import { plainData } from '../../tools/plain-data.ts';
import { TreadleError } from '../../errors.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { Message } from '../../messages/message.ts';
import type { StopToolCall } from '../../projections/run-result.ts';
import type { Clock } from '../../ports/clock.ts';
import { timedCall } from '../../timed-call.ts';

/** What a guardrail says of an answer. `message` is told to the model, which goes on. */
export type AnswerVerdict = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** What a guardrail may look at besides the answer. */
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

/** A guardrail with a name for messages and limits of its own. */
export interface NamedOutputGuardrail {
  readonly name?: string;
  readonly execute: OutputGuardrail;
  /** How many answers of a run may fail before it ends with `guardrail_failed`, the last one not counted. Default 3. */
  readonly retries?: number;
  /** Milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_RETRIES = 3;

/**
 * The guardrails in the order in which they are asked; null for none.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkOutputGuardrails(
  given: readonly (OutputGuardrail | NamedOutputGuardrail)[] | undefined,
): readonly Required<NamedOutputGuardrail>[] | null {
  if (given === undefined) return null;
  if (!Array.isArray(given)) {
    throw new TreadleError('invalid_definition', 'outputGuardrails must be a list: outputGuardrails: [guardrail].');
  }
  const guardrails = given.map((one: OutputGuardrail | NamedOutputGuardrail, index) => {
    const {
      execute,
      retries = DEFAULT_RETRIES,
      timeoutMs = 60_000,
      name = `Output guardrail ${index + 1}`,
    } = typeof one === 'function' ? { execute: one } : one;
    if (typeof execute !== 'function' || !Number.isSafeInteger(retries) || retries < 0 || !(timeoutMs > 0)) {
      throw new TreadleError(
        'invalid_definition',
        `${name} must be a function, or have one as execute, with whole retries of at least 0 and a timeoutMs greater than 0.`,
      );
    }
    return { name, execute, retries, timeoutMs };
  });
  return guardrails.length === 0 ? null : Object.freeze(guardrails);
}

/**
 * The log's record of the guardrails' verdict. `retries` are those of the guardrail that refused. `broken`: the guardrail
 * itself failed, and another answer would not mend it.
 */
export type GuardrailDecision =
  | { readonly ok: true }
  | { readonly ok: false; readonly message: string; readonly retries?: number; readonly broken?: true };

/** Asks the guardrails in their order until one refuses. One that crashes, hangs or answers nonsense has not said yes. */
export async function askOutputGuardrails(
  guardrails: readonly Required<NamedOutputGuardrail>[],
  text: string,
  context: AnswerContext,
  clock: Clock,
): Promise<GuardrailDecision> {
  for (const { name, execute, retries, timeoutMs } of guardrails) {
    const call = (signal: AbortSignal): unknown => execute(text, { ...context, signal });
    const outcome = await timedCall({ name, timeoutMs, clock, signal: context.signal, call });
    if (!outcome.ok) return { ok: false, message: outcome.problem, broken: true };
    const said: unknown = plainData(outcome.value).value;
    const { ok, message } = isJsonObject(said) ? said : {};
    if (ok === true) continue;
    if (ok === false && typeof message === 'string') return { ok, message, retries };
    return { ok: false, message: `${name} answered with something that is no verdict.`, broken: true };
  }
  return { ok: true };
}

/** A decision out of the log. What isn't one is a failure. */
export function asGuardrailDecision(answer: JsonValue): GuardrailDecision {
  if (isJsonObject(answer)) {
    if (answer['ok'] === true) return { ok: true };
    const { message, broken, retries = DEFAULT_RETRIES } = answer;
    if (typeof message === 'string') {
      return { ok: false, message, retries: Number(retries), ...(broken === true ? { broken } : {}) };
    }
  }
  return { ok: false, message: 'The answer was refused.', broken: true };
}
