import type { Agent } from '../../agent/agent.ts';
import type { RunStatus } from '../../events/events.ts';
import type { InboxEntry, SessionState } from '../state.ts';
import type { Step } from '../step.ts';
import { endRun, rejectInput, type StartedRun } from './run-events.ts';

/** What stands between an input and its run. */
export interface Start {
  readonly state: SessionState;
  readonly agent: Agent;
  readonly entry: InboxEntry;
  readonly started: StartedRun;
  readonly now: number;
}

/** The run ends before it began: nobody hears of its start, and nothing of the prompt joins the history. */
export function refuseRun({ entry, started, now }: Start, reason: string, status: RunStatus = 'rejected'): Step {
  const { run } = started;
  return {
    type: 'record',
    events: [
      rejectInput(entry, now, reason, run.runId),
      endRun(run, now, status, null, { message: reason, inputSeq: entry.seq }),
    ],
  };
}
