import type { ApprovalExtras, SessionInput } from './events/events.ts';
import { TreadleError } from './errors.ts';
import { asJson, isJsonObject } from './json.ts';
import { isAsked } from './loop/plan-permission.ts';
import { checkUpdates } from './permissions/updates.ts';
import type { Run } from './run.ts';
import { goOnWith, openCalls, refresh, start, type SessionParts } from './session-runs.ts';

/** What a person says to a question, besides yes or no. */
export interface ApprovalAnswer extends ApprovalExtras {
  /** Told to the model with a no. */
  readonly message?: string;
}

export function answerApproval(
  parts: SessionParts,
  approvalId: string,
  decision: 'approve' | 'deny',
  said: ApprovalAnswer,
): Run {
  const check = (): void => {
    const asked = openCalls(parts).some((call) => call.approvalId === approvalId && isAsked(call));
    if (!asked) throw new TreadleError('not_awaiting', `No question ${approvalId} is open.`);
  };
  const input: SessionInput = { type: 'approval_answer', approvalId, decision, ...checkedAnswer(parts, said) };
  check();
  // A drive whose run has paused is about to let go, and takes no more answers: the next one does.
  if (parts.active && !parts.active.control.isOver) {
    // Other calls of the turn still run. What the post fails by, the run's own result says too.
    const { control, ended } = parts.active;
    void (async () => {
      const { seq } = await parts.post(input);
      await ended;
      await goOnAfter(parts, seq);
    })().catch(() => {});
    return control.run;
  }
  return start(parts, async (control) => {
    check();
    await goOnWith(parts, control);
    await parts.post(input);
  });
}

/** Takes up an answer that came into the log behind the pause it was for, when the drive had already let go. */
async function goOnAfter(parts: SessionParts, inputSeq: number): Promise<void> {
  await refresh(parts);
  const isLeft = parts.state.inbox.some(({ seq }) => seq === inputSeq);
  if (isLeft && !parts.active) start(parts, (control) => goOnWith(parts, control));
}

/** What goes into the log must be what comes out of it, and mean something. */
function checkedAnswer({ agent }: SessionParts, said: ApprovalAnswer): ApprovalAnswer {
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
