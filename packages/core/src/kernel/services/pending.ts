import type { PendingCall } from '../../events/events.ts';
import type { CallState } from '../state.ts';

/** True while a person is asked about a call. */
export const isAsked = ({ approvalId, decision }: CallState): boolean => approvalId !== null && decision === null;

/** True for a client's call that has no result yet. */
export const isPending = (call: CallState): boolean => call.status === 'started' && call.runs === 'client';

/** Whether an answer that is given at this time comes too late. */
export const isTooLate = ({ expiresAt }: Pick<CallState, 'expiresAt'>, at: number): boolean =>
  expiresAt !== null && at >= expiresAt;

/** What a client, or a person, is told of a call that waits for them. A question is about the arguments it was asked with. */
export function pendingCall(call: CallState): PendingCall {
  const { callId, name: toolName, arguments: args, approvalId, askedArguments } = call;
  if (!isAsked(call) || approvalId === null) return { callId, toolName, arguments: args, ...expiryOf(call) };
  return { callId, toolName, arguments: askedArguments ?? args, approvalId, ...expiryOf(call) };
}

export const expiryOf = ({ expiresAt }: CallState): Pick<PendingCall, 'expiresAt'> =>
  expiresAt === null ? {} : { expiresAt };
