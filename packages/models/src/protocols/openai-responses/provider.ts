import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { ModelBlock, ModelRequest } from '@treadle/core/model';
import { SEARCH_TOOLS } from '@treadle/core/tools';
import { INTERRUPTED_RESULT } from '../shared/call-ids.ts';
import { asObject, asText, parsedOrText } from '../shared/json-text.ts';

/** Fields in which the kinds of calls say what they were called with. */
const ARGUMENT_FIELDS: readonly string[] = ['arguments', 'action', 'operation', 'input'];

/** Fields that are arguments where none of those is there. */
const LOOSE_ARGUMENTS: readonly string[] = ['code', 'queries', 'prompt', 'revised_prompt'];

const argumentsOf = (item: JsonObject): JsonValue => {
  for (const field of ARGUMENT_FIELDS) {
    const value = item[field];
    if (value !== undefined && value !== null) return typeof value === 'string' ? parsedOrText(value) : value;
  }
  const loose: Record<string, JsonValue> = {};
  for (const field of LOOSE_ARGUMENTS) {
    const value = item[field];
    if (value !== undefined && value !== null) loose[field] = value;
  }
  return loose;
};

/**
 * An output item that is neither a message nor reasoning nor a call of one of our tools: a call the provider executes or
 * wants executed by the client, such a call's output, or anything else, which is kept as it is.
 */
export function providerBlock(item: JsonObject): ModelBlock {
  const type = asText(item['type']) ?? 'unknown';
  const callId = asText(item['call_id']) ?? asText(item['id']) ?? '';
  if (type.endsWith('_output')) {
    const isError = item['status'] === 'failed' || item['status'] === 'incomplete';
    return { type: 'provider_tool_result', callId, name: type.replace(/(?:_call)?_output$/, ''), isError, raw: item };
  }
  if (type.endsWith('_call') || type === 'program') {
    const name = asText(item['name']) ?? type.replace(/_call$/, '');
    return { type: 'provider_tool_call', callId, name, arguments: argumentsOf(item), raw: item };
  }
  return { type: 'provider_block', kind: type, raw: item };
}

const runsInContainer = (item: JsonObject): boolean =>
  asText(asObject(item['environment'])?.['type'])?.startsWith('container') === true;

/** Whether the response that holds this item waits for the client to do something that Treadle doesn't do. */
export function waitsForClient(item: JsonObject): boolean {
  switch (item['type']) {
    case 'shell_call':
      return !runsInContainer(item);
    case 'tool_search_call':
      return item['execution'] === 'client';
    case 'local_shell_call':
    case 'apply_patch_call':
    case 'computer_call':
    case 'mcp_approval_request':
      return true;
    default:
      return false;
  }
}

/** What a call of a computer wants a person to look at before it is carried out. */
export const SAFETY_CHECKS = 'pending_safety_checks';

/** A search for tools whose definitions are not in the prompt. */
export const SEARCH_CALL = 'tool_search_call';

/** The calls of tools that the client executes, by the type of the tool. */
const CLIENT_CALLS: Readonly<Record<string, string>> = {
  local_shell: 'local_shell_call',
  shell: 'shell_call',
  apply_patch: 'apply_patch_call',
  computer: 'computer_call',
  computer_use: 'computer_call',
  computer_use_preview: 'computer_call',
  tool_search: SEARCH_CALL,
};

/** Whether a type of item is a call of a tool that the client executes. */
export const isClientCall = (type: string): boolean => Object.values(CLIENT_CALLS).includes(type);

/** What a search is for: an object, or its text. */
export function searchArguments(item: JsonObject): JsonObject {
  const { arguments: given } = item;
  const value = typeof given === 'string' ? parsedOrText(given) : given;
  return isJsonObject(value) ? value : {};
}

/**
 * The tool of ours that executes this item: the one with the name of the provider's tool. A call that has safety checks is
 * executed only by a tool whose schema has them, and so its permissions and its code.
 */
export function executor(request: ModelRequest, item: JsonObject): string | undefined {
  const { tools, providerTools = [], deferredTools } = request;
  if (!isClientCall(asText(item['type']) ?? '') || !waitsForClient(item)) return undefined;
  if (item['type'] === SEARCH_CALL) return deferredTools && SEARCH_TOOLS;
  const bound = providerTools.find(({ definition }) => CLIENT_CALLS[asText(definition['type']) ?? ''] === item['type']);
  const tool = tools.find(({ name }) => name === bound?.name);
  const checks = item[SAFETY_CHECKS];
  const isChecked = Array.isArray(checks) && checks.length > 0;
  const knowsChecks = asObject(tool?.inputSchema['properties'])?.[SAFETY_CHECKS] !== undefined;
  return isChecked && !knowsChecks ? undefined : tool?.name;
}

/**
 * What a replayed call is answered with when its output is nowhere: the API refuses a call without one. `null` for the
 * calls that have no such thing as an answer in words, undefined for those that need none.
 */
export function interruptedAnswer(item: JsonObject): object | null | undefined {
  const type = item['type'];
  const call_id = asText(item['call_id']) ?? '';
  switch (type) {
    case 'shell_call': {
      const outcome = { type: 'exit', exit_code: 1 };
      return { type: 'shell_call_output', call_id, output: [{ stdout: '', stderr: INTERRUPTED_RESULT, outcome }] };
    }
    case 'local_shell_call':
      return { type: 'local_shell_call_output', call_id, output: INTERRUPTED_RESULT };
    case 'apply_patch_call':
      return { type: 'apply_patch_call_output', call_id, status: 'failed', output: INTERRUPTED_RESULT };
    case 'mcp_approval_request': {
      const approval_request_id = asText(item['id']) ?? '';
      return { type: 'mcp_approval_response', approval_request_id, approve: false, reason: INTERRUPTED_RESULT };
    }
    case 'tool_search_call':
      if (item['execution'] !== 'client') return undefined;
      return { type: 'tool_search_output', call_id, execution: 'client', status: 'completed', tools: [] };
    case 'computer_call':
      return null;
    default:
      return undefined;
  }
}

/** An item in the form the API takes back. Of a drawn image it takes the picture, but not how it was drawn. */
export function replayedItem(item: JsonObject): JsonObject {
  if (item['type'] !== 'image_generation_call') return item;
  const { type, id, status, result } = item;
  return { type, id, status, result };
}
