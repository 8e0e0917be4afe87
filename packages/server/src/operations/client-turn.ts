import { checkMessages, clientResultsProblem, pendingCalls, TreadleError, type SessionState } from '@treadle/core';
import type { ClientTurn } from '../inputs/client-turn.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { checkAccess } from '../security/admit.ts';
import type { Principal } from '../security/tokens.ts';
import { oneRun, type Scope } from '../streams/scope.ts';
import { postAnswers, startRun, type Answer, type Ask } from './inputs.ts';
import { createSession, SESSION_ID } from './sessions.ts';

/** What a request of a chat protocol has set going: the stream that answers it. */
export interface TakenTurn {
  readonly sessionId: string;
  /** The stream begins with the event after this one. */
  readonly afterSeq: number;
  readonly scope: Scope;
}

const SESSION = new RegExp(SESSION_ID);

/**
 * Does what a request of a chat protocol asks: answers what the session waits for, or starts a run. A conversation that is new
 * here becomes a session, which begins with what the client says was before.
 */
export async function takeTurn(
  parts: ServerParts,
  principal: Principal,
  turn: ClientTurn,
  { agent, key }: { readonly agent: string | null; readonly key: string },
): Promise<TakenTurn> {
  const { threadId: sessionId } = turn;
  if (!SESSION.test(sessionId)) {
    throw new RequestError('bad_request', 'The name of a conversation has 1 to 128 letters, digits and marks of ._~:-');
  }
  checkAccess(principal, 'write', sessionId);
  const ask = { sessionId, key };
  const known = await stateOf(parts, sessionId);
  if (!known) {
    await createSession(parts, principal, { id: sessionId, ...(agent === null ? {} : { agent }) }, null);
    if (turn.history.length > 0) await replaceHistory(parts, ask, turn.history);
  }
  const answers = known ? answersFor(known, turn) : [];
  if (answers.length > 0) {
    const { firstSeq, lastSeq } = await postAnswers(parts, ask, answers);
    return { sessionId, afterSeq: firstSeq - 1, scope: oneRun({ answeredBy: lastSeq }) };
  }
  if (turn.prompt.length === 0) {
    throw new TreadleError(
      'empty_prompt',
      'There is no prompt, and no answer to anything that this session waits for.',
    );
  }
  if (turn.regenerate && known && known.run === null) await replaceHistory(parts, ask, turn.history);
  const { inputSeq } = await startRun(parts, ask, { input: turn.prompt });
  return { sessionId, afterSeq: inputSeq - 1, scope: oneRun({ inputSeq }) };
}

async function stateOf(parts: ServerParts, sessionId: string): Promise<SessionState | null> {
  try {
    return await parts.states.of(sessionId);
  } catch (error) {
    if (error instanceof TreadleError && error.code === 'session_not_found') return null;
    throw error;
  }
}

/** What of a request answers what the run waits for. Clients send all results there ever were; most were taken long ago. */
function answersFor(state: SessionState, { results, answers }: ClientTurn): Answer[] {
  const pending = pendingCalls(state);
  const waiting = new Set(pending.filter((call) => call.approvalId === undefined).map(({ callId }) => callId));
  const asked = new Set(pending.map(({ approvalId }) => approvalId));
  const given = results.filter(({ callId }) => waiting.has(callId));
  const posted: Answer[] = [];
  if (given.length > 0) {
    const problem = clientResultsProblem(state, given);
    if (problem !== null) throw new TreadleError('not_awaiting', problem);
    posted.push({ part: 'results', input: { type: 'client_tool_results', results: given } });
  }
  for (const answer of answers) {
    if (!asked.has(answer.approvalId)) continue;
    posted.push({ part: answer.approvalId, input: { type: 'approval_answer', ...answer } });
  }
  return posted;
}

/** The conversation as the client has it, in the place of the one that is there. The log keeps both. */
async function replaceHistory(parts: ServerParts, { sessionId, key }: Ask, history: readonly object[]): Promise<void> {
  const { clock, ids, journal } = parts;
  const at = clock.now();
  const messages = checkMessages(history, { at, id: () => ids.create('msg') });
  await journal.post(sessionId, { type: 'import', messages }, `${key}:history`, at);
}
