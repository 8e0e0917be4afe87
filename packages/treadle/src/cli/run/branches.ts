import type { Agent, Model, RunResult, Session } from '@treadle/core';
import type { BranchesRun, BranchStrategy, WorkingCopies } from '@treadle/core/branches';

import { join } from 'node:path';

import { counted, tokens } from '../output/figures.ts';
import type { BranchesRequest } from './branches-request.ts';
import type { CliIo } from '../io.ts';
import { homeFolder } from '../parts.ts';

/** The strategy that a word names. `model` and `pairs` have the run's own model judge. */
export async function strategyOf(
  judge: string,
  own: Model,
  load: (name: string) => Promise<Model>,
): Promise<BranchStrategy> {
  const { fewestTokens, firstBranch, llmJudge, mostTokens, pairwiseJudge, vote } =
    await import('@treadle/core/branches');
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
  const { folderCopies, worktreeCopies } = await import('@treadle/tools');
  // Beside the home folder, for nobody may write inside it without being asked.
  const place = { root: folder, folder: join(`${homeFolder(io)}-branches`, session.id) };
  const copies = request.copies === 'worktree' ? worktreeCopies(place) : folderCopies(place);
  const run = runBranches(session, {
    branches: Array.from({ length: request.count }, (_, index) => ({
      configId: String(index + 1),
      agent: (place) => agentIn(place.folder ?? folder),
    })),
    ...(texts.length > 0 ? { prompt: texts.map((text) => ({ type: 'text' as const, text })) } : {}),
    strategy,
    copies,
    onOutcome({ configId, status, message, turns, usage }) {
      const why = message === null ? '' : `: ${message}`;
      note(`Branch ${configId}: ${status}${why} · ${counted(turns, 'turn')} · ${tokens(usage)}`);
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
