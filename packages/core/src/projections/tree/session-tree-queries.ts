import { addUsage, UNKNOWN_USAGE, type Usage } from '../../model/usage.ts';
import type { ParallelGroup, RunRecord, SessionTree, SpawnRef } from './session-tree.ts';

/** What runs are looked for in: a tree, or a family. */
type Runs = Pick<SessionTree, 'runs'>;

/** The run of this id, or undefined. */
export const findRun = (tree: Runs, runId: string): RunRecord | undefined =>
  tree.runs.find((run) => run.runId === runId);

/** The runs that continue no other run of the session, in the order in which they began. */
export function rootRuns(tree: Runs): RunRecord[] {
  const known = new Set(tree.runs.map(({ runId }) => runId));
  return tree.runs.filter(({ parentRunId }) => parentRunId === null || !known.has(parentRunId));
}

/** The runs of the session that continue this one, in the order in which they began. */
export const childRuns = (tree: Runs, runId: string): RunRecord[] =>
  tree.runs.filter(({ parentRunId }) => parentRunId === runId);

/**
 * The runs that were started side by side with this one, each in its branch's session, in the order of the branches.
 * Give it trees that `linkSessions` has seen.
 */
export function parallelSiblings(trees: readonly SessionTree[], runId: string): RunRecord[] {
  const run = trees.flatMap((tree) => tree.runs).find((each) => each.runId === runId);
  const branches = run?.parallelGroup?.branches ?? [];
  if (!run || !branches.some(({ sessionId }) => sessionId === run.sessionId)) return [];
  return branches.flatMap(({ sessionId }) => {
    const tree = sessionId === run.sessionId ? undefined : trees.find((each) => each.sessionId === sessionId);
    return tree?.runs.filter((each) => each.sessionId === sessionId) ?? [];
  });
}

/** What all runs of the session have used, those before a fork included. */
export const totalUsage = (tree: Runs): Usage =>
  tree.runs.reduce((usage, run) => addUsage(usage, run.usage), UNKNOWN_USAGE);

/**
 * Trees that know of each other: children of the calls that started them, calls of the sessions they started, branches of
 * their group. Gives them back in the same order; what refers to a session that isn't among them stays open.
 */
export function linkSessions(trees: readonly SessionTree[]): SessionTree[] {
  const sessionOfRun = new Map<string, string>();
  const spawns = new Map<string, SpawnRef>();
  const groups = new Map<string, ParallelGroup>();
  for (const { sessionId, runs } of trees) {
    for (const run of runs) if (run.sessionId === sessionId) sessionOfRun.set(run.runId, sessionId);
  }
  for (const { sessionId, runs } of trees) {
    for (const { runId, childRuns, parallelGroup, sessionId: begun } of runs) {
      // A fork has its parent's runs too, and is not the one that started anything in them.
      if (begun !== sessionId) continue;
      for (const { callId, toolName, childRunId } of childRuns) {
        const child = sessionOfRun.get(childRunId);
        if (child !== undefined)
          spawns.set(child, { parentSessionId: sessionId, parentRunId: runId, callId, toolName });
      }
      for (const branch of parallelGroup?.branches ?? [])
        if (parallelGroup) groups.set(branch.sessionId, parallelGroup);
    }
  }
  const linkedRun = (run: RunRecord): RunRecord => {
    const group = groups.get(run.sessionId);
    return {
      ...run,
      childRuns: run.childRuns.map((ref) => ({
        ...ref,
        childSessionId: sessionOfRun.get(ref.childRunId) ?? ref.childSessionId,
      })),
      parallelGroup: group ? { ...group, isSelected: group.selectedSessionId === run.sessionId } : run.parallelGroup,
    };
  };
  return trees.map((tree) => ({
    ...tree,
    parentSpawn: spawns.get(tree.sessionId) ?? tree.parentSpawn,
    runs: tree.runs.map(linkedRun),
  }));
}
