import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Check } from '../checks.ts';
import * as is from '../checks.ts';
import { inWords, isText, objectsAt, problemsOf, type Problems } from '../requests.ts';

/** Every field of a request that the service knows. */
const FIELDS = [
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
];

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
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

/** Content that is a text, or a list of parts. */
const content =
  (part: Check, empty?: string): Check =>
  (found, value, path) => {
    if (!isText(value)) is.listOf(part, empty)(found, value, path);
  };

const among =
  (...types: readonly string[]) =>
  (type: string): string =>
    `Invalid value: ${type}. Supported values are: ${types.join(', ')}`;

const USER_CONTENT = content(
  is.byType(
    {
      input_text: is.record({ text: is.STRING }),
      input_image(found, part, path) {
        const { image_url: url, file_id: file } = part as JsonObject;
        if (isText(file) ? url !== undefined : !isText(url) || !/^(?:https?:|data:image\/)/.test(url))
          found.add(path, 'an image is a web address, a data: URL of an image, or a file_id');
      },
      input_file(found, part, path) {
        const { file_id: id, file_data: data, file_url: url, filename } = part as JsonObject;
        if (![id, data, url].some(isText)) found.add(path, 'a file needs file_id, file_data or file_url');
        if (isText(data) && !isText(filename)) found.add(`${path}.filename`, 'is required');
      },
    },
    among('input_text', 'input_image', 'input_file'),
  ),
  'must not be empty',
);

const ASSISTANT_CONTENT = content(
  is.byType(
    { output_text: is.record({ text: is.STRING }), refusal: is.record({ refusal: is.STRING }) },
    among('output_text', 'refusal'),
  ),
);

function checkMessage(found: Problems, { role, content: said }: JsonObject, path: string): void {
  if (role === 'assistant') return ASSISTANT_CONTENT(found, said, `${path}.content`);
  is.oneOf(['user', 'system', 'developer'], 'must be user, assistant, system or developer')(
    found,
    role,
    `${path}.role`,
  );
  if (said === '') found.add(`${path}.content`, 'must not be empty');
  USER_CONTENT(found, said, `${path}.content`);
}

const SUMMARY: Check = (found, part, path) => {
  const { type, text } = part as JsonObject;
  if (type !== 'summary_text' || !isText(text)) found.add(path, 'must be a summary_text');
};
const REASONING = is.record({
  id: is.anyThat(isText, 'is required'),
  status: is.anyThat((status) => status === undefined, 'Unknown parameter'),
  summary: is.listOf(SUMMARY),
});

function checkReasoning(found: Problems, item: JsonObject, path: string, stored: boolean): void {
  REASONING(found, item, path);
  const readable = isText(item['encrypted_content']) || Array.isArray(item['content']);
  if (!stored && !readable)
    found.add(path, `Item with id '${inWords(item['id'])}' not found. Items are not persisted when store is false`);
}

/** What the calls that have something to check must have. */
const CALL_CHECKS: Readonly<Record<string, Check>> = {
  function_call: is.record({ name: is.NAME_64, arguments: is.OBJECT_TEXT }),
  custom_tool_call: is.record({ input: is.STRING }),
  image_generation_call(found, item, path) {
    for (const key of Object.keys(item as JsonObject))
      if (!IMAGE_CALL_FIELDS.includes(key)) found.add(`${path}.${key}`, 'Unknown parameter');
  },
};
const CALL_ID = is.textThat((id) => id !== '' && id.length <= 64, 'must have 1 to 64 characters');

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
  else is.unique(seen, 'item ids')(found, id, `${path}.id`);
}

function checkCall(found: Problems, item: JsonObject, type: string, path: string, conversation: Conversation): void {
  CALL_CHECKS[type]?.(found, item, path);
  const output = OUTPUTS[type];
  if (output === undefined) return;
  const { call_id: id } = item;
  CALL_ID(found, id, `${path}.call_id`);
  if (!isText(id)) return;
  is.unique(conversation.callIds, 'call ids')(found, id, `${path}.call_id`);
  conversation.open.set(id, output);
}

function checkOutput(found: Problems, item: JsonObject, type: string, path: string, open: Map<string, string>): void {
  const callId = item['call_id'];
  if (!isText(callId) || open.get(callId) !== type)
    found.add(path, `No call found for ${type} with call_id ${inWords(callId)}`);
  else open.delete(callId);
  if (type === 'function_call_output' || type === 'custom_tool_call_output')
    USER_CONTENT(found, item['output'], `${path}.output`);
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

function checkTools(found: Problems, { tools, tool_choice: choice }: JsonObject): void {
  const names = new Set<string>();
  const types = new Set<unknown>();
  const tool = is.all(
    is.record({
      type: is.anyThat(isText, 'is required'),
      function: is.anyThat((nested) => nested === undefined, 'Unknown parameter'),
    }),
    (problems, item, path) => {
      const { type, name, parameters, strict } = item;
      types.add(type);
      if (type !== 'function' && type !== 'custom') return;
      is.NAME_64(problems, name, `${path}.name`);
      is.unique(names, 'tool names')(problems, name, `${path}.name`);
      if (type === 'custom') return;
      is.SCHEMA(problems, parameters, `${path}.parameters`);
      // The service takes a tool that doesn't say for a strict one.
      if (strict !== false) checkStrict(problems, parameters, `${path}.parameters`);
    },
  );
  is.optional(is.listOf(tool))(found, tools, 'tools');
  if (isJsonObject(choice)) {
    const { type, name } = choice;
    const there = type === 'function' || type === 'custom' ? isText(name) && names.has(name) : types.has(type);
    if (!there) found.add('tool_choice', 'must name one of the tools');
  } else {
    const words = is.oneOf(['none', 'auto', 'required'], 'must be none, auto, required or a tool');
    is.optional(words)(found, choice, 'tool_choice');
  }
}

const BODY = is.record({
  model: is.FILLED,
  max_output_tokens: is.optional(
    is.anyThat((most) => Number.isInteger(most) && Number(most) >= 16, 'Expected a value >= 16'),
  ),
  temperature: is.optional(is.between(0, 2)),
  instructions: is.optional(is.STRING),
  prompt_cache_key: is.optional(is.textThat((key) => key.length <= 64, 'Expected a string with maximum length 64')),
  reasoning(found, value, path) {
    if (value === undefined || value === null) return;
    const summary = is.oneOf(['auto', 'concise', 'detailed'], 'must be auto, concise or detailed');
    is.record({ effort: is.optional(is.oneOf(EFFORTS)), summary: is.optional(summary) })(found, value, path);
  },
});

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
  return problemsOf(body, (found, request) => {
    for (const key of Object.keys(request)) if (!FIELDS.includes(key)) found.add(key, 'Unknown parameter');
    BODY(found, request, '');
    checkTools(found, request);
    checkInput(found, request['input'], request['store'] !== false);
  });
}
