import type { PendingCall } from '../../events/events.ts';
import { createDigest } from '../../digest.ts';
import type { RunResult } from '../../projections/run-result.ts';
import type { ToolResult } from '../../tools/tool.ts';
import type { ChildRun } from './child-log.ts';
import type { Delegation } from './delegation.ts';

/** A call whose sub-agent is to run, or to be stopped. */
export interface ChildCall {
  readonly runId: string;
  readonly turnIndex: number;
  readonly callId: string;
  readonly toolName: string;
  /** As they were checked. */
  readonly arguments: unknown;
  readonly childSessionId: string;
  /** Present when it runs in the background: says what it is doing. */
  readonly background?: { readonly progress: (text: string) => void };
}

/** What came of a sub-agent's call, for now. */
export type ChildOutcome =
  | {
      readonly type: 'ended';
      readonly output: ToolResult;
      readonly childRunId: string | null;
      /** US dollars of what is limited. */
      readonly spent: number;
    }
  | { readonly type: 'paused'; readonly childRunId: string | null; readonly pending: readonly PendingCall[] }
  /** It was left where it stands, for the next process. */
  | { readonly type: 'yielded' };

/** Runs the sub-agents of a session's calls. The loop is handed one, for it knows nothing of sessions. */
export interface ChildRunner {
  /** Runs a call's sub-agent to its end or its pause: a new one, or the one that an earlier attempt has started. */
  run(call: ChildCall, delegation: Delegation, signal: AbortSignal): Promise<ChildOutcome>;
  /** Ends what a call has started, if it is still open, and says what it came to. */
  stop(call: ChildCall, reason: string): Promise<ChildOutcome>;
  /** US dollars of a run's money that sub-agents in the background hold. */
  held(runId: string): number;
  /** The run sets so much aside for a call of its own. */
  claim(key: string, amount: number): void;
}

/** The session of a call's sub-agent: the same for every attempt at the call, in any process; another one in a fork. */
export function childSessionId(sessionId: string, callId: string): string {
  const digest = createDigest();
  digest.text(sessionId);
  return `sub_${callId}_${digest.value().replace('.', '')}`;
}

/** What a model reads of a sub-agent that has come to its end: its final message, or why there is none. */
export function childOutput(
  { agentType, toolName, isPlain = false }: Pick<Delegation, 'agentType' | 'isPlain'> & { readonly toolName: string },
  childSessionId: string,
  run: Exclude<ChildRun, { state: 'unasked' | 'open' }>,
): ToolResult {
  const about = { agentType, childSessionId, ...(run.runId === null ? {} : { childRunId: run.runId }) };
  if (run.state === 'refused') {
    return { content: `The agent ${agentType} did not start: ${run.reason}`, isError: true, details: about };
  }
  const { status, turns, usage, cost, files } = run.result;
  const details = { ...about, status, turns, usage: { ...usage }, cost };
  const handle = isPlain
    ? []
    : [`Agent run ${run.runId}. To go on with it, call ${toolName} with resume: "${childSessionId}".`];
  const answer = run.result.text;
  const content = [...problemOf(agentType, run.result), ...(answer.trim() === '' ? [] : [answer]), ...handle].map(
    (text) => ({ type: 'text' as const, text }),
  );
  const isError = status !== 'completed' || answer.trim() === '';
  return { content, details, ...(isError ? { isError } : {}), ...(files.length === 0 ? {} : { files }) };
}

/** A sub-agent that says nothing, or was stopped, has not succeeded, whatever it said until then. */
function problemOf(agentType: string, { status, message, text, error }: RunResult): string[] {
  if (status === 'completed') return text.trim() === '' ? [`The agent ${agentType} ended without an answer.`] : [];
  const why = message ?? error?.message ?? status;
  const until = text.trim() === '' ? '' : ' The last it said:';
  return [`The agent ${agentType} did not finish (${status}): ${why}${until}`];
}
