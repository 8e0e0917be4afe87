import { TreadleError, type PendingCall } from '@treadle/core';
import type { SessionState } from '@treadle/core/kernel';
import { checkMessages } from '@treadle/core/messages';
import { pendingCalls } from '@treadle/core/session';
import type { ClientTurn } from '../inputs/client-turn.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { checkAccess } from '../security/admit.ts';
import { oneRun, type Scope } from '../streams/scope.ts';
import { answerApproval, addToolOutputs } from './answers.ts';
import type { Caller } from './post.ts';
import { startRun } from './runs.ts';
import { isSessionId } from './schemas.ts';
import { createSession } from './sessions.ts';

/**
 * Does what a request of a chat protocol asks: answers what the session waits for, or starts a run. A conversation that is new
 * here becomes a session, which begins with what the client says was before. The stream that answers it begins with the event
 * after `afterSeq`.
 */
export async function takeTurn(caller: Caller, turn: ClientTurn, agent: string | undefined) {
  const { parts, principal } = caller;
  const { threadId: sessionId } = turn;
  if (!isSessionId(sessionId)) {
    throw new RequestError('bad_request', 'The name of a conversation has 1 to 128 letters, digits and marks of ._~:-');
  }
  checkAccess(principal, 'write', sessionId);
  const known = await stateOf(parts, sessionId);
  if (!known) {
    await createSession(caller, { id: sessionId, ...(agent !== undefined && { agent }) });
    if (turn.history.length > 0) await replaceHistory(caller, turn);
  }
  const answered = known ? await giveAnswers(caller, pendingCalls(known), turn) : [];
  const [first] = answered;
  if (first !== undefined) return { afterSeq: first - 1, scope: afterAnswers(answered) };
  if (turn.prompt.length === 0) {
    throw new TreadleError(
      'empty_prompt',
      'There is no prompt, and no answer to anything that this session waits for.',
    );
  }
  if (turn.regenerate && known && known.run === null) await replaceHistory(caller, turn);
  const { inputSeq } = await startRun(caller, sessionId, { input: turn.prompt, clientTools: turn.tools });
  return { afterSeq: inputSeq - 1, scope: oneRun({ inputSeq }) };
}

async function stateOf(parts: ServerParts, sessionId: string): Promise<SessionState | null> {
  try {
    return await parts.states.of(sessionId);
  } catch (error) {
    if (error instanceof TreadleError && error.code === 'session_not_found') return null;
    throw error;
  }
}

/**
 * Gives the open run what a request has of what it waits for; clients send all results there ever were, and most were taken
 * long ago. Resolves with where the answers are in the log, the first of them first.
 */
async function giveAnswers(
  caller: Caller,
  pending: readonly PendingCall[],
  { threadId, results, answers }: ClientTurn,
): Promise<number[]> {
  const seqs: number[] = [];
  const given = pending.flatMap(({ callId, approvalId }) => {
    const result = approvalId === undefined ? results.find((each) => each.callId === callId) : undefined;
    return result ? [result] : [];
  });
  if (given.length > 0) seqs.push((await addToolOutputs(caller, threadId, given)).inputSeq);
  for (const { approvalId, ...answer } of answers) {
    if (!pending.some((call) => call.approvalId === approvalId)) continue;
    seqs.push((await answerApproval(caller, threadId, approvalId, answer)).inputSeq);
  }
  return seqs;
}

/** The run that goes on after several answers. It may pause between two of them, which is not where its stream ends. */
function afterAnswers(seqs: readonly number[]): Scope {
  const last = Math.max(...seqs);
  const scope = oneRun({ answeredBy: last });
  return (event) => {
    const verdict = scope(event);
    return verdict === 'last' && 'seq' in event && event.seq < last ? 'skip' : verdict;
  };
}

/** The conversation as the client has it, in the place of the one that is there. The log keeps both. */
async function replaceHistory({ parts, inputKey }: Caller, { threadId, history }: ClientTurn): Promise<void> {
  const { clock, ids, journal } = parts;
  const at = clock.now();
  const messages = checkMessages(history, { at, id: () => ids.create('msg') });
  await journal.post(threadId, { type: 'import', messages }, `${inputKey}:history`, at);
}
