import type { ClientToolResult, JsonObject, JsonValue, OfferedTool, UserContent } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import type { AgUiRequest } from '../encoders/ag-ui.ts';
import type { ApprovalDecision, ClientTurn, PromptMessage } from './client-turn.ts';
import { fileBlock, invalidAt, listAt, objectAt, textAt } from './reading.ts';

/**
 * Reads AG-UI's `RunAgentInput`, the messages being all of the conversation: what the user said after the last message of the
 * assistant is the prompt, results of tools are messages of their own, and answers to interrupts are in `resume`.
 *
 * @throws TreadleError `invalid_messages` that names the place.
 */
export function readAgUiRequest(body: unknown): ClientTurn & { readonly request: AgUiRequest } {
  const input = objectAt(body, 'the body');
  const threadId = textAt(input['threadId'], 'threadId');
  const runId = textAt(input['runId'], 'runId');
  const version = input['protocolVersion'];
  if (typeof version === 'string' && !version.startsWith('1.'))
    throw invalidAt('protocolVersion', `is ${JSON.stringify(version)}, and 1.x is spoken here`);
  const messages = listAt(input['messages'], 'messages').map((message, at) => objectAt(message, `messages[${at}]`));
  const answered = messages.findLastIndex(({ role }) => role !== 'user') + 1;
  const { state, forwardedProps } = input;
  return {
    threadId,
    prompt: messages.slice(answered).flatMap((message): PromptMessage[] => {
      const content = userContent(message);
      return content.length === 0 ? [] : [{ id: typeof message['id'] === 'string' ? message['id'] : null, content }];
    }),
    results: messages.flatMap(toolResult),
    answers: listAt(input['resume'] ?? [], 'resume').map((entry, at) => decision(entry, `resume[${at}]`)),
    history: historyOf(messages.slice(0, answered)),
    goBack: null,
    tools: listAt(input['tools'] ?? [], 'tools').map((tool, at) => offeredTool(tool, `tools[${at}]`)),
    context: contextText(
      listAt(input['context'] ?? [], 'context').map((entry, at) => objectAt(entry, `context[${at}]`)),
    ),
    // A client that has no state sends an empty one.
    state: isJsonObject(state) && Object.keys(state).length > 0 ? state : null,
    metadata: isJsonObject(forwardedProps) && Object.keys(forwardedProps).length > 0 ? { forwardedProps } : null,
    request: { threadId, runId, messages, isLegacy: version === undefined },
  };
}

/** What the application tells the model, each fact under its description. */
function contextText(entries: readonly JsonObject[]): string | null {
  const facts = entries.flatMap(({ description, value }) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    return [`## ${typeof description === 'string' ? description : 'Context'}\n\n${text}`];
  });
  return facts.length === 0 ? null : facts.join('\n\n');
}

function userContent({ content }: JsonObject): UserContent[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part): UserContent[] => {
    if (!isJsonObject(part)) return [];
    if (part['type'] === 'text' && typeof part['text'] === 'string') return [{ type: 'text', text: part['text'] }];
    return mediaBlock(part);
  });
}

/** Images, audio, video and documents have their bytes or their address in `source`. */
function mediaBlock({ source, filename }: JsonObject): UserContent[] {
  if (!isJsonObject(source) || typeof source['value'] !== 'string') return [];
  const mediaType = typeof source['mimeType'] === 'string' ? source['mimeType'] : 'application/octet-stream';
  const url = source['type'] === 'data' ? `data:${mediaType};base64,${source['value']}` : source['value'];
  return [fileBlock(mediaType, url, typeof filename === 'string' ? filename : undefined)];
}

const plainText = (content: JsonValue | undefined): string => {
  if (typeof content === 'string') return content;
  return userContent({ content: content ?? '' })
    .map((block) => (block.type === 'text' ? block.text : `[${block.type}: ${block.mediaType}]`))
    .join('\n');
};

function toolResult({ role, toolCallId, content, error }: JsonObject): ClientToolResult[] {
  if (role !== 'tool' || typeof toolCallId !== 'string') return [];
  if (typeof error === 'string' && error !== '') return [{ callId: toolCallId, content: error, isError: true }];
  return [{ callId: toolCallId, content: plainText(content) }];
}

function decision(value: unknown, path: string): ApprovalDecision {
  const { interruptId, status, payload } = objectAt(value, path);
  const approvalId = textAt(interruptId, `${path}.interruptId`);
  if (status === 'cancelled') return { approvalId, decision: 'reject' };
  if (status !== 'resolved') throw invalidAt(`${path}.status`, "must be 'resolved' or 'cancelled'");
  if (!isJsonObject(payload) || typeof payload['approved'] !== 'boolean')
    throw invalidAt(`${path}.payload.approved`, 'must be true or false');
  const message = typeof payload['message'] === 'string' ? { message: payload['message'] } : {};
  return { approvalId, decision: payload['approved'] ? 'approve' : 'reject', ...message };
}

function offeredTool(value: unknown, path: string): OfferedTool {
  const { name, description, parameters } = objectAt(value, path);
  const called = textAt(name, `${path}.name`);
  return {
    name: called,
    // A model chooses by it; the name is better than nothing.
    description: typeof description === 'string' && description.trim() !== '' ? description : called,
    inputSchema: isJsonObject(parameters) ? parameters : { type: 'object', properties: {} },
  };
}

function historyOf(messages: readonly JsonObject[]): object[] {
  return messages.flatMap((message): object[] => {
    const { id, role, content } = message;
    const named = typeof id === 'string' ? { id } : {};
    if (role === 'user') {
      const blocks = userContent(message);
      return blocks.length === 0 ? [] : [{ role, ...named, content: blocks }];
    }
    if (role === 'tool')
      return toolResult(message).map(({ callId, content: text, isError = false }) => ({
        role,
        ...named,
        callId,
        toolName: nameOf(callId, messages),
        content: text,
        isError,
      }));
    if (role !== 'assistant') return [];
    const text = plainText(content);
    const blocks = [...(text === '' ? [] : [{ type: 'text', text }]), ...callsOf(message)];
    return blocks.length === 0 ? [] : [{ role, ...named, content: blocks }];
  });
}

function callsOf({
  toolCalls,
}: JsonObject): { type: 'tool_call'; callId: string; name: string; arguments: JsonObject }[] {
  if (!Array.isArray(toolCalls)) return [];
  return toolCalls.flatMap((call) => {
    if (!isJsonObject(call) || typeof call['id'] !== 'string' || !isJsonObject(call['function'])) return [];
    const { name, arguments: text } = call['function'];
    if (typeof name !== 'string') return [];
    return [{ type: 'tool_call' as const, callId: call['id'], name, arguments: parsed(text) }];
  });
}

function parsed(text: JsonValue | undefined): JsonObject {
  if (typeof text !== 'string') return {};
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : {};
  } catch {
    // What a client kept of a call that was cut off, or refused.
    return {};
  }
}

const nameOf = (callId: string, messages: readonly JsonObject[]): string =>
  messages.flatMap(callsOf).find((call) => call.callId === callId)?.name ?? 'unknown';
