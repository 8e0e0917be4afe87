import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Problems } from '../checks.ts';
import {
  checkName,
  checkRange,
  checkSchema,
  checkText,
  checkUnicode,
  checkUnique,
  checkWholeNumber,
  inWords,
  isOneOf,
  isText,
  objectsAt,
  problems,
} from '../checks.ts';

const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const CALL_ID = /^[a-zA-Z0-9_-]+$/;

function checkSource(found: Problems, source: unknown, path: string, kind: 'image' | 'document'): void {
  if (!isJsonObject(source)) return found.add(path, 'must be an object');
  switch (source['type']) {
    case 'base64':
      if (!isText(source['data']) || source['data'] === '') found.add(`${path}.data`, 'must be a non-empty string');
      if (kind === 'image' && !(isText(source['media_type']) && IMAGE_TYPES.has(source['media_type']))) {
        found.add(`${path}.media_type`, `must be one of ${[...IMAGE_TYPES].join(', ')}`);
      }
      if (kind === 'document' && source['media_type'] !== 'application/pdf') {
        found.add(`${path}.media_type`, 'must be application/pdf');
      }
      return;
    case 'url':
      if (!isText(source['url']) || !/^https?:/.test(source['url'])) found.add(`${path}.url`, 'must be a web address');
      return;
    case 'file':
      if (!isText(source['file_id'])) found.add(`${path}.file_id`, 'must be a string');
      return;
    case 'text':
      if (kind === 'image') found.add(`${path}.type`, 'an image can not be text');
      else checkText(found, source['data'], `${path}.data`);
      return;
    case 'content':
      if (kind === 'image') found.add(`${path}.type`, 'an image can not be blocks');
      return;
    default:
      found.add(`${path}.type`, 'must be base64, url, file, text or content');
  }
}

function checkResultContent(found: Problems, block: JsonObject, path: string): void {
  const content = block['content'];
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0);
  if (isEmpty && block['is_error'] === true) found.add(`${path}.content`, 'can not be empty if is_error is true');
  if (content === undefined || isText(content)) return;
  for (const { item, path: at } of objectsAt(found, content, `${path}.content`)) {
    if (item['type'] === 'text') checkText(found, item['text'], `${at}.text`);
    else if (item['type'] === 'image' || item['type'] === 'document')
      checkSource(found, item['source'], `${at}.source`, item['type']);
    else if (item['type'] !== 'search_result' && item['type'] !== 'tool_reference')
      found.add(`${at}.type`, `${inWords(item['type'])} is no content of a tool result`);
  }
}

function checkUserBlock(found: Problems, block: JsonObject, path: string): void {
  switch (block['type']) {
    case 'text':
      return checkText(found, block['text'], `${path}.text`);
    case 'image':
    case 'document':
      return checkSource(found, block['source'], `${path}.source`, block['type']);
    case 'tool_result':
      if (!isText(block['tool_use_id'])) found.add(`${path}.tool_use_id`, 'must be a string');
      return checkResultContent(found, block, path);
    case 'search_result':
    case 'container_upload':
      return;
    default:
      found.add(`${path}.type`, `${inWords(block['type'])} is no block of a user message`);
  }
}

function checkAssistantBlock(found: Problems, block: JsonObject, path: string): void {
  const type = block['type'];
  switch (type) {
    case 'text':
      return checkText(found, block['text'], `${path}.text`);
    case 'thinking':
      if (!isText(block['thinking'])) found.add(`${path}.thinking`, 'must be a string');
      if (!isText(block['signature']) || block['signature'] === '')
        found.add(`${path}.signature`, 'a thinking block needs the signature it came with');
      return;
    case 'redacted_thinking':
      if (!isText(block['data'])) found.add(`${path}.data`, 'must be a string');
      return;
    case 'tool_use':
      if (!isText(block['id']) || !CALL_ID.test(block['id'])) found.add(`${path}.id`, `must match ${CALL_ID.source}`);
      checkName(found, block['name'], `${path}.name`, 128);
      if (!isJsonObject(block['input'])) found.add(`${path}.input`, 'must be an object');
      return;
    default:
      // Blocks of tools the service runs itself, and its own extensions, come back as they went out.
      if (!isText(type) || !/_tool_use$|_tool_result$|^compaction$|^container_upload$|^fallback$/.test(type))
        found.add(`${path}.type`, `${inWords(type)} is no block of an assistant message`);
  }
}

interface Pairing {
  readonly ids: Set<string>;
  /** Calls of the message before that wait for their result. */
  open: Set<string>;
}

function checkUserMessage(found: Problems, blocks: { item: JsonObject; path: string }[], pairing: Pairing, at: string) {
  let others = false;
  const answered = new Set<string>();
  for (const { item, path } of blocks) {
    checkUserBlock(found, item, path);
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

function checkAssistantMessage(found: Problems, blocks: { item: JsonObject; path: string }[], pairing: Pairing) {
  for (const { item, path } of blocks) {
    checkAssistantBlock(found, item, path);
    if (item['type'] !== 'tool_use' || !isText(item['id'])) continue;
    checkUnique(found, pairing.ids, item['id'], `${path}.id`, 'tool_use ids');
    pairing.open.add(item['id']);
  }
}

function checkMessages(found: Problems, value: unknown): void {
  const messages = objectsAt(found, value, 'messages');
  if (messages.length === 0) return found.add('messages', 'at least one message is required');
  const pairing: Pairing = { ids: new Set(), open: new Set() };
  let before: unknown;
  for (const { item, path } of messages) {
    const role = item['role'];
    if (role !== 'user' && role !== 'assistant') {
      found.add(`${path}.role`, 'must be user or assistant');
      continue;
    }
    if (before === undefined && role !== 'user') found.add(path, 'the first message must use the user role');
    if (before === role) found.add(path, `roles must alternate between user and assistant; two are ${role}`);
    before = role;
    const content = item['content'];
    if (isText(content)) checkText(found, content, `${path}.content`);
    else if (Array.isArray(content) && content.length === 0) found.add(path, 'messages must have non-empty content');
    const blocks = isText(content) ? [] : objectsAt(found, content, `${path}.content`);
    if (role === 'user') checkUserMessage(found, blocks, pairing, path);
    else checkAssistantMessage(found, blocks, pairing);
  }
  if (before === 'assistant') checkLastAssistant(found, messages.at(-1));
  for (const id of pairing.open) found.add('messages', `the tool_use ${id} of the last message has no tool_result`);
}

function checkLastAssistant(found: Problems, last: { item: JsonObject; path: string } | undefined): void {
  const content = last?.item['content'];
  const block: unknown = Array.isArray(content) ? content.at(-1) : undefined;
  const text = isText(content) ? content : isJsonObject(block) ? block['text'] : undefined;
  if (last && isText(text) && /\s$/.test(text))
    found.add(last.path, 'final assistant content cannot end with trailing whitespace');
}

function checkTools(found: Problems, body: JsonObject): void {
  const names = new Set<string>();
  if (body['tools'] !== undefined) {
    for (const { item, path } of objectsAt(found, body['tools'], 'tools')) {
      checkUnique(found, names, item['name'], `${path}.name`, 'tool names');
      if (item['type'] !== undefined && item['type'] !== 'custom') continue;
      checkName(found, item['name'], `${path}.name`, 128);
      checkSchema(found, item['input_schema'], `${path}.input_schema`);
    }
  }
  const choice = body['tool_choice'];
  if (choice === undefined) return;
  if (!isJsonObject(choice)) return found.add('tool_choice', 'must be an object');
  if (names.size === 0) found.add('tool_choice', 'may only be given together with tools');
  if (choice['type'] === 'tool') {
    if (!isText(choice['name']) || !names.has(choice['name']))
      found.add('tool_choice.name', 'must name one of the tools');
  } else if (!isOneOf(choice['type'], 'auto', 'any', 'none')) {
    found.add('tool_choice.type', 'must be auto, any, tool or none');
  }
}

function checkThinking(found: Problems, body: JsonObject): void {
  const thinking = body['thinking'];
  if (thinking === undefined) return;
  if (!isJsonObject(thinking)) return found.add('thinking', 'must be an object');
  if (!isOneOf(thinking['type'], 'enabled', 'disabled', 'adaptive'))
    found.add('thinking.type', 'must be enabled, disabled or adaptive');
  if (thinking['type'] === 'disabled') return;
  if (body['temperature'] !== undefined && body['temperature'] !== 1)
    found.add('temperature', 'may only be 1 when thinking is enabled');
  const choice = body['tool_choice'];
  if (isJsonObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool'))
    found.add('tool_choice', 'thinking may not be enabled when tool_choice forces tool use');
  if (thinking['type'] !== 'enabled') return;
  const budget = thinking['budget_tokens'];
  if (typeof budget !== 'number' || budget < 1024) found.add('thinking.budget_tokens', 'must be 1024 or more');
  else if (typeof body['max_tokens'] === 'number' && budget >= body['max_tokens'])
    found.add('max_tokens', 'must be greater than thinking.budget_tokens');
}

function checkSystem(found: Problems, system: unknown): void {
  if (system === undefined || isText(system)) return;
  for (const { item, path } of objectsAt(found, system, 'system')) checkText(found, item['text'], `${path}.text`);
}

function cacheMarks(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + cacheMarks(item), 0);
  if (!isJsonObject(value)) return 0;
  return (isJsonObject(value['cache_control']) ? 1 : 0) + cacheMarks(value['content']);
}

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
  const found = problems();
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  if (!isText(body['model']) || body['model'] === '') found.add('model', 'must be a non-empty string');
  checkWholeNumber(found, body['max_tokens'], 'max_tokens');
  if (body['temperature'] !== undefined) checkRange(found, body['temperature'], 'temperature', 0, 1);
  if (body['stop_sequences'] !== undefined) {
    const stops = body['stop_sequences'];
    if (!Array.isArray(stops) || stops.some((stop) => !isText(stop) || stop.trim() === ''))
      found.add('stop_sequences', 'each must contain non-whitespace text');
  }
  checkSystem(found, body['system']);
  checkTools(found, body);
  checkThinking(found, body);
  checkMessages(found, body['messages']);
  const marks = cacheMarks(body['messages']) + cacheMarks(body['tools']) + cacheMarks(body['system']);
  if (marks > 4) found.add('', `at most 4 blocks may have cache_control; ${marks} have it`);
  checkUnicode(found, body);
  return found.list;
}
