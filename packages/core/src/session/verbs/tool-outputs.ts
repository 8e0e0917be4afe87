import type { ClientToolResult, PendingCall, PendingClientTool, SessionInput } from '../../events/events.ts';
import { typedPending } from '../../events/tool-events.ts';
import { TreadleError } from '../../errors.ts';
import type { PostOutcome } from '../../journal/journal.ts';
import { resultsProblem, type ResultsProblem } from '../../features/approvals/plan.ts';
import { isPending, isTooLate, pendingCall, isAsked } from '../../kernel/services/pending.ts';
import type { Run } from '../run.ts';
import { normalOutput } from '../../tools/output.ts';
import { goOnWith, openCalls, refuseDriven, start, type SessionParts } from '../runs.ts';

/** `partial`: the calls that are left out go on waiting. Default: a call that is left out is a mistake. */
export function addToolOutputs(parts: SessionParts, given: readonly ClientToolResult[], partial?: true): Run {
  const results = given.map(plainResult);
  const waiting = waitingFor(parts, results);
  if (waiting) {
    const run = addToolOutputs(waiting.child, results, partial);
    waiting.wake();
    return parts.active?.control.run ?? run;
  }
  refuseDriven(parts);
  sharesOf(parts, results, partial);
  return start(parts, async (control) => {
    const shares = sharesOf(parts, results, partial);
    await goOnWith(parts, control);
    for (const [sessionId, share] of shares) {
      await postTo(parts, sessionId, { type: 'client_tool_results', results: share, ...(partial && { partial }) });
    }
  });
}

/** Gives the result of one client tool: whatever a tool may return. While others wait, the run pauses again for them. */
export function addToolOutput(
  parts: SessionParts,
  call: string | PendingClientTool,
  output: unknown,
  { isError }: { readonly isError?: boolean } = {},
): Run {
  const { content } = normalOutput(output, Number.POSITIVE_INFINITY);
  const callId = typeof call === 'string' ? call : call.callId;
  return addToolOutputs(parts, [{ callId, content, ...(isError === undefined ? {} : { isError }) }], true);
}

/** A result as the log gets it. Programs in this process bring whatever their tools returned. */
function plainResult({ callId, content, isError }: ClientToolResult): ClientToolResult {
  const shown = typeof content === 'string' ? content : normalOutput(content, Number.POSITIVE_INFINITY).content;
  return isError === undefined ? { callId, content: shown } : { callId, content: shown, isError };
}

/** Whose the results are: this session's, or those of sub-agents. Each session gets all it waits for, or nothing. */
function sharesOf(
  parts: SessionParts,
  results: readonly ClientToolResult[],
  partial?: true,
): ReadonlyMap<string, readonly ClientToolResult[]> {
  const own = parts.state.sessionId;
  const now = parts.clock.now();
  const waiting = new Map<string, { readonly callId: string }[]>([[own, []]]);
  for (const call of openCalls(parts)) {
    if (isPending(call) && !isTooLate(call, now)) waiting.get(own)?.push(call);
    for (const { callId, approvalId, sessionId = own, expiresAt = null } of call.paused?.pending ?? []) {
      if (approvalId === undefined && !isTooLate({ expiresAt }, now))
        waiting.set(sessionId, [...(waiting.get(sessionId) ?? []), { callId }]);
    }
  }
  const sessionOf = (result: ClientToolResult): string =>
    [...waiting].find(([, calls]) => calls.some(({ callId }) => callId === result.callId))?.[0] ?? own;
  const shares = Map.groupBy(results, sessionOf);
  if (shares.size === 0) shares.set(own, []);
  for (const [sessionId, share] of shares) {
    const problem = resultsProblem(waiting.get(sessionId) ?? [], share, partial);
    if (problem !== null) throw resultsError(parts, problem);
  }
  return shares;
}

/** Into this session's inbox, or into that of a sub-agent below it: then this session hears that something is there. */
export async function postTo(
  parts: SessionParts,
  sessionId: string,
  input: SessionInput,
  key = parts.ids.create('input'),
): Promise<PostOutcome> {
  const { journal, state, clock } = parts;
  if (sessionId === state.sessionId) return parts.post(input, key);
  const { duplicate } = await journal.post(sessionId, input, key, clock.now());
  const under = openCalls(parts).find(({ paused }) => paused?.pending.some((item) => item.sessionId === sessionId));
  const told = await parts.post({ type: 'child_updated', sessionId: under?.childSessionId ?? sessionId });
  return { ...told, duplicate };
}

/** Too late for a call that has had its time, or its result, is another mistake than a call that never was. */
function resultsError(parts: SessionParts, { code, message, callIds }: ResultsProblem): TreadleError {
  const isLate = code === 'results_unknown' || code === 'not_awaiting';
  const late = isLate ? callIds.filter((callId) => hasResult(parts, callId)) : [];
  if (late.length === 0) return new TreadleError(code, message, { details: { callIds } });
  return new TreadleError('conflict', `These calls have a result already, or their time is over: ${late.join(', ')}.`, {
    details: { callIds: late },
  });
}

/** Whether the session has had this call, and it waits for nothing any more. */
const hasResult = (parts: SessionParts, callId: string): boolean =>
  openCalls(parts).some((call) => call.callId === callId && (call.status === 'ended' || isPending(call))) ||
  parts.state.view.some((message) => message.role === 'tool' && message.callId === callId);

/** The calls that a client or a person is waited for, as the log had them when it was last looked at. */
export const pendingCalls = (parts: SessionParts): PendingCall[] => [
  ...pendingOfRun(parts),
  ...[...(parts.waiting?.values() ?? [])].flatMap(({ pending }) => pending),
];

/** Those for which the open run waits. */
export const pendingOfRun = (parts: SessionParts): PendingCall[] =>
  openCalls(parts).flatMap((call) => {
    if (call.status === 'ended') return [];
    if (isPending(call) || isAsked(call)) return [pendingCall(call)];
    return call.paused?.pending.map(typedPending) ?? [];
  });

/** The sub-agent in the background that these results are for; null when they aren't all for one. */
function waitingFor({ waiting, children }: SessionParts, results: readonly ClientToolResult[]) {
  for (const [sessionId, { pending, wake }] of waiting ?? []) {
    const child = children?.get(sessionId);
    const isForIt = results.length > 0 && results.every(({ callId }) => pending.some((item) => item.callId === callId));
    if (child && isForIt) return { child, wake };
  }
  return null;
}
