// `npm start` reads a request before anything is built: this file imports nothing by a package's name.

import { UsageError } from './usage-error.ts';

/** Who chooses, by a word; any other one is the name of a model. */
const WORDS = ['first', 'fewest-tokens', 'most-tokens', 'vote', 'model', 'pairs'] as const;

/** What `--branches` and `--judge` ask for. */
export interface BranchesRequest {
  readonly count: number;
  readonly judge: string;
}

const MOST = 16;

/** @throws UsageError for a number or a word that can't be used. */
export function branchesOf(count: number | undefined, judge: string | undefined): BranchesRequest | null {
  if (count === undefined) {
    if (judge === undefined) return null;
    throw new UsageError('--judge chooses among branches. Say how many: --branches 3');
  }
  if (count > MOST) throw new UsageError(`--branches takes a number up to ${MOST}.`);
  if (judge !== undefined && !judge.includes('/') && judge !== 'offline' && !WORDS.some((word) => word === judge)) {
    throw new UsageError(
      `--judge doesn't know '${judge}'. It takes: ${WORDS.join(', ')}; or a model's name, as --model does.`,
    );
  }
  return { count, judge: judge ?? 'model' };
}
