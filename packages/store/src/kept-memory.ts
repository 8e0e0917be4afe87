import { type Memory, TreadleError } from '@treadle/core';
import type { FinishedRun, MemoryScope } from '@treadle/core/features';

// What the memories in databases have in common.

/** Options of a memory in a database. */
export interface KeptMemoryOptions {
  /**
   * Whose memory a run writes and reads; runs of different namespaces never see each other's. A name, or what finds it for
   * a run, such as by its metadata. Default: the agent's id.
   */
  readonly namespace?: string | ((scope: MemoryScope) => string);
  /** Runs that one retrieval brings back, at most. Default 5. */
  readonly limit?: number;
  /** Characters kept of a run's prompt, and of its answer; the middle of longer ones is cut out. Default 4000. */
  readonly maxLength?: number;
}

/** A memory that can forget, and has something to let go of. */
export interface KeptMemory extends Memory {
  /** Forgets all that a namespace has. Resolves to the number of runs forgotten. */
  forget(namespace: string): Promise<number>;
  /** Closes it. Calls after it reject with `journal_failed`. */
  close(): Promise<void>;
}

/** More words than this make a search slower and no better. */
export const MOST_WORDS = 48;
/** Beyond this a prompt is data that was handed over, and its beginning says what is asked. */
export const LONGEST_QUERY = 20_000;

/** A run that is remembered. */
export interface Remembered {
  readonly at: number;
  readonly prompt: string;
  readonly answer: string;
}

/** @throws TreadleError `invalid_definition` when a number makes no sense. */
export function keptOptions({
  limit = 5,
  maxLength = 4000,
  namespace = ({ agentId }) => agentId,
}: KeptMemoryOptions): Required<KeptMemoryOptions> {
  for (const [name, count] of Object.entries({ limit, maxLength })) {
    if (!Number.isSafeInteger(count) || count < 1)
      throw new TreadleError('invalid_definition', `${name} must be a whole number of at least 1, and it is ${count}.`);
  }
  return { limit, maxLength, namespace };
}

/** @throws TreadleError `invalid_definition` when the run has none: what belongs to nobody must not be everybody's. */
export function namespaceOf({ namespace }: Required<KeptMemoryOptions>, scope: MemoryScope): string {
  const name = typeof namespace === 'string' ? namespace : namespace(scope);
  if (typeof name === 'string' && name !== '') return name;
  throw new TreadleError('invalid_definition', 'The namespace of a memory must be a text that is not empty.');
}

/** A run as it is kept. */
export interface Kept extends Remembered {
  readonly runId: string;
}

export const shortened = ({ runId, at, prompt, answer }: FinishedRun, maxLength: number): Kept => ({
  runId,
  at,
  prompt: middleOut(prompt, maxLength),
  answer: middleOut(answer, maxLength),
});

/** The beginning and the end say most. */
function middleOut(text: string, length: number): string {
  const whole = text.trim();
  if (whole.length <= length) return whole;
  const half = Math.max(1, Math.floor(length / 2));
  return `${whole.slice(0, half).toWellFormed()}\n[…]\n${whole.slice(-half).toWellFormed()}`;
}

/** What a model reads of a run. */
export const rememberedText = ({ at, prompt, answer }: Remembered): string =>
  `${new Date(at).toISOString().slice(0, 10)}, the user said: ${prompt}\nThe answer was: ${answer}`;
