import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Problems } from '../checks.ts';
import {
  checkName,
  checkRange,
  checkSchema,
  checkUnicode,
  checkUnique,
  inWords,
  isOneOf,
  isText,
  objectsAt,
  problems,
} from '../checks.ts';

/** Every field of a request that the service knows. */
const FIELDS: ReadonlySet<string> = new Set([
  'background',
  'conversation',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]);

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const USER_PARTS = ['input_text', 'input_image', 'input_file'];
const ITEM_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** What the id of each kind of item begins with. */
const ID_PREFIXES: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc' };

/** Items that the model's side of a conversation is made of besides messages. */
const CALLS = /^(?:[a-z_]+_call|program|mcp_list_tools|mcp_approval_request|compaction)$/;

/** What a drawn image may say when it goes back. */
const IMAGE_CALL_FIELDS = ['type', 'id', 'status', 'result'];

/** The outputs that answer calls, by the kind of call. */
const OUTPUTS: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  shell_call: 'shell_call_output',
  local_shell_call: 'local_shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
  computer_call: 'computer_call_output',
};

function checkPart(found: Problems, part: JsonObject, path: string): void {
  switch (part['type']) {
    case 'input_text':
      if (!isText(part['text'])) found.add(`${path}.text`, 'must be a string');
      return;
    case 'input_image': {
      const { image_url: url, file_id: file } = part;
      if (isText(file) ? url !== undefined : !isText(url) || !/^(?:https?:|data:image\/)/.test(url))
        found.add(path, 'an image is a web address, a data: URL of an image, or a file_id');
      return;
    }
    case 'input_file':
      if (![part['file_id'], part['file_data'], part['file_url']].some(isText))
        found.add(path, 'a file needs file_id, file_data or file_url');
      if (isText(part['file_data']) && !isText(part['filename'])) found.add(`${path}.filename`, 'is required');
      return;
    default:
      found.add(
        `${path}.type`,
        `Invalid value: ${inWords(part['type'])}. Supported values are: ${USER_PARTS.join(', ')}`,
      );
  }
}

function checkParts(found: Problems, content: unknown, path: string): void {
  if (isText(content)) return;
  if (Array.isArray(content) && content.length === 0) found.add(path, 'must not be empty');
  for (const { item, path: at } of objectsAt(found, content, path)) checkPart(found, item, at);
}

function checkAssistantContent(found: Problems, content: unknown, path: string): void {
  if (isText(content)) return;
  for (const { item, path: at } of objectsAt(found, content, path)) {
    const field = item['type'] === 'refusal' ? 'refusal' : 'text';
    if (item['type'] !== 'output_text' && item['type'] !== 'refusal')
      found.add(`${at}.type`, `Invalid value: ${inWords(item['type'])}. Supported values are: output_text, refusal`);
    if (!isText(item[field])) found.add(`${at}.${field}`, 'must be a string');
  }
}

function checkMessage(found: Problems, item: JsonObject, path: string): void {
  const role = item['role'];
  if (role === 'assistant') return checkAssistantContent(found, item['content'], `${path}.content`);
  if (!isOneOf(role, 'user', 'system', 'developer'))
    return found.add(`${path}.role`, 'must be user, assistant, system or developer');
  if (item['content'] === '') found.add(`${path}.content`, 'must not be empty');
  checkParts(found, item['content'], `${path}.content`);
}

function checkReasoning(found: Problems, item: JsonObject, path: string, stored: boolean): void {
  if (!isText(item['id'])) found.add(`${path}.id`, 'is required');
  if (item['status'] !== undefined) found.add(`${path}.status`, 'Unknown parameter');
  for (const { item: part, path: at } of objectsAt(found, item['summary'], `${path}.summary`))
    if (part['type'] !== 'summary_text' || !isText(part['text'])) found.add(at, 'must be a summary_text');
  const readable = isText(item['encrypted_content']) || Array.isArray(item['content']);
  if (!stored && !readable)
    found.add(path, `Item with id '${inWords(item['id'])}' not found. Items are not persisted when store is false`);
}

function checkFunctionCall(found: Problems, item: JsonObject, path: string): void {
  checkName(found, item['name'], `${path}.name`, 64);
  let value: unknown;
  try {
    value = isText(item['arguments']) ? JSON.parse(item['arguments']) : undefined;
  } catch {
    // Said below: the text is no object either way.
  }
  if (!isJsonObject(value)) found.add(`${path}.arguments`, 'must be the text of a JSON object');
}

interface Conversation {
  readonly stored: boolean;
  readonly itemIds: Set<string>;
  readonly callIds: Set<string>;
  /** The output that each open call waits for. */
  readonly open: Map<string, string>;
  /** Reasoning that nothing has followed yet. */
  reasoning: string | undefined;
}

function checkId(found: Problems, item: JsonObject, type: string, path: string, seen: Set<string>): void {
  const { id } = item;
  if (id === undefined || id === null) return;
  const known = Object.hasOwn(ID_PREFIXES, type);
  const prefix = ID_PREFIXES[type] ?? '';
  if (!isText(id) || (known && !ITEM_ID.test(id))) found.add(`${path}.id`, `must match ${ITEM_ID.source}`);
  else if (!id.startsWith(prefix)) found.add(`${path}.id`, `Expected an ID that begins with '${prefix}'`);
  else checkUnique(found, seen, id, `${path}.id`, 'item ids');
}

function checkCall(
  found: Problems,
  item: JsonObject,
  type: string,
  path: string,
  { callIds, open }: Conversation,
): void {
  const output = OUTPUTS[type];
  if (output === undefined) return;
  const callId = item['call_id'];
  if (!isText(callId) || callId === '' || callId.length > 64)
    return found.add(`${path}.call_id`, 'must have 1 to 64 characters');
  checkUnique(found, callIds, callId, `${path}.call_id`, 'call ids');
  open.set(callId, output);
}

function checkOutput(found: Problems, item: JsonObject, type: string, path: string, open: Map<string, string>): void {
  const callId = item['call_id'];
  if (!isText(callId) || open.get(callId) !== type)
    found.add(path, `No call found for ${type} with call_id ${inWords(callId)}`);
  else open.delete(callId);
  if (type === 'function_call_output' || type === 'custom_tool_call_output')
    checkParts(found, item['output'], `${path}.output`);
}

function checkItem(found: Problems, item: JsonObject, path: string, conversation: Conversation): void {
  const type = item['type'] ?? (item['role'] === undefined ? undefined : 'message');
  if (!isText(type)) return found.add(`${path}.type`, 'is required');
  checkId(found, item, type, path, conversation.itemIds);
  const isOutput = type.endsWith('_output') || type === 'mcp_approval_response';
  const ofModel = (type === 'message' && item['role'] === 'assistant') || CALLS.test(type);
  if (conversation.reasoning !== undefined && type !== 'reasoning') {
    if (!ofModel && !isOutput)
      found.add(
        conversation.reasoning,
        `Item '${inWords(item['id'])}' of type 'reasoning' was provided without its required following item`,
      );
    conversation.reasoning = undefined;
  }
  if (type === 'message') return checkMessage(found, item, path);
  if (type === 'reasoning') {
    conversation.reasoning = path;
    return checkReasoning(found, item, path, conversation.stored);
  }
  if (isOutput) {
    // What the service ran itself it may have answered itself.
    if (Object.values(OUTPUTS).includes(type)) checkOutput(found, item, type, path, conversation.open);
    return;
  }
  if (!ofModel) return found.add(`${path}.type`, `Invalid value: '${type}'`);
  if (type === 'function_call') checkFunctionCall(found, item, path);
  if (type === 'custom_tool_call' && !isText(item['input'])) found.add(`${path}.input`, 'must be a string');
  if (type === 'image_generation_call')
    for (const key of Object.keys(item))
      if (!IMAGE_CALL_FIELDS.includes(key)) found.add(`${path}.${key}`, 'Unknown parameter');
  checkCall(found, item, type, path, conversation);
}

function checkInput(found: Problems, input: unknown, stored: boolean): void {
  if (isText(input)) return;
  const items = objectsAt(found, input, 'input');
  if (items.length === 0) found.add('input', 'must have at least one item');
  const conversation: Conversation = {
    stored,
    itemIds: new Set(),
    callIds: new Set(),
    open: new Map(),
    reasoning: undefined,
  };
  for (const { item, path } of items) checkItem(found, item, path, conversation);
  if (conversation.reasoning !== undefined)
    found.add(conversation.reasoning, 'reasoning was provided without its required following item');
  for (const id of conversation.open.keys()) found.add('input', `No tool output found for the call ${id}`);
}

/** What strict mode wants of a schema and everything inside it. */
function checkStrict(found: Problems, value: unknown, path: string): void {
  if (Array.isArray(value)) return value.forEach((item, index) => checkStrict(found, item, `${path}.${index}`));
  if (!isJsonObject(value)) return;
  const { properties, required, type } = value;
  const isObject = type === 'object' || (Array.isArray(type) && (type as unknown[]).includes('object'));
  if (isObject) {
    if (value['additionalProperties'] !== false) found.add(path, "'additionalProperties' is required to be false");
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    const listed: readonly unknown[] = Array.isArray(required) ? (required as unknown[]) : [];
    const missing = names.filter((name) => !listed.includes(name));
    if (missing.length > 0) found.add(path, `'required' must include every key in properties: ${missing.join(', ')}`);
  }
  for (const word of ['allOf', 'oneOf', 'not', 'if', 'patternProperties', 'default', 'minLength', 'maxLength'])
    if (value[word] !== undefined) found.add(path, `'${word}' is not permitted`);
  if (isJsonObject(properties))
    for (const [name, inner] of Object.entries(properties)) checkStrict(found, inner, `${path}.properties.${name}`);
  for (const word of ['items', 'anyOf'])
    if (value[word] !== undefined) checkStrict(found, value[word], `${path}.${word}`);
}

function checkTools(found: Problems, body: JsonObject): void {
  const names = new Set<string>();
  const types = new Set<unknown>();
  const tools = body['tools'];
  for (const { item, path } of tools === undefined ? [] : objectsAt(found, tools, 'tools')) {
    types.add(item['type']);
    if (!isText(item['type'])) found.add(`${path}.type`, 'is required');
    if (item['function'] !== undefined) found.add(`${path}.function`, 'Unknown parameter');
    if (item['type'] !== 'function' && item['type'] !== 'custom') continue;
    checkName(found, item['name'], `${path}.name`, 64);
    checkUnique(found, names, item['name'], `${path}.name`, 'tool names');
    if (item['type'] === 'custom') continue;
    checkSchema(found, item['parameters'], `${path}.parameters`);
    // The service takes a tool that doesn't say for a strict one.
    if (item['strict'] !== false) checkStrict(found, item['parameters'], `${path}.parameters`);
  }
  const choice = body['tool_choice'];
  if (choice === undefined) return;
  if (isJsonObject(choice)) {
    const named = choice['type'] === 'function' || choice['type'] === 'custom';
    const there = named ? isText(choice['name']) && names.has(choice['name']) : types.has(choice['type']);
    if (!there) found.add('tool_choice', 'must name one of the tools');
  } else if (!isOneOf(choice, 'none', 'auto', 'required')) {
    found.add('tool_choice', 'must be none, auto, required or a tool');
  }
}

function checkReasoningOptions(found: Problems, reasoning: unknown): void {
  if (reasoning === undefined || reasoning === null) return;
  if (!isJsonObject(reasoning)) return found.add('reasoning', 'must be an object');
  const { effort, summary } = reasoning;
  if (effort !== undefined && !isOneOf(effort, ...EFFORTS))
    found.add('reasoning.effort', `must be one of ${EFFORTS.join(', ')}`);
  if (summary !== undefined && !isOneOf(summary, 'auto', 'concise', 'detailed'))
    found.add('reasoning.summary', 'must be auto, concise or detailed');
}

/**
 * What OpenAI's Responses service would refuse in this request body; an empty list for a valid one. Like the stricter of
 * the servers that speak this wire it wants call ids unique in the whole conversation and arguments that are JSON
 * objects.
 *
 * @example
 * ```ts
 * import { validateOpenAIResponsesRequest } from '@treadle/testing';
 *
 * const orphan = { type: 'function_call_output', call_id: 'call_1', output: '4' };
 * console.log(validateOpenAIResponsesRequest({ model: 'm', input: [orphan] }).length); // 1
 * ```
 */
export function validateOpenAIResponsesRequest(body: unknown): string[] {
  const found = problems();
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  for (const key of Object.keys(body)) if (!FIELDS.has(key)) found.add(key, 'Unknown parameter');
  if (!isText(body['model']) || body['model'] === '') found.add('model', 'must be a non-empty string');
  const most = body['max_output_tokens'];
  if (most !== undefined && (typeof most !== 'number' || !Number.isInteger(most) || most < 16))
    found.add('max_output_tokens', 'Expected a value >= 16');
  if (body['temperature'] !== undefined) checkRange(found, body['temperature'], 'temperature', 0, 2);
  if (body['instructions'] !== undefined && !isText(body['instructions']))
    found.add('instructions', 'must be a string');
  const key = body['prompt_cache_key'];
  if (key !== undefined && (!isText(key) || key.length > 64))
    found.add('prompt_cache_key', 'Expected a string with maximum length 64');
  checkReasoningOptions(found, body['reasoning']);
  checkTools(found, body);
  checkInput(found, body['input'], body['store'] !== false);
  checkUnicode(found, body);
  return found.list;
}
