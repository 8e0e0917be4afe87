import type { PendingApproval, PendingCall } from '../../events/events.ts';
import type { CallState, PausedCall } from '../state.ts';

/** True while a person is asked about a call. */
export const isAsked = ({ approvalId, decision }: CallState): boolean => approvalId !== null && decision === null;

/** True for a client's call that has no result yet. */
export const isPending = (call: CallState): boolean => call.status === 'started' && call.runs === 'client';

/** Whether an answer that is given at this time comes too late. */
export const isTooLate = ({ expiresAt }: Pick<CallState, 'expiresAt'>, at: number): boolean =>
  expiresAt !== null && at >= expiresAt;

/** What a client, or a person, is told of a call that waits for them. A question is about the arguments it was asked with. */
export function pendingCall(call: CallState): PendingCall {
  const { callId, name: toolName, arguments: args, approvalId, asking } = call;
  const waiting = { callId, toolName, ...expiryOf(call) };
  if (!isAsked(call) || approvalId === null) return { type: 'client_tool', ...waiting, arguments: args };
  const asked = { ...waiting, arguments: call.askedArguments ?? args, approvalId, question: call.question };
  return asking ? { type: 'question', ...asked, key: asking.key } : { type: 'approval', ...asked, ...suggested(call) };
}

const suggested = ({ suggestions }: CallState): Pick<PendingApproval, 'suggestions'> =>
  suggestions ? { suggestions } : {};

export const expiryOf = ({ expiresAt }: CallState): Pick<PendingCall, 'expiresAt'> =>
  expiresAt === null ? {} : { expiresAt };

/** True while a call's sub-agent waits for somebody, and nothing is known to have changed. */
export const isWaiting = ({ status, paused }: CallState): boolean => status === 'started' && paused?.woken === false;

/** Whether something that a sub-agent waits for had its time: it goes on then, and refuses what nobody has answered. */
export const isOverdue = ({ pending }: PausedCall, now: number): boolean =>
  pending.some(({ expiresAt = Infinity }) => now >= expiresAt);
