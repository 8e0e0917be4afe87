import {
  errorText,
  type CanUseTool,
  type JsonObject,
  type PermissionQuestion,
  type PermissionResult,
} from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { UserAnswer, UserQuestion } from '@treadle/core/tools';

import type { Channel } from '../lines/channel.ts';
import { ownUpdates, wireUpdate } from '../wire/permissions.ts';
import type { RulePlace } from '../wire/rule-paths.ts';
import { ownInput, wireInput, wireName } from '../wire/tools.ts';

/** Whom permissions are asked of: the client, in the session's folder. */
export interface Asker {
  readonly channel: Channel;
  readonly folder: string;
  readonly sessionId: () => string;
  /** Where paths in rules begin. */
  readonly place: RulePlace;
}

/** Asks the client whether a call may run. Whatever goes wrong is a no. */
export const askClient =
  ({ channel, folder, sessionId, place }: Asker): CanUseTool =>
  async (toolName, input, question) => {
    const told = wireInput(toolName, input, folder);
    const answer = await channel.request(
      {
        subtype: 'can_use_tool',
        tool_name: wireName(toolName),
        input: told,
        tool_use_id: question.callId,
        permission_suggestions: question.suggestions.map(wireUpdate),
        ...reasonOf(question),
        display_name: question.label,
        // A sub-agent's call, by the session that it works in.
        ...(question.sessionId === sessionId() ? {} : { agent_id: question.sessionId }),
      },
      question.signal,
    );
    return resultOf(answer, toolName, told, place);
  };

function reasonOf({ reason, rule, access }: PermissionQuestion): JsonObject {
  const outside = access?.paths?.find(({ path }) => access.folder !== undefined && !isBelow(path, access.folder));
  return {
    decision_reason: reason,
    decision_reason_type: rule === null ? 'mode' : 'rule',
    ...(rule === null ? {} : { matched_ask_rule: rule }),
    ...(outside ? { blocked_path: outside.path } : {}),
  };
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

function resultOf(answer: JsonObject, toolName: string, told: JsonObject, place: RulePlace): PermissionResult {
  const { behavior, message, interrupt, updatedInput } = answer;
  const updatedPermissions = ownUpdates(answer['updatedPermissions'], place);
  const updates = updatedPermissions.length === 0 ? {} : { updatedPermissions };
  if (behavior === 'allow') {
    // Some clients always say what the input is to be.
    const isSame = updatedInput === undefined || updatedInput === null || isEqual(updatedInput, told);
    if (isSame) return { behavior, ...updates };
    if (!isJsonObject(updatedInput)) throw new Error('updatedInput is no object.');
    return { behavior, updatedInput: ownInput(toolName, updatedInput), ...updates };
  }
  if (behavior !== 'deny') throw new Error('The client answered neither allow nor deny.');
  const said = typeof message === 'string' && message !== '' ? message : 'The user said no.';
  return { behavior, message: said, ...(interrupt === true ? { interrupt } : {}), ...updates };
}

/** Whether two JSON values are the same, whatever the order of their fields. */
function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(Reflect.get(one, name), Reflect.get(other, name)))
  );
}

/** Puts the questions of `ask_user` to the client, which answers them like a permission, in the input. Null: nobody is there. */
export async function askQuestions(
  channel: Channel,
  questions: readonly UserQuestion[],
  { callId, signal }: { readonly callId: string; readonly signal: AbortSignal },
): Promise<readonly UserAnswer[] | null> {
  const input = {
    questions: questions.map((question) => ({
      ...question,
      options: question.options.map((option) => ({ ...option })),
    })),
  };
  const request = { subtype: 'can_use_tool', tool_name: 'AskUserQuestion', input, tool_use_id: callId };
  const answer = await channel.request(request, signal).catch((error: unknown) => ({ message: errorText(error) }));
  const { behavior, updatedInput }: JsonObject = answer;
  if (behavior !== 'allow') return null;
  const { answers = {} } = isJsonObject(updatedInput) ? updatedInput : {};
  return questions.map((question) =>
    answerTo(question, isJsonObject(answers) ? answers[question.question] : undefined),
  );
}

/** The labels that were chosen, in one text with commas; every other text is in the user's own words. */
function answerTo({ options, multiSelect }: UserQuestion, said: unknown): UserAnswer {
  const given = Array.isArray(said) ? said.map(String) : typeof said === 'string' ? [said] : [];
  const labels = options.map(({ label }) => label);
  const parts = multiSelect ? given.flatMap((text) => (labels.includes(text) ? [text] : text.split(/,\s*/))) : given;
  const selected = parts.filter((part) => labels.includes(part));
  const other = parts.filter((part) => !labels.includes(part) && part.trim() !== '');
  return other.length === 0 ? { selected } : { selected, other: other.join(', ') };
}
