import { TreadleError } from '../../errors.ts';
import type { LoopPattern } from '../../events/limits.ts';
import { type GuardState, PERIODS } from './guard.ts';

/** When a run counts as getting nowhere. `Infinity` switches a pattern off. */
export interface LoopDetection {
  /** Turns in a row that made the same calls and got the same results. Default 3. */
  readonly repeatedCalls: number;
  /** Calls in a row of one tool that failed with the same words, whatever their arguments. Default 5. */
  readonly repeatedErrors: number;
  /** Replies in a row with neither text nor a call. Default 1. */
  readonly emptyAnswers: number;
  /** Rounds in a row of the same two or three turns, calls and results alike. Default 2: A, B, A, B. */
  readonly cycles: number;
}

/** The settings of loop detection that an agent has by default. */
export const DEFAULT_LOOP_DETECTION: LoopDetection = Object.freeze({
  repeatedCalls: 3,
  repeatedErrors: 5,
  emptyAnswers: 1,
  cycles: 2,
});

/** @throws TreadleError `invalid_definition`. Null: the guard is off. */
export function checkLoopDetection(definition: false | Partial<LoopDetection> | undefined): LoopDetection | null {
  if (definition === false) return null;
  const checked: LoopDetection = { ...DEFAULT_LOOP_DETECTION, ...definition };
  for (const [name, value] of Object.entries<number>({ ...checked })) {
    const least = name === 'repeatedErrors' || name === 'emptyAnswers' ? 1 : 2;
    if (value === Infinity || (Number.isSafeInteger(value) && value >= least)) continue;
    throw new TreadleError(
      'invalid_definition',
      `loopDetection.${name} must be a whole number of at least ${least}, or Infinity, and it is ${value}.`,
    );
  }
  return Object.freeze(checked);
}

/** A pattern that has gone on for too long, and what repeats, in words. */
export interface LoopFinding {
  readonly pattern: LoopPattern;
  readonly what: string;
}

/** The pattern that has gone on for too long, if there is one. Pure. */
export function findLoop(guard: GuardState, limits: LoopDetection): LoopFinding | null {
  if (guard.repeats > 1 && guard.repeats >= limits.repeatedCalls) {
    return {
      pattern: 'repeated_calls',
      what: `the same call with the same result ${guard.repeats} times in a row: ${guard.did}`,
    };
  }
  if (guard.error && guard.error.count >= limits.repeatedErrors) {
    return {
      pattern: 'repeated_error',
      what: `the same error ${guard.error.count} times in a row: ${guard.error.text}`,
    };
  }
  const cycle = guard.cycling[0] + guard.cycling[1] > 0 ? findCycle(guard, limits) : null;
  if (cycle) return cycle;
  if (guard.empty > 0 && guard.empty >= limits.emptyAnswers) {
    return {
      pattern: 'empty_answer',
      what: guard.empty === 1 ? 'an empty reply' : `${guard.empty} empty replies in a row`,
    };
  }
  return null;
}

function findCycle(guard: GuardState, limits: LoopDetection): LoopFinding | null {
  for (const [index, period] of PERIODS.entries()) {
    // So many rounds are the first one and the turns that equal those of a round before.
    const rounds = Math.floor((guard.cycling[index] ?? 0) / period) + 1;
    if (rounds > 1 && rounds >= limits.cycles) {
      return {
        pattern: 'cycle',
        what: `the same ${period} steps in turns, ${rounds} times over, with the same results; the last one was ${guard.did}`,
      };
    }
  }
  return null;
}

/** What the model is told, once, before a run that gets nowhere is stopped. */
export function steeringText({ pattern, what }: LoopFinding): string {
  if (pattern === 'empty_answer') {
    return '[Your last reply was empty. Give your answer, or call a tool. The run stops if the next reply is empty too.]';
  }
  return `[No progress: ${what}. Doing it again will not help. Try something else, or say what keeps you from going on. The run stops if this goes on.]`;
}
