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

const PARTS: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
};

function checkPart(found: Problems, part: JsonObject, path: string, role: string): void {
  const type = part['type'];
  if (!isText(type) || !PARTS[role]?.includes(type))
    return found.add(`${path}.type`, `${inWords(type)} is no part of a ${role} message`);
  if (type === 'text') checkText(found, part['text'], `${path}.text`);
  if (type !== 'image_url') return;
  const image = part['image_url'];
  if (!isJsonObject(image) || !isText(image['url']) || !/^(https?:|data:image\/)/.test(image['url']))
    found.add(`${path}.image_url.url`, 'must be a web address or a data: URL of an image');
}

function checkContent(found: Problems, content: unknown, path: string, role: string): void {
  if (isText(content)) {
    // A tool may have nothing to say; everyone else says something or is left out.
    if (role !== 'tool' && content === '') found.add(path, 'must not be empty');
    return;
  }
  if (Array.isArray(content) && content.length === 0) return found.add(path, '[] is too short');
  for (const { item, path: at } of objectsAt(found, content, path)) checkPart(found, item, at, role);
}

function checkArguments(found: Problems, text: unknown, path: string): void {
  if (!isText(text)) return found.add(path, 'must be a string');
  try {
    if (isJsonObject(JSON.parse(text))) return;
  } catch {
    // Said below: the text is no object either way.
  }
  found.add(path, 'must be the text of a JSON object');
}

function checkCalls(found: Problems, calls: unknown, path: string, ids: Set<string>): Set<string> {
  const open = new Set<string>();
  if (Array.isArray(calls) && calls.length === 0) found.add(path, '[] is too short');
  for (const { item, path: at } of objectsAt(found, calls, path)) {
    if (item['type'] !== 'function') found.add(`${at}.type`, 'must be "function"');
    const id = item['id'];
    if (!isText(id) || id === '') found.add(`${at}.id`, 'must be a non-empty string');
    else {
      checkUnique(found, ids, id, `${at}.id`, 'tool call ids');
      open.add(id);
    }
    const called = item['function'];
    if (!isJsonObject(called)) {
      found.add(`${at}.function`, 'must be an object');
      continue;
    }
    checkName(found, called['name'], `${at}.function.name`, 64);
    checkArguments(found, called['arguments'], `${at}.function.arguments`);
  }
  return open;
}

function checkMessages(found: Problems, value: unknown): void {
  const messages = objectsAt(found, value, 'messages');
  if (messages.length === 0) return found.add('messages', '[] is too short');
  const ids = new Set<string>();
  let open = new Set<string>();
  let answered = new Set<string>();
  const closeCalls = (path: string): void => {
    for (const id of open) {
      if (!answered.has(id)) found.add(path, `the tool call ${id} must be followed by a tool message that answers it`);
    }
    open = new Set();
    answered = new Set();
  };
  for (const { item, path } of messages) {
    const role = item['role'];
    if (!isText(role) || !Object.hasOwn(PARTS, role)) {
      found.add(`${path}.role`, 'must be system, developer, user, assistant or tool');
      continue;
    }
    const content = item['content'];
    if (role === 'tool') {
      const id = item['tool_call_id'];
      if (!isText(id)) found.add(`${path}.tool_call_id`, 'must be a string');
      else if (!open.has(id)) found.add(path, `a tool message must answer a tool call right before it; ${id} is none`);
      else if (answered.has(id)) found.add(path, `the tool call ${id} is answered twice`);
      if (isText(id)) answered.add(id);
      checkContent(found, content, `${path}.content`, role);
      continue;
    }
    closeCalls(path);
    const calls = item['tool_calls'];
    if (role === 'assistant' && calls !== undefined) open = checkCalls(found, calls, `${path}.tool_calls`, ids);
    const silent = content === undefined || content === null;
    if (!silent) checkContent(found, content, `${path}.content`, role);
    else if (role !== 'assistant') found.add(`${path}.content`, 'is required');
    else if (calls === undefined && !isText(item['refusal']))
      found.add(`${path}.content`, 'is required unless there are tool_calls');
  }
  closeCalls('messages');
}

function checkTools(found: Problems, body: JsonObject): void {
  const names = new Set<string>();
  const tools = body['tools'];
  if (Array.isArray(tools) && tools.length === 0) found.add('tools', '[] is too short');
  if (tools !== undefined) {
    for (const { item, path } of objectsAt(found, tools, 'tools')) {
      const declared = item['function'];
      if (item['type'] !== 'function' || !isJsonObject(declared)) {
        if (item['type'] !== 'custom') found.add(path, 'must be {"type":"function","function":{…}}');
        continue;
      }
      checkName(found, declared['name'], `${path}.function.name`, 64);
      checkUnique(found, names, declared['name'], `${path}.function.name`, 'tool names');
      if (declared['parameters'] !== undefined)
        checkSchema(found, declared['parameters'], `${path}.function.parameters`);
    }
  }
  if (body['parallel_tool_calls'] !== undefined && tools === undefined)
    found.add('parallel_tool_calls', 'is only allowed when tools are given');
  const choice = body['tool_choice'];
  if (choice === undefined) return;
  if (tools === undefined) found.add('tool_choice', 'is only allowed when tools are given');
  if (isJsonObject(choice)) {
    const named = choice['function'];
    if (!isJsonObject(named) || !isText(named['name']) || !names.has(named['name']))
      found.add('tool_choice.function.name', 'must name one of the tools');
  } else if (!isOneOf(choice, 'none', 'auto', 'required')) {
    found.add('tool_choice', 'must be none, auto, required or a function');
  }
}

/**
 * What OpenAI's Chat Completions service, or one of the many servers that speak its wire, would refuse in this request
 * body; an empty list for a valid one. Like the stricter of them it wants call ids unique in the whole conversation,
 * arguments that are JSON objects, and no empty text.
 *
 * @example
 * ```ts
 * import { validateOpenAIChatRequest } from '@treadle/testing';
 *
 * const orphan = { role: 'tool', tool_call_id: 'call_1', content: '4' };
 * console.log(validateOpenAIChatRequest({ model: 'm', messages: [orphan] }).length); // 1
 * ```
 */
export function validateOpenAIChatRequest(body: unknown): string[] {
  const found = problems();
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  if (!isText(body['model']) || body['model'] === '') found.add('model', 'must be a non-empty string');
  for (const key of ['max_tokens', 'max_completion_tokens'])
    if (body[key] !== undefined && body[key] !== null) checkWholeNumber(found, body[key], key);
  if (body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined)
    found.add('max_tokens', 'can not be given together with max_completion_tokens');
  if (body['temperature'] !== undefined) checkRange(found, body['temperature'], 'temperature', 0, 2);
  const stop = body['stop'];
  if (
    Array.isArray(stop) ? stop.length > 4 || !stop.every(isText) : stop !== undefined && stop !== null && !isText(stop)
  )
    found.add('stop', 'must be a string or at most 4 of them');
  if (body['stream_options'] !== undefined && body['stream'] !== true)
    found.add('stream_options', 'is only allowed when stream is true');
  checkTools(found, body);
  checkMessages(found, body['messages']);
  checkUnicode(found, body);
  return found.list;
}
