import type { DurableEventBody } from '../../events/events.ts';
import type { CallState } from '../../kernel/state.ts';
import type { ToolQuestion } from '../../tools/tool.ts';

/** A call that has begun asks a person: the run pauses, and the call runs again once it was answered. */
export const questionEvent = (
  place: { readonly runId: string; readonly turnIndex: number; readonly callId: string; readonly toolName: string },
  call: CallState,
  { key, question, arguments: about = call.arguments, state }: ToolQuestion,
  at: number,
  answerTimeoutMs: number | null,
): DurableEventBody => ({
  type: 'approval_requested',
  at,
  ...place,
  approvalId: `question_${call.callId}_${call.asked + 1}`,
  arguments: about,
  question,
  key,
  ...(state === undefined ? {} : { state }),
  ...(answerTimeoutMs === null ? {} : { expiresAt: at + answerTimeoutMs }),
});
