import type { ClientToolResult, JsonObject, JsonValue, UserContent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { ApprovalDecision, ClientTurn } from './client-turn.ts';
import { fileBlock, invalidAt, listAt, objectAt, textAt } from './reading.ts';

export interface AiSdkTurn extends ClientTurn {
  /** The id of the client's message that the reply goes on with; null where the reply is a new message. */
  readonly continues: string | null;
}

/**
 * Reads what the AI SDK's `DefaultChatTransport` posts: `{ id, messages, trigger }`, the messages being all of the
 * conversation. Answers to approvals and outputs of client tools are in the parts of the last assistant message.
 *
 * @throws TreadleError `invalid_messages` that names the place.
 */
export function readAiSdkRequest(body: unknown): AiSdkTurn {
  const { id, messages, trigger, messageId } = objectAt(body, 'the body');
  const threadId = textAt(id, 'id');
  const read = listAt(messages, 'messages').map((message, at) => readMessage(message, `messages[${at}]`));
  const last = read.at(-1);
  if (last === undefined) throw invalidAt('messages', 'must not be empty');
  const isAgain = trigger === 'regenerate-message';
  if (last.role === 'assistant' && !isAgain) {
    const { results, answers } = answersIn(last.parts);
    return { ...NOTHING_SAID, threadId, results, answers, history: historyOf(read), continues: last.id };
  }
  const asked = Math.max(0, isAgain ? read.findLastIndex(({ role }) => role === 'user') : read.length - 1);
  const content = read[asked]?.parts.flatMap(userBlock) ?? [];
  const prompt = content.length === 0 ? [] : [{ id: read[asked]?.id ?? null, content }];
  // Only an edited message is named by a request that isn't for another reply.
  const goBack = isAgain ? 'again' : typeof messageId === 'string' ? 'edited' : null;
  return { ...NOTHING_SAID, threadId, prompt, goBack, history: historyOf(read.slice(0, asked)) };
}

const NOTHING_SAID = {
  prompt: [],
  results: [],
  answers: [],
  goBack: null,
  tools: [],
  context: null,
  state: null,
  metadata: null,
  continues: null,
} as const;

type ReadMessage = ReturnType<typeof readMessage>;

function readMessage(value: unknown, path: string) {
  const { id, role, parts } = objectAt(value, path);
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw invalidAt(`${path}.role`, "must be 'user', 'assistant' or 'system'");
  const read = listAt(parts, `${path}.parts`).map((part, at) => objectAt(part, `${path}.parts[${at}]`));
  return { id: textAt(id, `${path}.id`), role, parts: read };
}

function userBlock(part: JsonObject): UserContent[] {
  const { type, text, url, mediaType, filename } = part;
  if (type === 'text' && typeof text === 'string' && text !== '') return [{ type, text }];
  if (type === 'file' && typeof url === 'string' && typeof mediaType === 'string')
    return [fileBlock(mediaType, url, typeof filename === 'string' ? filename : undefined)];
  return [];
}

/** The part of a tool call, whether its tool is known to the client (`tool-name`) or not (`dynamic-tool`). */
function toolPart(part: JsonObject) {
  const { type, toolName, toolCallId, input, state } = part;
  if (typeof type !== 'string' || typeof toolCallId !== 'string' || part['providerExecuted'] === true) return null;
  const name = type === 'dynamic-tool' ? toolName : type.startsWith('tool-') ? type.slice('tool-'.length) : null;
  if (typeof name !== 'string') return null;
  return { callId: toolCallId, name, input: isJsonObject(input) ? input : {}, state, part };
}

type ToolPart = NonNullable<ReturnType<typeof toolPart>>;

const outputText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** What became of a call, as far as the client knows. */
function resultOf({ callId, state, part }: ToolPart): ClientToolResult | null {
  if (state === 'output-available' && part['preliminary'] !== true)
    return { callId, content: outputText(part['output']) };
  if (state === 'output-error') return { callId, content: outputText(part['errorText']), isError: true };
  return null;
}

function answersIn(parts: readonly JsonObject[]): {
  readonly results: readonly ClientToolResult[];
  readonly answers: readonly ApprovalDecision[];
} {
  const calls = parts.flatMap((part) => toolPart(part) ?? []);
  const answers = calls.flatMap(({ state, part }): ApprovalDecision[] => {
    const { approval } = part;
    if (state !== 'approval-responded' || !isJsonObject(approval)) return [];
    const { id, approved, reason } = approval;
    // An answer that is neither yes nor no is no answer.
    if (typeof id !== 'string' || typeof approved !== 'boolean') return [];
    const decision = approved ? 'approve' : 'reject';
    return [{ approvalId: id, decision, ...(typeof reason === 'string' ? { message: reason } : {}) }];
  });
  return { results: calls.flatMap((call) => resultOf(call) ?? []), answers };
}

function historyOf(messages: readonly ReadMessage[]): object[] {
  return messages.flatMap(({ id, role, parts }): object[] => {
    // Whoever posts may not change what the agent is told to be.
    if (role === 'system') return [];
    if (role === 'user') {
      const content = parts.flatMap(userBlock);
      return content.length === 0 ? [] : [{ role, id, content }];
    }
    return stepsOf(parts).flatMap((step, at) => assistantMessages(`${id}:${at}`, step));
  });
}

/** Each step was a message of the model, with the results of its calls. */
function stepsOf(parts: readonly JsonObject[]): JsonObject[][] {
  const steps: JsonObject[][] = [[]];
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.length > 0);
}

function assistantMessages(id: string, parts: readonly JsonObject[]): object[] {
  const calls = parts.flatMap((part) => toolPart(part) ?? []);
  const said = parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [{ type, text }] : []));
  const called = calls.map(({ callId, name, input }) => ({ type: 'tool_call', callId, name, arguments: input }));
  if (said.length + called.length === 0) return [];
  const results = calls.flatMap((call) => {
    const result = resultOf(call);
    if (!result) return [];
    const { callId, content, isError = false } = result;
    return [{ role: 'tool', id: `${id}:${callId}`, callId, toolName: call.name, content, isError }];
  });
  return [{ role: 'assistant', id, content: [...said, ...called] }, ...results];
}
