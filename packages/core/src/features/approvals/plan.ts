import type { TreadleErrorCode } from '../../errors.ts';
import type { DurableEventBody, SessionInput } from '../../events/events.ts';
import { rejectCall } from '../../kernel/plan/reject-call.ts';
import { rejectInput } from '../../kernel/plan/run-events.ts';
import { isAsked, isPending, isTooLate } from '../../kernel/services/pending.ts';
import type { CallState, InboxEntry, RunState, SessionState, TurnState } from '../../kernel/state.ts';
import type { ToolResultContent } from '../../messages/content.ts';

/** Results of client tools and answers of people: each is recorded, or rejected with the reason. When it was posted counts. */
export function takeAnswers(state: SessionState, run: RunState, turn: TurnState, now: number): DurableEventBody[] {
  for (const entry of state.inbox) {
    const { input } = entry;
    if (input.type === 'client_tool_results') return takeResults(run, turn, entry, input, now);
    if (input.type === 'approval_answer') {
      const { type: _, requestKey: __, approvalId, decision, ...said } = input;
      const asked = turn.calls.find((call) => call.approvalId === approvalId && isAsked(call));
      if (!asked) return [rejectInput(entry, now, `No question ${approvalId} is open.`, run.runId)];
      if (isTooLate(asked, entry.at)) return [rejectInput(entry, now, tooLate(approvalId), run.runId)];
      return [
        { type: 'approval_answered', at: now, runId: run.runId, approvalId, decision, ...said, inputSeq: entry.seq },
      ];
    }
  }
  return [];
}

export const tooLate = (approvalId: string): string => `The time to answer the question ${approvalId} is over.`;

function takeResults(
  run: RunState,
  turn: TurnState,
  entry: InboxEntry,
  { results, partial }: Extract<SessionInput, { readonly type: 'client_tool_results' }>,
  now: number,
): DurableEventBody[] {
  const waiting = turn.calls.filter((call) => isPending(call) && !isTooLate(call, entry.at));
  const problem = resultsProblem(waiting, results, partial);
  if (problem !== null) return [rejectInput(entry, now, problem.message, run.runId)];
  const byId = new Map(results.map((result) => [result.callId, result]));
  return waiting.flatMap((call): DurableEventBody[] => {
    const result = byId.get(call.callId);
    if (!result) return [];
    return [
      {
        type: 'tool_ended',
        at: now,
        runId: run.runId,
        turnIndex: turn.index,
        callId: call.callId,
        toolName: call.name,
        content: typeof result.content === 'string' ? text(result.content) : result.content,
        isError: result.isError ?? false,
        durationMs: Math.max(0, now - run.lastAt),
        inputSeq: entry.seq,
      },
    ];
  });
}

/** What is wrong with results, and the error of whoever brought them. */
export interface ResultsProblem {
  readonly code: Extract<
    TreadleErrorCode,
    'not_awaiting' | 'results_missing' | 'results_unknown' | 'results_duplicate'
  >;
  readonly message: string;
  /** The calls it is about. */
  readonly callIds: readonly string[];
}

/** Why results don't answer exactly the calls that wait, or with `partial` some of them; null when they do. */
export function resultsProblem(
  pending: readonly { readonly callId: string }[],
  results: readonly { readonly callId: string }[],
  partial?: true,
): ResultsProblem | null {
  const given = new Set<string>();
  const twice = new Set<string>();
  for (const { callId } of results) (given.has(callId) ? twice : given).add(callId);
  if (twice.size > 0) return problem('results_duplicate', 'The same call is answered twice', twice);
  if (pending.length === 0) {
    return { code: 'not_awaiting', message: 'No client tool call is waiting for a result.', callIds: [...given] };
  }
  const waiting = new Set(pending.map(({ callId }) => callId));
  const foreign = [...given].filter((callId) => !waiting.has(callId));
  if (foreign.length > 0) return problem('results_unknown', 'These calls are not waiting', foreign);
  const missing = partial ? [] : [...waiting].filter((callId) => !given.has(callId));
  return missing.length > 0 ? problem('results_missing', 'Results are missing for', missing) : null;
}

const problem = (code: ResultsProblem['code'], words: string, of: Iterable<string>): ResultsProblem => ({
  code,
  message: `${words}: ${[...of].join(', ')}.`,
  callIds: [...of],
});

/** Calls that nobody has answered in time get their result: none of them has run, or will. */
export function expireCalls(run: RunState, turn: TurnState, now: number): readonly DurableEventBody[] {
  return turn.calls
    .filter((call) => call.status !== 'ended' && isTooLate(call, now) && (isPending(call) || isAsked(call)))
    .map((call) => rejectCall(run, turn, call, now, 'expired', expiredWords(call)));
}

function expiredWords(call: CallState): string {
  const { name } = call;
  if (isPending(call)) {
    return `No result came in time: whoever was to run ${name} gave none. Whether it took effect is unknown.`;
  }
  if (call.asking) return `Nobody answered in time what ${name} asked, so it was not continued. Its effect is unknown.`;
  if (call.status === 'started') {
    return `Whether ${name} took effect is unknown: its process died. Nobody answered in time whether to run it again, so it was not.`;
  }
  return (
    `Permission denied: ${name} was not run. Nobody answered in time. ` +
    "Don't look for a way around. Go on without it, or say what you would have done."
  );
}

const text = (words: string): readonly ToolResultContent[] => [{ type: 'text', text: words }];
