import type { BranchesEnded } from '../../events/branches.ts';
import type { Fold } from '../../kernel/fold.ts';
import { asPart } from '../../model/usage.ts';
import { openRun } from '../../kernel/reduce/open.ts';
import { spend } from '../../kernel/reduce/view.ts';
import type { RunState } from '../../kernel/state.ts';

export const branchesFold: Fold = {
  after(state, event) {
    if (event.type === 'branches_started') openRun(state, event).branches = { all: event.branches };
    else if (event.type === 'branches_ended') branchesEnded(openRun(state, event), event);
  },
};

/** The run has used what its branches have, and what choosing took. */
function branchesEnded(run: RunState, event: BranchesEnded): void {
  const { selectedIndex, selectedSessionId, branches = [], evaluationUsage, evaluationCost = 0 } = event;
  if (run.branches) run.branches.selected = { selectedIndex, sessionId: selectedSessionId };
  for (const { usage, cost } of branches) spend(run, usage, cost);
  spend(run, asPart(evaluationUsage), evaluationCost);
}
