import { TreadleError } from '../../errors.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { Message } from '../../messages/message.ts';
import { userText } from '../../messages/final-text.ts';
import type { Clock } from '../../ports/clock.ts';
import { timedCall } from '../../timed-call.ts';
import { type Slot, SLOTS } from './slots.ts';

/** What a provider may look at. */
export interface TurnFacts {
  readonly sessionId: string;
  readonly runId: string;
  readonly turnIndex: number;
  /** The conversation as models see it, without what this turn brings. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}

/** Says what the model should know before a turn; null, or an empty text, for nothing. */
export type TurnContextProvider = (facts: TurnFacts) => string | null | Promise<string | null>;

/** What is put before a turn's input, in this order. */
export interface TurnContextOptions {
  /** The plan as it stands. */
  readonly planning?: TurnContextProvider;
  /** What was found that bears on the turn. */
  readonly retrieved?: TurnContextProvider;
  /** Milliseconds for each. What takes longer says nothing. Default 10,000. */
  readonly timeoutMs?: number;
}

/** All that is asked before a turn. */
export interface TurnContextSettings extends TurnContextOptions {
  /** Says the system prompt of the turn. */
  readonly instructions?: TurnContextProvider;
}

const TITLES: Readonly<Record<Slot, string>> = {
  planning: 'The plan as it stands now',
  retrieved: 'What may help with the next step',
};

/**
 * The providers; null for none.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkTurnContext(
  given: TurnContextOptions | undefined,
  instructions: string | TurnContextProvider | undefined,
): TurnContextSettings | null {
  const isAsked = typeof instructions === 'function';
  if (!isAsked && SLOTS.every((slot) => given?.[slot] === undefined)) return null;
  const isProvider = (slot: Slot): boolean => given?.[slot] === undefined || typeof given[slot] === 'function';
  if (!SLOTS.every(isProvider) || !((given?.timeoutMs ?? 1) > 0)) {
    throw new TreadleError(
      'invalid_definition',
      'turnContext: planning and retrieved must be functions, and timeoutMs greater than 0.',
    );
  }
  return Object.freeze({ ...given, ...(isAsked ? { instructions } : {}) });
}

const ASKED = ['instructions', ...SLOTS] as const;

/** What the providers said before one turn. */
export type TurnContextDecision = { readonly [Name in (typeof ASKED)[number]]?: string };

/**
 * Asks the providers, all at once. One that fails has said nothing, and `warn` is told why.
 *
 * @throws TreadleError `instructions_failed`: no model is asked without its system prompt.
 */
export async function askTurnContext(
  options: TurnContextSettings,
  facts: TurnFacts,
  clock: Clock,
  warn: (problem: string) => void,
): Promise<TurnContextDecision> {
  const { timeoutMs = 10_000 } = options;
  const said = await Promise.all(
    ASKED.map(async (slot) => {
      const provider = options[slot];
      if (!provider) return [];
      const name = slot === 'instructions' ? 'The function `instructions`' : `The ${slot} provider`;
      const call = (signal: AbortSignal): unknown => provider({ ...facts, signal });
      const outcome = await timedCall({ name, timeoutMs, clock, signal: facts.signal, call });
      if (outcome.ok && typeof outcome.value === 'string')
        return outcome.value.trim() === '' ? [] : [[slot, outcome.value]];
      if (outcome.ok && outcome.value == null) return [];
      const problem = outcome.ok ? `${name} answered with no text.` : outcome.problem;
      if (slot === 'instructions')
        throw new TreadleError('instructions_failed', `${problem} Resume the run to ask again.`);
      warn(problem);
      return [];
    }),
  );
  return Object.fromEntries(said.flat()) as TurnContextDecision;
}

/** What the slots say that the model doesn't know yet, as messages. */
export function slotMessages(
  answer: JsonValue | undefined,
  known: ReadonlyMap<Slot, string>,
  { runId, turnIndex, at }: { readonly runId: string; readonly turnIndex: number; readonly at: number },
): readonly DurableEventBody[] {
  if (!isJsonObject(answer)) return [];
  return SLOTS.flatMap((slot): DurableEventBody[] => {
    const said = answer[slot];
    const text = typeof said === 'string' ? `# ${TITLES[slot]}\n\n${said}` : '';
    if (text === '' || known.get(slot) === text) return [];
    const message = userText(`${runId}.slot.${slot}.${turnIndex}`, at, 'reminder', text);
    return [{ type: 'message_added', at, runId, inView: true, message }];
  });
}
