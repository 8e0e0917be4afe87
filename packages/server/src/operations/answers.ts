import { createHash } from 'node:crypto';
import { TreadleError, type ClientToolResult, type PendingCall, type PermissionUpdate } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import { pendingCalls, resultsProblem } from '@treadle/core/session';
import type { ServerParts } from '../parts.ts';
import {
  checkSame,
  findInput,
  recent,
  refuseDraining,
  type Accepted,
  type Caller,
  type InputReceived,
} from './post.ts';
import type { ApprovalRequest } from './schemas.ts';

/** A call that somebody was asked to answer, in this session or in a sub-agent's below it. */
interface Asked {
  /** The session whose log takes the answer. */
  readonly sessionId: string;
  readonly call: PendingCall;
  /** False once it waits for nothing any more. */
  readonly isOpen: boolean;
}

async function whereAsked(
  parts: ServerParts,
  sessionId: string,
  isMeant: (call: PendingCall) => boolean,
): Promise<Asked | null> {
  const open = pendingCalls(await parts.states.of(sessionId)).find(isMeant);
  if (open) return { sessionId: open.sessionId ?? sessionId, call: open, isOpen: true };
  let past: PendingCall | undefined;
  for await (const event of recent(parts, sessionId)) {
    if (event.type === 'run_paused') past = event.pending.find(isMeant) ?? past;
    else if (event.type === 'approval_requested') {
      const { callId, toolName, approvalId, arguments: args, question } = event;
      const asked = { type: 'approval', callId, toolName, approvalId, arguments: args, question } as const;
      if (isMeant(asked)) past = asked;
    }
  }
  return past ? { sessionId: past.sessionId ?? sessionId, call: past, isOpen: false } : null;
}

/** What goes into one log. The question is the key: whoever posts first, in any process, is the one who has answered. */
interface Answer {
  readonly sessionId: string;
  readonly key: string;
  readonly input: SessionInput;
}

/**
 * Puts answers where they are waited for. What a sub-agent waits for goes into its own log; then each session above it is
 * told, and the one that was asked is driven, so that all of them go on.
 */
async function deliver(caller: Caller, asked: string, answers: readonly Answer[]): Promise<Accepted> {
  const { parts } = caller;
  refuseDraining(parts);
  const { journal, clock } = parts;
  const seqs: number[] = [];
  const others: (InputReceived | null)[] = [];
  let repeats = 0;
  for (const { sessionId, key, input } of answers) {
    const way = await wayDown(parts, asked, sessionId);
    const { seq, duplicate } = await journal.post(sessionId, input, key, clock.now());
    if (duplicate) {
      const before = await findInput(parts, sessionId, key);
      if (before && isOwnAnswer(caller, before, input)) repeats += 1;
      else others.push(before);
    }
    if (sessionId === asked) seqs.push(seq);
    // The lowest first: whoever is told looks, and finds all of it there. Told again, it looks again.
    for (const { above, below } of way.toReversed()) {
      const told = await journal.post(above, { type: 'child_updated', sessionId: below }, `told:${key}`, clock.now());
      if (above === asked) seqs.push(told.seq);
    }
  }
  await parts.dispatcher.dispatch(asked);
  if (others.length > 0) throw answeredAlready(others[0] ?? null);
  return { inputSeq: Math.min(...seqs), duplicate: repeats === answers.length };
}

/** The sessions from one down to a sub-agent's: each with the sub-agent through which its own run waits. */
async function wayDown(
  parts: ServerParts,
  from: string,
  to: string,
): Promise<{ readonly above: string; readonly below: string }[]> {
  const way: { above: string; below: string }[] = [];
  for (let above = from; above !== to;) {
    const { run } = await parts.states.of(above);
    const call = run?.turn?.calls.find(({ paused }) => paused?.pending.some(({ sessionId }) => sessionId === to));
    const below = call?.childSessionId ?? to;
    way.push({ above, below });
    above = below;
  }
  return way;
}

/** Whether an answer that is there was brought by the same request. @throws RequestError `idempotency_mismatch` */
function isOwnAnswer({ inputKey }: Caller, before: InputReceived, input: SessionInput): boolean {
  if (!('requestKey' in before.input) || before.input.requestKey !== inputKey) return false;
  checkSame(before, input);
  return true;
}

/** What becomes of an answer to something that nobody waits for any more. */
async function answerLate(caller: Caller, asked: string, { sessionId, key, input }: Answer): Promise<Accepted> {
  const before = await findInput(caller.parts, sessionId, key);
  if (!before) throw new TreadleError('conflict', 'The time to answer this is over, or its run has ended.');
  if (!isOwnAnswer(caller, before, input)) throw answeredAlready(before);
  const told = sessionId === asked ? before : await findInput(caller.parts, asked, `told:${key}`);
  return { inputSeq: told?.seq ?? before.seq, duplicate: true };
}

const answeredAlready = (before: InputReceived | null): TreadleError => {
  const by = before && 'by' in before.input ? before.input.by : undefined;
  const details = by === undefined ? {} : { by };
  return new TreadleError('conflict', `This was answered already${by === undefined ? '' : `, by ${by}`}.`, { details });
};

/** The results of all client tools that the open run waits for, or all those that a sub-agent of it waits for. */
export async function addToolOutputs(
  caller: Caller,
  asked: string,
  results: readonly ClientToolResult[],
): Promise<Accepted> {
  const { parts } = caller;
  const now = parts.clock.now();
  const open = pendingCalls(await parts.states.of(asked)).filter(
    ({ approvalId, expiresAt = Infinity }) => approvalId === undefined && expiresAt > now,
  );
  const shares = Map.groupBy(results, ({ callId }) => open.find((call) => call.callId === callId)?.sessionId ?? asked);
  if (shares.size === 0) shares.set(asked, []);
  const answers: Answer[] = [];
  for (const [sessionId, share] of shares) {
    const awaited = open.filter((call) => (call.sessionId ?? asked) === sessionId);
    const problem = resultsProblem(awaited, share);
    if (problem && problem.code !== 'results_missing' && problem.code !== 'results_duplicate') {
      const past = await whereAsked(parts, asked, (call) => problem.callIds.includes(call.callId));
      if (past) return answerLate(caller, asked, resultsFor(caller, past.sessionId, share));
    }
    if (problem) throw new TreadleError(problem.code, problem.message, { details: { callIds: problem.callIds } });
    answers.push(resultsFor(caller, sessionId, share));
  }
  return deliver(caller, asked, answers);
}

/** The calls are the key: they are answered together, and once. */
function resultsFor(
  { inputKey: requestKey, principal }: Caller,
  sessionId: string,
  results: readonly ClientToolResult[],
): Answer {
  const calls = results.map(({ callId }) => callId).toSorted();
  const digest = createHash('sha256').update(JSON.stringify(calls)).digest('hex');
  return {
    sessionId,
    key: `results:${digest.slice(0, 32)}`,
    input: { type: 'client_tool_results', results, by: principal.name, requestKey },
  };
}

/** A person's answer to a question of permission, as `schemas.approval` has it. The first one counts. */
export async function answerApproval(
  caller: Caller,
  asked: string,
  approvalId: string,
  request: ApprovalRequest,
): Promise<Accepted> {
  const { parts, principal, inputKey: requestKey } = caller;
  const where = await whereAsked(parts, asked, (call) => call.approvalId === approvalId);
  if (!where) throw new TreadleError('not_awaiting', `No question ${approvalId} is open.`);
  const { sessionId, call, isOpen } = where;
  const { decision, message, updatedInput, remember, interrupt } = request;
  const updates = remember === true ? await suggestions(parts, sessionId, approvalId) : [];
  const input: SessionInput = {
    type: 'approval_answer',
    approvalId,
    decision,
    ...(message !== undefined && { message }),
    ...(updatedInput && { updatedInput }),
    ...(updates.length > 0 && { updatedPermissions: updates }),
    ...(interrupt === true && { interrupt }),
    requestKey,
    by: principal.name,
  };
  const answer = { sessionId, key: `answer:${approvalId}`, input };
  if (!isOpen) return answerLate(caller, asked, answer);
  if ((call.expiresAt ?? Infinity) <= parts.clock.now()) {
    throw new TreadleError('conflict', `The time to answer the question ${approvalId} is over.`);
  }
  return deliver(caller, asked, [answer]);
}

/** Only what the question itself suggests, and only for this session: a client grants nothing of its own invention. */
async function suggestions(
  parts: ServerParts,
  sessionId: string,
  approvalId: string,
): Promise<readonly PermissionUpdate[]> {
  for await (const event of recent(parts, sessionId)) {
    if (event.type !== 'approval_requested' || event.approvalId !== approvalId) continue;
    return (event.suggestions ?? []).map((update) => ({ ...update, destination: 'session' }));
  }
  return [];
}
