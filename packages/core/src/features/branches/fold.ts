import type { BranchesEnded } from '../../events/branches.ts';
import { spend } from '../compaction/fold.ts';
import type { RunState } from '../../kernel/state.ts';

/** The run has used what its branches have, and what choosing took. */
export function branchesEnded(run: RunState, event: BranchesEnded): void {
  const { selectedIndex, selectedSessionId, branches = [], evaluationUsage, evaluationCost = 0 } = event;
  if (run.branches) run.branches.selected = { selectedIndex, sessionId: selectedSessionId };
  for (const { usage, cost } of branches) spend(run, usage, cost);
  spend(run, evaluationUsage, evaluationCost);
}
