import { TreadleError } from '../../errors.ts';
import type { DurableEvent, SpawnedBy } from '../../events/events.ts';
import type { Journal } from '../../journal/journal.ts';
import { runResultFold, type RunResult, type RunResultFold } from '../../projections/run-result.ts';

/** What a sub-agent's log says of the run that a call asked for. */
export type ChildRun =
  /** Nobody has asked for it yet. */
  | { readonly state: 'unasked' }
  | { readonly state: 'open'; readonly runId: string | null }
  | { readonly state: 'refused'; readonly runId: string | null; readonly reason: string }
  | { readonly state: 'ended'; readonly runId: string; readonly result: RunResult; readonly spent: number };

/** The key under which a call asks for its run: the same for every attempt. */
export const spawnKey = (callId: string): string => `spawn:${callId}`;

/** Finds the run that the input with this key asked for. A session that was never made has none. */
export async function readChildRun(journal: Journal, sessionId: string, key: string): Promise<ChildRun> {
  try {
    return await findRun(journal, sessionId, key);
  } catch (error) {
    if (error instanceof TreadleError && error.code === 'session_not_found') return { state: 'unasked' };
    throw error;
  }
}

async function findRun(journal: Journal, sessionId: string, key: string): Promise<ChildRun> {
  let inputSeq: number | null = null;
  let runId: string | null = null;
  let fold: RunResultFold | null = null;
  let spent = 0;
  for await (const event of journal.read(sessionId, 1)) {
    if (inputSeq === null) {
      if (event.type === 'input_received' && event.key === key) inputSeq = event.seq;
      continue;
    }
    if (event.type === 'input_rejected' && event.inputSeq === inputSeq) {
      return { state: 'refused', runId: event.runId ?? null, reason: event.reason };
    }
    if (event.type === 'run_started' && event.inputSeq === inputSeq) {
      ({ runId } = event);
      fold = runResultFold(runId);
    }
    if (!fold || runId === null) continue;
    fold.take(event);
    if (!isOf(event, runId)) continue;
    if (event.type === 'budget_settled') spent += event.cost;
    else if (event.type === 'tool_ended') spent += event.childSpent ?? 0;
    else if (event.type === 'run_ended') return { state: 'ended', runId, result: fold.result(), spent };
  }
  return inputSeq === null ? { state: 'unasked' } : { state: 'open', runId };
}

const isOf = (event: DurableEvent, runId: string): boolean => 'runId' in event && event.runId === runId;

/** What started a session, and whose it is. Null when it isn't there. */
export async function spawnOf(
  journal: Journal,
  sessionId: string,
): Promise<{ readonly spawnedBy: SpawnedBy | null; readonly agentId: string | null }> {
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type !== 'session_created') break;
    return { spawnedBy: event.spawnedBy ?? null, agentId: event.agentId ?? null };
  }
  return { spawnedBy: null, agentId: null };
}
