import { closestName } from '@treadle/core/names';

/** The command was called in a way that can't work. Says what is wrong and what to do; the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** ` Did you mean X?`, or what there is. */
export function suggestion(word: string, candidates: readonly string[], prefix = ''): string {
  const best = closestName(word, candidates);
  if (best !== undefined) return ` Did you mean '${prefix}${best}'?`;
  return '';
}

/** What went wrong, in words. Core has the same; what is loaded before the first screen doesn't load core for it. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
