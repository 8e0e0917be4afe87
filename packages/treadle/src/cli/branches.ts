import type { Agent, BranchesRun, BranchStrategy, Model, RunResult, Session, WorkingCopies } from '@treadle/core';

import { join } from 'node:path';

import { counted, tokens } from './figures.ts';
import type { CliIo } from './io.ts';
import { homeFolder } from './parts.ts';
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

/** The strategy that a word names. `model` and `pairs` have the run's own model judge. */
export async function strategyOf(
  judge: string,
  own: Model,
  load: (name: string) => Promise<Model>,
): Promise<BranchStrategy> {
  const { fewestTokens, firstBranch, llmJudge, mostTokens, pairwiseJudge, vote } = await import('@treadle/core');
  switch (judge) {
    case 'first':
      return firstBranch();
    case 'fewest-tokens':
      return fewestTokens();
    case 'most-tokens':
      return mostTokens();
    case 'vote':
      return vote();
    case 'pairs':
      return pairwiseJudge({ model: own });
    default:
      return llmJudge({ model: judge === 'model' ? own : await load(judge) });
  }
}

/** What a run in branches needs besides its session. */
export interface BranchesInHand {
  readonly io: CliIo;
  readonly note: (text: string) => void;
  readonly request: BranchesRequest;
  readonly strategy: BranchStrategy;
  /** The folder of the session: each branch has a copy of it. */
  readonly folder: string;
  readonly agentIn: (folder: string) => Promise<Agent>;
}

/** Runs the prompt in branches, each in a copy of the folder, and tells of each that ends. The copies are gone afterwards. */
export async function startBranches(
  session: Session,
  texts: readonly string[],
  { io, note, request, strategy, folder, agentIn }: BranchesInHand,
): Promise<BranchesRun> {
  const { runBranches } = await import('@treadle/core');
  const { folderCopies } = await import('@treadle/tools');
  // Beside the home folder, for nobody may write inside it without being asked.
  const copies = folderCopies({ root: folder, folder: join(`${homeFolder(io)}-branches`, session.id) });
  const run = runBranches(session, {
    branches: Array.from({ length: request.count }, (_, index) => ({
      configId: String(index + 1),
      agent: (place) => agentIn(place.folder ?? folder),
    })),
    ...(texts.length > 0 ? { prompt: texts.map((text) => ({ type: 'text' as const, text })) } : {}),
    strategy,
    copies,
    onOutcome({ configId, end, message, turns, usage }) {
      const why = message === null ? '' : `: ${message}`;
      note(`Branch ${configId}: ${end}${why} · ${counted(turns, 'turn')} · ${tokens(usage)}`);
    },
  });
  const result = ending(run, copies);
  result.catch(() => {});
  return { ...run, result, [Symbol.asyncIterator]: () => run[Symbol.asyncIterator]() };
}

/** The result, once the copies are gone: what a death left is used by whoever goes on. */
async function ending(run: BranchesRun, copies: WorkingCopies): Promise<RunResult> {
  const result = await run.result;
  const outcomes = await run.outcomes.catch(() => []);
  for (const { sessionId } of outcomes) await copies.remove(sessionId);
  return result;
}
