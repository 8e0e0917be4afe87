import { TreadleError, type ClientToolResult, type PendingCall, type UserContent } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import type { SessionState } from '@treadle/core/kernel';
import { pendingCalls, userMessage } from '@treadle/core/session';
import type { ClientTurn, PromptMessage } from '../../inputs/client-turn.ts';
import type { ServerParts } from '../../parts.ts';
import { RequestError } from '../../problem.ts';
import { checkAccess } from '../../security/admit.ts';
import { oneRun, type Scope } from '../../streams/scope.ts';
import { addToolOutputs, answerApproval } from '../answers.ts';
import { note, refuseDraining, type Caller } from '../post.ts';
import { agentOf, runExtra, takeOffered } from '../runs.ts';
import { isSessionId } from '../schemas.ts';
import { createSession } from '../sessions.ts';
import { endRuns, goBack, replaceHistory } from './go-back.ts';
import { againKey, isOf, messageKey, pastPauses, readReplies, type Reply } from './replies.ts';

/** What becomes of a user's message while a run works. */
export type WhileRunning = 'queue' | 'steer' | 'cancel';

export interface TurnOptions {
  /** The agent of a conversation that is new. Default: the server's first. */
  readonly agent?: string | undefined;
  readonly whileRunning: WhileRunning;
}

/** What a request has led to: new work, whose stream begins after an event, or a reply that was there before. */
export type TakenTurn =
  | {
      readonly kind: 'new';
      readonly afterSeq: number;
      readonly scope: Scope;
      /** The input that the run was started by. */
      readonly startedBy: number;
      /** The message that an open run took; null otherwise. */
      readonly joinedBy: number | null;
    }
  | { readonly kind: 'known'; readonly reply: Reply };

/**
 * Does what a request of a chat protocol asks. A user's message always gets in: it starts a run, joins the open run in the
 * place of what that waits for, or waits for its turn. A conversation that is new here becomes a session, which begins with
 * what the client says was before.
 */
export async function takeTurn(caller: Caller, turn: ClientTurn, options: TurnOptions): Promise<TakenTurn> {
  const { parts, principal } = caller;
  const { threadId: sessionId } = turn;
  if (!isSessionId(sessionId)) {
    throw new RequestError('bad_request', 'The name of a conversation has 1 to 128 letters, digits and marks of ._~:-');
  }
  checkAccess(principal, 'write', sessionId);
  refuseDraining(parts);
  const known = await stateOf(parts, sessionId);
  if (!known) {
    if (turn.prompt.length === 0) throw nothingSaid();
    await createSession(caller, { id: sessionId, ...(options.agent !== undefined && { agent: options.agent }) });
    if (turn.history.length > 0) await replaceHistory(caller, sessionId, turn.history);
  }
  if (turn.state && JSON.stringify(turn.state) !== JSON.stringify(known?.shared))
    await note({ ...caller, inputKey: `${caller.inputKey}:state` }, sessionId, {
      type: 'set_state',
      state: turn.state,
    });
  if (turn.prompt.length > 0) return takePrompt(caller, turn, options);
  const open = await parts.states.of(sessionId);
  const startedBy = open.run?.inputSeq ?? 0;
  const seqs = await giveAnswers(caller, pendingCalls(open), turn);
  if (seqs.length > 0) return { kind: 'new', startedBy, joinedBy: null, ...afterAnswers(seqs) };
  const reply = (await readReplies(parts, sessionId, 1)).findLast(({ runId }) => runId !== null);
  if (!reply) throw nothingSaid();
  return { kind: 'known', reply };
}

const nothingSaid = (): TreadleError =>
  new TreadleError('empty_prompt', 'There is no prompt, and no answer to anything that this session waits for.');

/** The state of a session; null where there is none. */
export async function stateOf(parts: ServerParts, sessionId: string): Promise<SessionState | null> {
  try {
    return await parts.states.of(sessionId);
  } catch (error) {
    if (error instanceof TreadleError && error.code === 'session_not_found') return null;
    throw error;
  }
}

/** A user's message. With an id that is known it is no new one: it was sent twice, edited, or is to be answered again. */
async function takePrompt(caller: Caller, turn: ClientTurn, options: TurnOptions): Promise<TakenTurn> {
  const { parts } = caller;
  const { threadId, prompt } = turn;
  const last = prompt.at(-1);
  if (!last) throw nothingSaid();
  const { id } = last;
  if (turn.goBack === null || id === null) {
    const unsaid = prompt.length === 1 ? prompt : await unsaidOf(parts, threadId, prompt);
    const taken = await say(caller, turn, unsaid, id === null ? caller.inputKey : messageKey(id), options);
    if (taken || id === null) return taken ?? duplicate(parts, threadId, caller.inputKey);
  }
  const reply = (await readReplies(parts, threadId, 1)).findLast((each) => isOf(each, id));
  if (reply && turn.goBack !== 'again' && saysSame(reply, last)) {
    // A reply that failed or was stopped is no answer: the same message is a new try.
    if (reply.status === null || (turn.goBack === null && reply.status === 'completed'))
      return { kind: 'known', reply };
  }
  await endRuns(caller, threadId);
  // A message that waited has a place in the log by now.
  const place = (await readReplies(parts, threadId, 1)).findLast((each) => isOf(each, id) && each.runId !== null);
  if (place) await goBack(caller, threadId, place);
  else await replaceHistory(caller, threadId, turn.history);
  const key = againKey(id, caller.inputKey);
  return (await say(caller, turn, [last], key, options)) ?? duplicate(parts, threadId, key);
}

async function duplicate(parts: ServerParts, sessionId: string, key: string): Promise<TakenTurn> {
  const reply = (await readReplies(parts, sessionId, 1)).find((each) => each.key === key);
  if (!reply) throw nothingSaid();
  return { kind: 'known', reply };
}

/** The last of a user's messages, and those before it that never came into a run. */
async function unsaidOf(
  parts: ServerParts,
  sessionId: string,
  prompt: readonly PromptMessage[],
): Promise<readonly PromptMessage[]> {
  const replies = await readReplies(parts, sessionId, 1);
  const isSaid = ({ id }: PromptMessage): boolean =>
    id !== null && replies.some((reply) => reply.runId !== null && isOf(reply, id));
  return prompt.slice(prompt.slice(0, -1).findLastIndex(isSaid) + 1);
}

/** Puts a user's message into the log. Null when the key was used before. */
async function say(
  caller: Caller,
  turn: ClientTurn,
  prompt: readonly PromptMessage[],
  key: string,
  { whileRunning }: TurnOptions,
): Promise<TakenTurn | null> {
  const { parts } = caller;
  const { threadId } = turn;
  const agent = await agentOf(parts, threadId);
  const state = await parts.states.of(threadId);
  const { run } = state;
  const startedBy = run && !run.isForked && !run.cancel ? run.inputSeq : null;
  const pending = pendingCalls(state);
  const joins = startedBy !== null && (pending.length > 0 || whileRunning === 'steer');
  const messages = withContext(prompt, newContext(state, turn.context));
  const clientTools = takeOffered(parts, agent, turn.tools);
  const input: SessionInput = joins
    ? { type: 'steering', message: userMessage(messages.flat()) }
    : {
        type: 'prompt',
        messages: messages.map((content) => userMessage(content)),
        queued: true,
        ...runExtra(agent, turn.metadata === null ? {} : { metadata: turn.metadata }),
        ...(clientTools.length > 0 && { clientTools }),
      };
  const { journal, clock, dispatcher } = parts;
  const { seq, duplicate: isKnown } = await journal.post(threadId, input, key, clock.now());
  if (isKnown) return null;
  if (joins) {
    const seqs = await giveAnswers(caller, pending, turn, true);
    await dispatcher.dispatch(threadId);
    return { kind: 'new', startedBy, joinedBy: seq, ...joined(seq, Math.max(seq, ...seqs)) };
  }
  if (startedBy !== null && whileRunning === 'cancel')
    await journal.post(threadId, { type: 'cancel', inputSeq: startedBy }, `${key}:cancel`, clock.now());
  await dispatcher.dispatch(threadId);
  return { kind: 'new', startedBy: seq, joinedBy: null, afterSeq: seq - 1, scope: oneRun({ inputSeq: seq }) };
}

const CONTEXT_TITLE = '# What the application says\n\n';

/** True for what the application said beside a user's message. */
export const isContext = (block: UserContent): boolean => block.type === 'text' && block.text.startsWith(CONTEXT_TITLE);

/** The application's context, where the newest that the model sees says something else. */
function newContext({ view }: SessionState, context: string | null): readonly UserContent[] {
  if (context === null) return [];
  const text = CONTEXT_TITLE + context;
  const said = view.flatMap((message) => (message.role === 'user' ? message.content.filter(isContext) : [])).at(-1);
  return said?.type === 'text' && said.text === text ? [] : [{ type: 'text', text }];
}

function withContext(prompt: readonly PromptMessage[], context: readonly UserContent[]): readonly UserContent[][] {
  return prompt.map(({ content }, at) => [...content, ...(at === prompt.length - 1 ? context : [])]);
}

/** Whether a reply is to these words. What the application said beside them may differ. */
function saysSame({ input }: Reply, { content }: PromptMessage): boolean {
  const message = input.type === 'prompt' ? input.messages.at(-1) : input.type === 'steering' ? input.message : null;
  const said = message?.content.filter((block) => !isContext(block));
  return JSON.stringify(said) === JSON.stringify(userMessage(content).content);
}

const DECLINED = 'The user wrote a message instead of answering this.';

/**
 * Answers what the open run waits for, as far as the request has it; `decline` answers the rest with a no. Clients send all
 * results there ever were, and most were taken long ago. Resolves with the places of the answers in the log.
 */
async function giveAnswers(
  caller: Caller,
  pending: readonly PendingCall[],
  { threadId, results, answers }: ClientTurn,
  decline = false,
): Promise<number[]> {
  const seqs: number[] = [];
  const given = pending.flatMap(({ callId, approvalId }): ClientToolResult[] => {
    if (approvalId !== undefined) return [];
    const result = results.find((each) => each.callId === callId);
    if (result) return [result];
    return decline ? [{ callId, content: DECLINED, isError: true }] : [];
  });
  const attempt = async (answer: () => Promise<{ readonly inputSeq: number }>): Promise<void> => {
    try {
      seqs.push((await answer()).inputSeq);
    } catch (error) {
      // Someone else has answered in the meantime: the message joins the run all the same.
      if (!decline || !(error instanceof TreadleError) || !ANSWERED.has(error.code)) throw error;
    }
  };
  if (given.length > 0) await attempt(() => addToolOutputs(caller, threadId, given));
  for (const { approvalId } of pending) {
    if (approvalId === undefined) continue;
    const { approvalId: _, ...answer } = answers.find((each) => each.approvalId === approvalId) ?? {
      approvalId,
      decision: 'reject' as const,
      message: DECLINED,
    };
    const isGiven = answers.some((each) => each.approvalId === approvalId);
    if (isGiven || decline) await attempt(() => answerApproval(caller, threadId, approvalId, answer));
  }
  return seqs;
}

const ANSWERED: ReadonlySet<string> = new Set(['conflict', 'not_awaiting', 'results_unknown', 'results_missing']);

/** The run that goes on after several answers. It may pause between two of them, which is not where its stream ends. */
function afterAnswers(seqs: readonly number[]) {
  const last = Math.max(...seqs);
  return { afterSeq: Math.min(...seqs) - 1, scope: pastPauses(oneRun({ answeredBy: last }), last) };
}

/** A run from where it takes a message: what was under way before belongs to the reply before. */
function joined(inputSeq: number, lastAnswer: number) {
  const scope = pastPauses(oneRun({ answeredBy: inputSeq }), lastAnswer);
  let isTaken = false;
  const fromThere: Scope = (event) => {
    isTaken ||= event.type === 'message_added' && event.inputSeq === inputSeq;
    const verdict = scope(event);
    return verdict === 'show' && !isTaken && !ENDS_CALL.has(event.type) ? 'skip' : verdict;
  };
  return { afterSeq: inputSeq - 1, scope: fromThere };
}

const ENDS_CALL: ReadonlySet<string> = new Set(['tool_ended', 'tool_call_rejected']);
