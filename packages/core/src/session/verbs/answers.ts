import type {
  ApprovalExtras,
  PendingApproval,
  PendingCall,
  PendingClientTool,
  PendingQuestion,
  SessionInput,
} from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import { asJson, isJsonObject, type JsonObject } from '../../json.ts';
import { refuseUnknownKeys } from '../../names/known-keys.ts';
import { tooLate } from '../../features/approvals/plan.ts';
import { isTooLate, isAsked } from '../../kernel/services/pending.ts';
import { checkUpdates } from '../../features/permissions/check-updates.ts';
import type { Run } from '../run.ts';
import { addToolOutputs, postTo } from './tool-outputs.ts';
import { answerQuestions, type UserAnswer } from '../../tools/user-questions.ts';
import { goOnWith, openCalls, refresh, start, type SessionParts } from '../runs.ts';

/** What a person says to a question, besides yes or no. */
export interface ApprovalAnswer extends ApprovalExtras {
  /** Told to the model with a no. */
  readonly message?: string;
}

export function answerApproval(
  parts: SessionParts,
  approval: string | PendingApproval | PendingQuestion,
  decision: 'approve' | 'reject',
  answer: string | ApprovalAnswer,
): Run {
  const approvalId = idOfApproval(approval);
  const said = typeof answer === 'string' ? { message: answer } : answer;
  const input: SessionInput = { type: 'approval_answer', approvalId, decision, ...checkedAnswer(parts, said) };
  const { active, waiting, sessionId } = openQuestion(parts, approvalId);
  if (waiting) {
    const run = answerApproval(waiting.child, approvalId, decision, said);
    waiting.wake();
    return parts.active?.control.run ?? run;
  }
  if (active) {
    // Its sub-agent still runs, and so does this session.
    answerApproval(active, approvalId, decision, said);
    if (parts.active) return parts.active.control.run;
  }
  (parts.answered ??= new Set()).add(approvalId);
  // A drive whose run has paused is about to let go, and takes no more answers: the next one does.
  if (parts.active && !parts.active.control.isOver()) {
    // Other calls of the turn still run. What the post fails by, the run's own result says too.
    const { control, ended } = parts.active;
    void (async () => {
      const seq = await postAnswer(parts, approvalId, sessionId, input);
      await ended;
      await goOnAfter(parts, seq);
    })().catch(() => parts.answered?.delete(approvalId));
    return control.run;
  }
  return start(parts, async (control) => {
    // From here on the log says whether it was answered.
    parts.answered?.delete(approvalId);
    openQuestion(parts, approvalId);
    await goOnWith(parts, control);
    await postAnswer(parts, approvalId, sessionId, input);
  });
}

/** Answers what a call asks: by what a person filled in, or the answers to the questions of `ask_user`. */
export function answerQuestion(
  parts: SessionParts,
  question: PendingQuestion | PendingClientTool,
  answer: JsonObject | readonly UserAnswer[],
): Run {
  if (question.type === 'client_tool') {
    return addToolOutputs(parts, [
      answerQuestions(question, Array.isArray(answer) ? (answer as readonly UserAnswer[]) : []),
    ]);
  }
  return answerApproval(parts, question, 'approve', { updatedInput: answer as JsonObject });
}

/** The id of an approval, which is given by itself or as the member of `pending` that waits for it. */
function idOfApproval(approval: string | PendingCall | undefined): string {
  if (typeof approval === 'string') return approval;
  if (typeof approval !== 'object' || approval === null) {
    throw new TreadleError(
      'invalid_definition',
      "An answer needs what it answers. Write: session.approve(call), for a call of session.pending whose type is 'approval'",
    );
  }
  if (approval.approvalId !== undefined) return approval.approvalId;
  throw new TreadleError(
    'invalid_definition',
    `The call ${approval.callId} waits for a result, not for an approval. Write: session.addToolOutput(call, …)`,
  );
}

/** Where a question is open: here, or in a sub-agent's session. */
interface Asked {
  readonly sessionId: string;
  /** The sub-agent of this session that is at work in this process, when the question is its, or one's below it. */
  readonly active?: SessionParts;
  /** The sub-agent in the background whose question it is, or one's below it. */
  readonly waiting?: { readonly child: SessionParts; readonly wake: () => void };
}

function whereAsked(parts: SessionParts, approvalId: string): Asked | null {
  const { sessionId } = parts.state;
  if (openCalls(parts).some((call) => call.approvalId === approvalId && isAsked(call))) return { sessionId };
  for (const child of parts.children?.values() ?? []) {
    if (child.active && whereAsked(child, approvalId)) return { sessionId, active: child };
    const waits = parts.waiting?.get(child.state.sessionId);
    if (waits && whereAsked(child, approvalId)) return { sessionId, waiting: { child, wake: waits.wake } };
  }
  const below = openCalls(parts).flatMap(({ paused }) => paused?.pending ?? []);
  const item = below.find((pending) => pending.approvalId === approvalId);
  return item?.sessionId === undefined ? null : { sessionId: item.sessionId };
}

/** Where a question is open. @throws TreadleError `conflict` when it isn't, or not any more. */
function openQuestion(parts: SessionParts, approvalId: string): Asked {
  const asked = parts.answered?.has(approvalId) === true ? null : whereAsked(parts, approvalId);
  const call = openCalls(parts).find((each) => each.approvalId === approvalId);
  if (asked && call && isTooLate(call, parts.clock.now())) throw conflict(approvalId, tooLate(approvalId));
  if (asked) return asked;
  if (call) throw conflict(approvalId, `The question ${approvalId} was answered already.`);
  if (openCalls(parts).some(({ callId }) => callId === approvalId)) {
    throw new TreadleError(
      'invalid_definition',
      `${approvalId} is the id of a call, and an approval has one of its own. ` +
        "Write: session.approve(call), for a call of session.pending whose type is 'approval'",
    );
  }
  throw conflict(
    approvalId,
    `No question ${approvalId} is open: it was answered, its run has ended, or it is of another session.`,
  );
}

const conflict = (approvalId: string, message: string): TreadleError =>
  new TreadleError('conflict', message, { details: { approvalId } });

/** The question is the key: whoever posts first, in any process, is the one who has answered. */
async function postAnswer(
  parts: SessionParts,
  approvalId: string,
  sessionId: string,
  input: SessionInput,
): Promise<number> {
  const { seq, duplicate } = await postTo(parts, sessionId, input, `answer:${approvalId}`);
  if (duplicate) throw conflict(approvalId, `The question ${approvalId} was answered already.`);
  return seq;
}

/** Takes up an answer that came into the log behind the pause it was for, when the drive had already let go. */
async function goOnAfter(parts: SessionParts, inputSeq: number): Promise<void> {
  await refresh(parts);
  const isLeft =
    parts.state.inbox.some(({ seq }) => seq === inputSeq) || openCalls(parts).some(({ paused }) => paused?.woken);
  if (isLeft && !parts.active) start(parts, (control) => goOnWith(parts, control));
}

const ANSWER_KEYS: Readonly<Record<keyof ApprovalAnswer, true>> = {
  message: true,
  updatedInput: true,
  updatedPermissions: true,
  interrupt: true,
};

/** What goes into the log must be what comes out of it, and mean something. */
function checkedAnswer({ agent }: SessionParts, said: ApprovalAnswer): ApprovalAnswer {
  refuseUnknownKeys('An answer', said, ANSWER_KEYS, {
    decision: 'session.approve(question) or session.reject(question)',
    approved: 'session.approve(question) or session.reject(question)',
    reason: "message: '…'",
  });
  const { message, updatedInput, updatedPermissions, interrupt } = said;
  const input = updatedInput === undefined ? null : asJson(updatedInput)?.value;
  if (input === undefined || (input !== null && !isJsonObject(input))) {
    throw new TreadleError('invalid_definition', 'updatedInput must be a JSON object: the arguments of the call.');
  }
  const updates =
    updatedPermissions === undefined ? undefined : checkUpdates(updatedPermissions, agent.permissions.allowBypass);
  return {
    ...(message === undefined ? {} : { message }),
    ...(input === null ? {} : { updatedInput: input }),
    ...(updates === undefined ? {} : { updatedPermissions: updates }),
    ...(interrupt === true ? { interrupt } : {}),
  };
}
