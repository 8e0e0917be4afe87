import { readRuns, type RecordedRun } from './recorded.ts';
import type { Continuation, InputMessage } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { userMessages, type UserInput } from '../session/input.ts';
import type { Journal } from '../journal/journal.ts';
import { systemClock, type Clock } from '../ports/clock.ts';

/** A run that begins in a fork: where the fork leaves its parent, and what it is asked. For those who drive it elsewhere. */
export interface ForkedRun {
  /** The last event that the fork shares. Absent: the parent's last. */
  readonly at?: number;
  /** Null goes on with the history as it is. */
  readonly messages: readonly InputMessage[] | null;
  readonly continuation: Continuation;
}

interface Attempt {
  /** Names the attempt. Default: the time, as in RFC 3339. */
  readonly tag?: string;
  readonly clock?: Clock;
}

/**
 * A run that is to be done again; by default the session's latest.
 *
 * @throws TreadleError `nothing_to_continue` when there is no such run.
 */
export async function rerunOf(
  journal: Journal,
  sessionId: string,
  { runId, ...attempt }: Attempt & { readonly runId?: string },
): Promise<ForkedRun> {
  const run = await runIn(journal, sessionId, runId);
  return { at: run.startedSeq - 1, messages: run.messages, continuation: tagged('rerun', attempt, run) };
}

/**
 * Another path: from an event, from where a run (with true the latest) began, or by default from the end.
 *
 * @throws TreadleError `nothing_to_continue` when there is no such run; `invalid_definition` for two places at once.
 */
export async function branchOf(
  journal: Journal,
  sessionId: string,
  {
    instead,
    at,
    prompt,
    ...attempt
  }: Attempt & { readonly instead?: string | true; readonly at?: number; readonly prompt?: UserInput },
): Promise<ForkedRun> {
  if (instead !== undefined && at !== undefined) {
    throw new TreadleError('invalid_definition', 'A branch begins at an event or instead of a run. Give one of them.');
  }
  const run = instead === undefined ? null : await runIn(journal, sessionId, instead === true ? undefined : instead);
  const seq = run === null ? at : run.startedSeq - 1;
  return {
    ...(seq === undefined ? {} : { at: seq }),
    messages: prompt === undefined ? null : userMessages(prompt),
    continuation: tagged('branch', attempt, run),
  };
}

const tagged = (
  kind: 'rerun' | 'branch',
  { tag, clock = systemClock }: Attempt,
  run: RecordedRun | null,
): Continuation => ({
  kind,
  tag: tag ?? new Date(clock.now()).toISOString(),
  ...(run === null ? {} : { of: run.runId }),
});

/** What a run was asked, and where it began. */
async function runIn(journal: Journal, sessionId: string, runId: string | undefined): Promise<RecordedRun> {
  const runs = await readRuns(journal, sessionId);
  const found = runs.findLast((run) => runId === undefined || run.runId === runId);
  if (found) return found;
  const which = runId === undefined ? 'no run' : `no run ${runId}`;
  throw new TreadleError('nothing_to_continue', `Session ${sessionId} has ${which} that could be done again.`);
}
