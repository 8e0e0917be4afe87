import { createHash } from 'node:crypto';
import {
  TreadleError,
  type ClientToolResult,
  type JsonObject,
  type PendingCall,
  type PermissionUpdate,
} from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import { pendingCalls, resultsProblem } from '@treadle/core/session';
import type { ServerParts } from '../parts.ts';
import {
  findInput,
  isSameInput,
  mismatch,
  recent,
  refuseDraining,
  type Accepted,
  type Ask,
  type InputReceived,
} from './post.ts';

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
      const { callId, toolName, approvalId, arguments: args } = event;
      const asked = { callId, toolName, approvalId, arguments: args };
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
async function deliver(parts: ServerParts, ask: Ask, answers: readonly Answer[]): Promise<Accepted> {
  refuseDraining(parts);
  const { journal, clock } = parts;
  const seqs: number[] = [];
  let others = 0;
  let repeats = 0;
  for (const { sessionId, key, input } of answers) {
    const way = await wayDown(parts, ask.sessionId, sessionId);
    const { seq, duplicate } = await journal.post(sessionId, input, key, clock.now());
    if (duplicate) {
      if (await isRepeated(parts, ask, { sessionId, key, input })) repeats += 1;
      else others += 1;
    }
    if (sessionId === ask.sessionId) seqs.push(seq);
    // The lowest first: whoever is told looks, and finds all of it there. Told again, it looks again.
    for (const { above, below } of way.toReversed()) {
      const told = await journal.post(above, { type: 'child_updated', sessionId: below }, `told:${key}`, clock.now());
      if (above === ask.sessionId) seqs.push(told.seq);
    }
  }
  await parts.dispatcher.dispatch(ask.sessionId);
  if (others > 0) throw answeredAlready();
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

/** Whether an answer that is there was brought by the same request. */
async function isRepeated(parts: ServerParts, ask: Ask, { sessionId, key, input }: Answer): Promise<boolean> {
  const before = await findInput(parts, sessionId, key);
  return before !== null && isSameAnswer(ask, before, input);
}

/** @throws RequestError `idempotency_mismatch` */
function isSameAnswer({ key }: Ask, before: InputReceived, input: SessionInput): boolean {
  if (!('requestKey' in before.input) || before.input.requestKey !== key) return false;
  if (isSameInput(before, input)) return true;
  throw mismatch();
}

/** What becomes of an answer to something that nobody waits for any more. */
async function answerLate(parts: ServerParts, ask: Ask, answer: Answer): Promise<Accepted> {
  const before = await findInput(parts, answer.sessionId, answer.key);
  if (!before) throw new TreadleError('conflict', 'The time to answer this is over, or its run has ended.');
  if (!isSameAnswer(ask, before, answer.input)) throw answeredAlready();
  const told =
    answer.sessionId === ask.sessionId ? before : await findInput(parts, ask.sessionId, `told:${answer.key}`);
  return { inputSeq: told?.seq ?? before.seq, duplicate: true };
}

const answeredAlready = (): TreadleError => new TreadleError('conflict', 'This was answered already.');

/** The results of all client tools that the open run waits for, or all those that a sub-agent of it waits for. */
export async function addToolOutputs(
  parts: ServerParts,
  ask: Ask,
  results: readonly ClientToolResult[],
): Promise<Accepted> {
  const now = parts.clock.now();
  const open = pendingCalls(await parts.states.of(ask.sessionId)).filter(
    ({ approvalId, expiresAt = Infinity }) => approvalId === undefined && expiresAt > now,
  );
  const own = ask.sessionId;
  const ownerOf = ({ callId }: { readonly callId: string }): string =>
    open.find((call) => call.callId === callId)?.sessionId ?? own;
  const shares = Map.groupBy(results, ownerOf);
  if (shares.size === 0) shares.set(own, []);
  const answers: Answer[] = [];
  for (const [sessionId, share] of shares) {
    const problem = resultsProblem(
      open.filter((call) => (call.sessionId ?? own) === sessionId),
      share,
    );
    if (problem && problem.code !== 'results_missing' && problem.code !== 'results_duplicate') {
      const asked = await whereAsked(parts, own, (call) => problem.callIds.includes(call.callId));
      if (asked) return answerLate(parts, ask, resultsFor(ask, asked.sessionId, share));
    }
    if (problem) throw new TreadleError(problem.code, problem.message, { details: { callIds: problem.callIds } });
    answers.push(resultsFor(ask, sessionId, share));
  }
  return deliver(parts, ask, answers);
}

/** The calls are the key: they are answered together, and once. */
function resultsFor({ key: requestKey }: Ask, sessionId: string, results: readonly ClientToolResult[]): Answer {
  const calls = results.map(({ callId }) => callId).toSorted();
  const digest = createHash('sha256').update(JSON.stringify(calls)).digest('hex');
  return {
    sessionId,
    key: `results:${digest.slice(0, 32)}`,
    input: { type: 'client_tool_results', results, requestKey },
  };
}

export interface ApprovalRequest {
  readonly decision: 'approve' | 'reject';
  /** Told to the model with a no. */
  readonly message?: string;
  /** Other arguments for the call; they are checked again. */
  readonly updatedInput?: JsonObject;
  /** Lets calls like this one run from now on, for this session: what the question suggests. */
  readonly remember?: boolean;
  /** With a no: ends the run. */
  readonly interrupt?: boolean;
}

/** A person's answer to a question of permission. The first one counts. */
export async function answerApproval(
  parts: ServerParts,
  ask: Ask,
  approvalId: string,
  request: ApprovalRequest,
): Promise<Accepted> {
  const asked = await whereAsked(parts, ask.sessionId, (call) => call.approvalId === approvalId);
  if (!asked) throw new TreadleError('not_awaiting', `No question ${approvalId} is open.`);
  const { sessionId, call, isOpen } = asked;
  const answer = { sessionId, key: `answer:${approvalId}`, input: await approvalInput(parts, ask, asked, request) };
  if (!isOpen) return answerLate(parts, ask, answer);
  if ((call.expiresAt ?? Infinity) <= parts.clock.now()) {
    throw new TreadleError('conflict', `The time to answer the question ${approvalId} is over.`);
  }
  return deliver(parts, ask, [answer]);
}

async function approvalInput(
  parts: ServerParts,
  { key: requestKey }: Ask,
  { sessionId, call: { approvalId = '' } }: Asked,
  { decision, message, updatedInput, remember, interrupt }: ApprovalRequest,
): Promise<SessionInput> {
  const updates = remember === true ? await suggestions(parts, sessionId, approvalId) : [];
  return {
    type: 'approval_answer',
    approvalId,
    decision,
    ...(message === undefined ? {} : { message }),
    ...(updatedInput === undefined ? {} : { updatedInput }),
    ...(updates.length === 0 ? {} : { updatedPermissions: updates }),
    ...(interrupt === true ? { interrupt } : {}),
    requestKey,
  };
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
