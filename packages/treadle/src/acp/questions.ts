import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationPropertySchema,
} from '@agentclientprotocol/sdk';
import { answerQuestions, userQuestions, type ClientToolResult, type JsonObject } from '@treadle/core';
import type { PendingClientTool, PendingQuestion } from '@treadle/core/events';
import { isJsonObject } from '@treadle/core/json';
import { nobodyToAsk, type UserAnswer, type UserQuestion } from '@treadle/core/tools';

import type { Answer } from './permissions.ts';

/** The form for the questions of an `ask_user` call; null when they can't be asked. */
export function userForm(sessionId: string, call: PendingClientTool): CreateElicitationRequest | null {
  const questions = userQuestions(call.arguments);
  if (questions === null) return null;
  const properties = Object.fromEntries(questions.flatMap(fieldsOf));
  return {
    mode: 'form',
    sessionId,
    toolCallId: call.callId,
    message: questions.map(({ question }) => question).join('\n'),
    requestedSchema: { type: 'object', properties },
  };
}

/** A question has the options, and a field for the user's own words. */
function fieldsOf({ question, header, options, multiSelect }: UserQuestion, index: number) {
  const choices = options.map(({ label, description }) => ({
    const: label,
    title: description === '' ? label : `${label}: ${description}`,
  }));
  const about = { title: header, description: question };
  const choice: ElicitationPropertySchema = multiSelect
    ? { type: 'array', ...about, items: { anyOf: choices } }
    : { type: 'string', ...about, oneOf: choices };
  const other: ElicitationPropertySchema = { type: 'string', title: `${header}: something else` };
  return [
    [`question${index}`, choice],
    [`question${index}_other`, other],
  ] as const;
}

/** The result of an `ask_user` call. Without an answer the model is told that nobody gave one. */
export function userResult(call: PendingClientTool, response: CreateElicitationResponse | null): ClientToolResult {
  const questions = userQuestions(call.arguments);
  const content = response === null ? null : contentOf(response);
  if (questions === null || content === null) return nobodyToAsk(call);
  const answers = questions.map((_, index): UserAnswer => {
    const chosen = content[`question${index}`];
    const other = content[`question${index}_other`];
    const selected = (Array.isArray(chosen) ? chosen : [chosen]).filter((label) => typeof label === 'string');
    return { selected, ...(typeof other === 'string' && other.trim() !== '' ? { other } : {}) };
  });
  try {
    return answerQuestions(call, answers);
  } catch {
    // A form that was left empty, or a client that makes up options.
    return nobodyToAsk(call);
  }
}

/** The form of a call that asks something while it runs, such as an MCP server's; null when it is a yes or a no. */
export function callForm(sessionId: string, call: PendingQuestion): CreateElicitationRequest | null {
  const { requestedSchema } = call.arguments;
  if (requestedSchema === undefined || !isJsonObject(requestedSchema)) return null;
  const form = requestedSchema as Extract<CreateElicitationRequest, { mode: 'form' }>['requestedSchema'];
  return { mode: 'form', sessionId, toolCallId: call.callId, message: call.question, requestedSchema: form };
}

/** What was filled in; null for a prompt that is cancelled. */
export function formAnswer(response: CreateElicitationResponse): Answer | null {
  if (response.action === 'cancel') return null;
  const content = contentOf(response);
  return content === null
    ? { decision: 'reject', said: { message: 'The user said no.' } }
    : { decision: 'approve', said: { updatedInput: content } };
}

function contentOf(response: CreateElicitationResponse): JsonObject | null {
  if (response.action !== 'accept') return null;
  const { content } = response;
  return content !== undefined && isJsonObject(content) ? content : {};
}
