import type { Agent, AgentDefinition, Model, RunResult, Session, Tool, UserContent } from '@treadle/core';
import type { BranchesRun, BranchStrategy, WorkingCopies } from '@treadle/core/branches';

import { join } from 'node:path';

import { counted, tokens } from '../output/figures.ts';
import type { BranchesRequest } from './branches-request.ts';
import type { CliIo } from '../io.ts';
import { homeFolder } from '../parts.ts';

/** The strategy that a word names. `model` and `pairs` have the run's own model judge. */
async function strategyOf(judge: string, own: Model, load: (name: string) => Promise<Model>): Promise<BranchStrategy> {
  const { fewestTokens, firstBranch, llmJudge, mostTokens, pairwiseJudge, vote } =
    await import('@treadle/core/branches');
  const strategies: Readonly<Record<string, () => BranchStrategy>> = {
    first: firstBranch,
    'fewest-tokens': fewestTokens,
    'most-tokens': mostTokens,
    vote,
    pairs: () => pairwiseJudge({ model: own }),
    model: () => llmJudge({ model: own }),
  };
  return Object.hasOwn(strategies, judge) && strategies[judge]
    ? strategies[judge]()
    : llmJudge({ model: await load(judge) });
}

/** What a run in branches needs besides its session. */
export interface BranchesInHand {
  readonly io: CliIo;
  readonly note: (text: string) => void;
  readonly request: BranchesRequest;
  readonly definition: AgentDefinition;
  /** The folder of the session: each branch has a copy of it. */
  readonly folder: string;
  readonly toolsIn: (folder: string) => Promise<readonly Tool[]>;
  readonly loadModel: (name: string) => Promise<Model>;
}

/** Runs the prompt in branches, each in a copy of the folder, and tells of each that ends. The copies are gone afterwards. */
export async function startBranches(
  session: Session,
  content: readonly UserContent[],
  { io, note, request, definition, folder, toolsIn, loadModel }: BranchesInHand,
): Promise<BranchesRun> {
  const strategy = await strategyOf(request.judge, definition.model, loadModel);
  const agentIn = async (root: string): Promise<Agent> => {
    const tools = await toolsIn(root);
    // Nobody is there to answer for one of several.
    return defineAgent({ ...definition, tools: tools.filter(({ runs }) => runs === 'server') });
  };
  const { defineAgent, runBranches } = await import('@treadle/core');
  const { folderCopies, worktreeCopies } = await import('@treadle/tools');
  // Beside the home folder, for nobody may write inside it without being asked.
  const place = { root: folder, folder: join(`${homeFolder(io)}-branches`, session.id) };
  const copies = request.copies === 'worktree' ? worktreeCopies(place) : folderCopies(place);
  const run = runBranches(session, {
    branches: Array.from({ length: request.count }, (_, index) => ({
      configId: String(index + 1),
      agent: (place) => agentIn(place.folder ?? folder),
    })),
    ...(content.length > 0 ? { prompt: content } : {}),
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
