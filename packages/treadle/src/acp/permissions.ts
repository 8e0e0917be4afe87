import type { PermissionOption, RequestPermissionOutcome, RequestPermissionRequest } from '@agentclientprotocol/sdk';
import type { ApprovalAnswer, PermissionUpdate } from '@treadle/core';
import type { PendingApproval, PendingQuestion } from '@treadle/core/events';

import { diffOf, kindOf, locationsOf, titleOf } from './tool-calls.ts';

/** A person's answer to a question of permission. */
export interface Answer {
  readonly decision: 'approve' | 'reject';
  readonly said: ApprovalAnswer;
}

const ALLOW: PermissionOption = { optionId: 'allow', name: 'Allow', kind: 'allow_once' };
const REJECT: PermissionOption = { optionId: 'reject', name: 'Reject', kind: 'reject_once' };
const SESSION = 'allow-session';
const FOLDER = 'allow-folder';

/**
 * The question whether a call may run, for the client's user.
 *
 * @param before what the file holds that the call writes; null for none, undefined where nobody knows
 * @param about what else is to be known, such as that no sandbox holds the command; null for nothing
 */
export function permissionRequest(
  sessionId: string,
  call: PendingApproval | PendingQuestion,
  { folder, label }: { readonly folder: string; label(toolName: string): string | undefined },
  { about, before }: { readonly about: string | null; readonly before: string | null | undefined },
): RequestPermissionRequest {
  const { callId, toolName, arguments: args, question } = call;
  const rules = rulesOf(call);
  const text = [question, about ?? ''].filter((part) => part !== '').join('\n\n');
  const said = text === '' ? [] : [{ type: 'content' as const, content: { type: 'text' as const, text } }];
  const content = [...diffOf(toolName, args, folder, before), ...said];
  const locations = locationsOf(toolName, args, folder);
  return {
    sessionId,
    toolCall: {
      toolCallId: callId,
      name: toolName,
      title: titleOf(toolName, label(toolName) ?? toolName, args),
      kind: kindOf(toolName),
      status: 'pending',
      content,
      ...(locations.length > 0 ? { locations } : {}),
      rawInput: args,
    },
    options: [
      ALLOW,
      ...(rules === null
        ? []
        : ([
            { optionId: SESSION, name: `Allow in this session: ${rules}`, kind: 'allow_always' },
            { optionId: FOLDER, name: `Always allow in this folder: ${rules}`, kind: 'allow_always' },
          ] as const)),
      REJECT,
    ],
  };
}

/** What the user has chosen; null for a prompt that is cancelled. Whatever wasn't offered is a no. */
export function permissionAnswer(
  outcome: RequestPermissionOutcome,
  call: PendingApproval | PendingQuestion,
): Answer | null {
  if (outcome.outcome === 'cancelled') return null;
  const update = updateOf(call);
  switch (outcome.optionId) {
    case ALLOW.optionId:
      return { decision: 'approve', said: {} };
    case SESSION:
      if (update) return { decision: 'approve', said: { updatedPermissions: [{ ...update, destination: 'session' }] } };
      break;
    case FOLDER:
      if (update)
        return { decision: 'approve', said: { updatedPermissions: [{ ...update, destination: 'localSettings' }] } };
      break;
    default:
  }
  return { decision: 'reject', said: { message: 'The user said no.' } };
}

/** What would let calls like this one run from now on. */
const updateOf = (call: PendingApproval | PendingQuestion): PermissionUpdate | undefined =>
  call.type === 'approval' ? call.suggestions?.find(({ type }) => type === 'addRules') : undefined;

function rulesOf(call: PendingApproval | PendingQuestion): string | null {
  const update = updateOf(call);
  return update !== undefined && 'rules' in update ? update.rules.join(', ') : null;
}
