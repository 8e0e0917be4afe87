// `npm start` reads a request before anything is built: this file imports nothing by a package's name.

import { UsageError } from '../usage-error.ts';

/** Who chooses, by a word; any other one is the name of a model. */
const WORDS = ['first', 'fewest-tokens', 'most-tokens', 'vote', 'model', 'pairs'] as const;

/** What branches work in. */
const COPIES = ['folder', 'worktree'] as const;
export type CopiesKind = (typeof COPIES)[number];

/** What `--branches` and `--judge` ask for. */
export interface BranchesRequest {
  readonly count: number;
  readonly judge: string;
  readonly copies: CopiesKind;
}

const MOST = 16;

/** @throws UsageError for a number or a word that can't be used. */
export function branchesOf(
  count: number | undefined,
  judge: string | undefined,
  copies = 'folder',
): BranchesRequest | null {
  if (count === undefined) {
    if (judge !== undefined) throw new UsageError('--judge chooses among branches. Say how many: --branches 3');
    if (copies !== 'folder') throw new UsageError('--copies is about branches. Say how many: --branches 3');
    return null;
  }
  const kind = COPIES.find((word) => word === copies);
  if (kind === undefined) throw new UsageError(`--copies takes ${COPIES.join(' or ')}, and not '${copies}'.`);
  if (count > MOST) throw new UsageError(`--branches takes a number up to ${MOST}.`);
  if (judge !== undefined && !judge.includes('/') && judge !== 'demo' && !WORDS.some((word) => word === judge)) {
    throw new UsageError(
      `--judge doesn't know '${judge}'. It takes: ${WORDS.join(', ')}; or a model's name, as --model does.`,
    );
  }
  return { count, judge: judge ?? 'model', copies: kind };
}
