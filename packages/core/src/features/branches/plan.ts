import type { Agent } from '../../agent/agent.ts';
import type { BranchRef } from '../../events/branches.ts';
import { reachedLimit, type LimitHit } from '../../kernel/services/limits.ts';
import { startRun } from '../../kernel/plan/run-events.ts';
import { limitsOf, usedBy } from '../../kernel/services/run-limits.ts';
import type { InboxEntry, RunState, SessionState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

/** Starts a run whose work is done by branches: each in a session of its own, forked from before the run. */
export function startBranches(state: SessionState, agent: Agent, entry: InboxEntry, now: number): Step | null {
  const { input } = entry;
  if (input.type !== 'branch' || entry.cancelled) return null;
  const continuation = { kind: 'branch', tag: input.strategy } as const;
  const started = startRun(state, agent, { ...entry, input: { type: 'continue', continuation } }, now);
  const { runId } = started.run;
  const branches = input.branches.map(({ configId, configSegment }, index): BranchRef => {
    const sessionId = `${runId}.b${index}`;
    // The fork has had as many runs of this configuration as this session.
    const ordinal = (state.ordinals.get(configSegment) ?? 0) + 1;
    return { sessionId, configId, runId: `${sessionId}.${configSegment}.${ordinal}` };
  });
  const { metadata } = input;
  const event = metadata === undefined ? started.event : { ...started.event, metadata };
  const { strategy } = input;
  return { type: 'record', events: [event, { type: 'branches_started', at: now, runId, branches, strategy }] };
}

/** What happens next with a run that its branches do: they run, one is selected, then it is adopted. */
export function planBranches(run: RunState, agent: Agent, now: number): Step | LimitHit | null {
  const { branches } = run;
  if (!branches) return null;
  const hit = reachedLimit(usedBy(run, now), limitsOf(run, agent), ['time']);
  if (hit) return hit;
  return branches.selected === undefined ? { type: 'run_branches' } : { type: 'adopt_branch', ...branches.selected };
}
