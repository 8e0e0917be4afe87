import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Check } from '../checks.ts';
import * as is from '../checks.ts';
import { isText, objectsAt, problemsOf, turnsAt, type Place, type Problems } from '../requests.ts';

const ELSEWHERE = {
  url: is.record({ url: is.textThat((url) => /^https?:/.test(url), 'must be a web address') }),
  file: is.record({ file_id: is.STRING }),
};
const PDF = is.anyThat((type) => type === 'application/pdf', 'must be application/pdf');
const noSource = (): string => 'must be base64, url, file, text or content';
const no = (what: string): Check => is.record({ type: is.anyThat(() => false, what) });

const IMAGE = is.byType(
  {
    ...ELSEWHERE,
    base64: is.record({
      data: is.FILLED,
      media_type: is.oneOf(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
    }),
    text: no('an image can not be text'),
    content: no('an image can not be blocks'),
  },
  noSource,
);
const DOCUMENT = is.byType(
  {
    ...ELSEWHERE,
    base64: is.record({ data: is.FILLED, media_type: PDF }),
    text: is.record({ data: is.SPOKEN }),
    content: is.ANYTHING,
  },
  noSource,
);

const SHOWN = {
  text: is.record({ text: is.SPOKEN }),
  image: is.record({ source: IMAGE }),
  document: is.record({ source: DOCUMENT }),
  search_result: is.ANYTHING,
};
const RESULT_BLOCK = is.byType(
  { ...SHOWN, tool_reference: is.ANYTHING },
  (type) => `${type} is no content of a tool result`,
);

const checkResult = (found: Problems, { content, is_error: isError }: JsonObject, path: string): void => {
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0);
  if (isEmpty && isError === true) found.add(`${path}.content`, 'can not be empty if is_error is true');
  if (content !== undefined && !isText(content)) is.listOf(RESULT_BLOCK)(found, content, `${path}.content`);
};

const USER_BLOCK = is.byType(
  { ...SHOWN, tool_result: is.all(is.record({ tool_use_id: is.STRING }), checkResult), container_upload: is.ANYTHING },
  (type) => `${type} is no block of a user message`,
);

const ASSISTANT_BLOCK = is.byType(
  {
    text: is.record({ text: is.SPOKEN }),
    thinking: is.record({
      thinking: is.STRING,
      signature: is.textThat((text) => text !== '', 'a thinking block needs the signature it came with'),
    }),
    redacted_thinking: is.record({ data: is.STRING }),
    tool_use: is.record({ id: is.matching(/^[a-zA-Z0-9_-]+$/), name: is.NAME_128, input: is.OBJECT }),
  },
  (type) => `${type} is no block of an assistant message`,
);

/** Blocks of tools the service runs itself, and its own extensions, come back as they went out. */
const OF_SERVICE = /_tool_use$|_tool_result$|^compaction$|^container_upload$|^fallback$/;

interface Pairing {
  readonly ids: Set<string>;
  /** Calls of the message before that wait for their result. */
  open: Set<string>;
}

function checkUserMessage(found: Problems, blocks: readonly Place[], pairing: Pairing, at: string): void {
  let others = false;
  const answered = new Set<string>();
  for (const { item, path } of blocks) {
    USER_BLOCK(found, item, path);
    if (item['type'] !== 'tool_result') {
      others = true;
      continue;
    }
    if (others) found.add(path, 'tool_result blocks come before everything else of their message');
    const id = item['tool_use_id'];
    if (!isText(id)) continue;
    if (answered.has(id)) found.add(path, `each tool_use has a single result; ${id} has more`);
    else if (!pairing.open.has(id))
      found.add(path, `unexpected tool_use_id ${id}: the message before has no tool_use of that id`);
    answered.add(id);
  }
  for (const id of pairing.open) {
    if (!answered.has(id)) found.add(at, `the tool_use ${id} of the message before has no tool_result here`);
  }
  pairing.open = new Set();
}

function checkAssistantMessage(found: Problems, blocks: readonly Place[], pairing: Pairing): void {
  for (const { item, path } of blocks) {
    const { type, id } = item;
    if (isText(type) && OF_SERVICE.test(type)) continue;
    ASSISTANT_BLOCK(found, item, path);
    if (type !== 'tool_use' || !isText(id)) continue;
    is.unique(pairing.ids, 'tool_use ids')(found, id, `${path}.id`);
    pairing.open.add(id);
  }
}

function checkMessages(found: Problems, value: unknown): void {
  const pairing: Pairing = { ids: new Set(), open: new Set() };
  const messages = turnsAt(found, value, {
    path: 'messages',
    roles: ['user', 'assistant'],
    none: 'at least one message is required',
    role: 'must be user or assistant',
  });
  const [first] = messages;
  if (first?.role === 'assistant') found.add(first.path, 'the first message must use the user role');
  for (const { item, path, role } of messages) {
    const { content } = item;
    if (isText(content)) is.SPOKEN(found, content, `${path}.content`);
    else if (Array.isArray(content) && content.length === 0) found.add(path, 'messages must have non-empty content');
    const blocks = isText(content) ? [] : objectsAt(found, content, `${path}.content`);
    if (role === 'user') checkUserMessage(found, blocks, pairing, path);
    else checkAssistantMessage(found, blocks, pairing);
  }
  const last = messages.at(-1);
  if (last?.role === 'assistant') checkLastAssistant(found, last);
  for (const id of pairing.open) found.add('messages', `the tool_use ${id} of the last message has no tool_result`);
}

function checkLastAssistant(found: Problems, { item: { content }, path }: Place): void {
  const block: unknown = Array.isArray(content) ? content.at(-1) : undefined;
  const text = isText(content) ? content : isJsonObject(block) ? block['text'] : undefined;
  if (isText(text) && /\s$/.test(text)) found.add(path, 'final assistant content cannot end with trailing whitespace');
}

function checkTools(found: Problems, { tools, tool_choice: choice }: JsonObject): void {
  const names = new Set<string>();
  const name = is.unique(names, 'tool names');
  const own = is.record({ name: is.NAME_128, input_schema: is.SCHEMA });
  for (const { item, path } of tools === undefined ? [] : objectsAt(found, tools, 'tools')) {
    name(found, item['name'], `${path}.name`);
    if (item['type'] === undefined || item['type'] === 'custom') own(found, item, path);
  }
  if (choice === undefined) return;
  if (names.size === 0) found.add('tool_choice', 'may only be given together with tools');
  const declared = is.record({ name: is.textThat((text) => names.has(text), 'must name one of the tools') });
  const kinds = { auto: is.ANYTHING, any: is.ANYTHING, none: is.ANYTHING, tool: declared };
  is.byType(kinds, () => 'must be auto, any, tool or none')(found, choice, 'tool_choice');
}

function checkThinking(found: Problems, body: JsonObject): void {
  const { thinking, temperature, tool_choice: choice, max_tokens: most } = body;
  if (thinking === undefined) return;
  if (!isJsonObject(thinking)) return found.add('thinking', 'must be an object');
  const { type, budget_tokens: budget } = thinking;
  const types = ['enabled', 'disabled', 'adaptive', 'between_tools'];
  is.oneOf(types, `must be one of ${types.join(', ')}`)(found, type, 'thinking.type');
  if (type === 'disabled' || type === 'between_tools') return;
  if (temperature !== undefined && temperature !== 1)
    found.add('temperature', 'may only be 1 when thinking is enabled');
  if (isJsonObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool'))
    found.add('tool_choice', 'thinking may not be enabled when tool_choice forces tool use');
  if (type !== 'enabled') return;
  if (typeof budget !== 'number' || budget < 1024) found.add('thinking.budget_tokens', 'must be 1024 or more');
  else if (typeof most === 'number' && budget >= most)
    found.add('max_tokens', 'must be greater than thinking.budget_tokens');
}

function cacheMarks(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + cacheMarks(item), 0);
  if (!isJsonObject(value)) return 0;
  return (isJsonObject(value['cache_control']) ? 1 : 0) + cacheMarks(value['content']);
}

const BODY = is.record({
  model: is.FILLED,
  max_tokens: is.WHOLE_NUMBER,
  temperature: is.optional(is.between(0, 1)),
  stop_sequences: is.optional(is.texts((text) => text.trim() !== '', 'each must contain non-whitespace text')),
  system(found, system, path) {
    if (system !== undefined && !isText(system)) is.listOf(is.record({ text: is.SPOKEN }))(found, system, path);
  },
});

/**
 * What Anthropic's Messages service would refuse in this request body; an empty list for a valid one. Stricter than the
 * service in two points that other servers of this wire demand: roles alternate, and ids of calls are unique in the
 * whole conversation.
 *
 * @example
 * ```ts
 * import { validateAnthropicRequest } from '@treadle/testing';
 *
 * console.log(validateAnthropicRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }));
 * // [ 'max_tokens: must be a positive integer' ]
 * ```
 */
export function validateAnthropicRequest(body: unknown): string[] {
  return problemsOf(body, (found, request) => {
    BODY(found, request, '');
    checkTools(found, request);
    checkThinking(found, request);
    checkMessages(found, request['messages']);
    const marks = cacheMarks([request['messages'], request['tools'], request['system']]);
    if (marks > 4) found.add('', `at most 4 blocks may have cache_control; ${marks} have it`);
  });
}
