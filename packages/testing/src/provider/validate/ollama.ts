import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Problems } from '../checks.ts';
import { checkName, checkSchema, checkUnicode, checkUnique, isOneOf, isText, objectsAt, problems } from '../checks.ts';

const ROLES = ['system', 'user', 'assistant', 'tool'];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Calls of the assistant message before that wait for their results, in order. */
interface Pairing {
  readonly ids: Set<string>;
  open: { readonly id: unknown; readonly name: unknown }[];
}

function checkCalls(found: Problems, calls: unknown, path: string, pairing: Pairing): void {
  for (const { item, path: at } of objectsAt(found, calls, path)) {
    const called = item['function'];
    if (!isJsonObject(called)) {
      found.add(`${at}.function`, 'must be an object');
      continue;
    }
    checkName(found, called['name'], `${at}.function.name`, 64);
    // A text here is what breaks most templates.
    if (!isJsonObject(called['arguments'])) found.add(`${at}.function.arguments`, 'must be an object');
    if (item['id'] !== undefined && !isText(item['id'])) found.add(`${at}.id`, 'must be a string');
    checkUnique(found, pairing.ids, item['id'], `${at}.id`, 'tool call ids');
    pairing.open.push({ id: item['id'], name: called['name'] });
  }
}

function checkToolMessage(found: Problems, message: JsonObject, path: string, pairing: Pairing): void {
  const { tool_name: name, tool_call_id: id } = message;
  const at = pairing.open.findIndex((call) => (id === undefined ? call.name === name : call.id === id));
  const call = pairing.open[at];
  if (!call) return found.add(path, 'a tool message answers a call of the assistant message before it');
  if (name !== undefined && call.name !== name) found.add(`${path}.tool_name`, 'must be the name of the tool called');
  pairing.open.splice(at, 1);
}

function checkMessage(found: Problems, message: JsonObject, path: string, pairing: Pairing): void {
  const { role, content, images, tool_calls: calls } = message;
  if (!isOneOf(role, ...ROLES)) return found.add(`${path}.role`, `must be one of ${ROLES.join(', ')}`);
  if (!isText(content)) found.add(`${path}.content`, 'must be a string');
  if (role !== 'tool' && pairing.open.length > 0) {
    found.add(path, `${pairing.open.length} tool calls before it have no tool message`);
    pairing.open = [];
  }
  if (images !== undefined) {
    const whole = Array.isArray(images) && images.every((image) => isText(image) && image !== '' && BASE64.test(image));
    if (!whole) found.add(`${path}.images`, 'must be base64 texts');
  }
  if (role === 'tool') checkToolMessage(found, message, path, pairing);
  else if (role === 'user' && content === '' && images === undefined) found.add(path, 'must not be empty');
  if (calls === undefined) return;
  if (role === 'assistant') checkCalls(found, calls, `${path}.tool_calls`, pairing);
  else found.add(`${path}.tool_calls`, 'belong to the assistant');
}

function checkOptions(found: Problems, options: unknown): void {
  if (options === undefined) return;
  if (!isJsonObject(options)) return found.add('options', 'must be an object');
  for (const key of ['num_predict', 'temperature', 'num_ctx'])
    if (options[key] !== undefined && typeof options[key] !== 'number') found.add(`options.${key}`, 'must be a number');
  const { stop } = options;
  if (stop !== undefined && !(Array.isArray(stop) && stop.every(isText))) found.add('options.stop', 'must be texts');
}

/**
 * What Ollama's chat API would refuse in this request body, or what the templates of its models would make nonsense of;
 * an empty list for a valid one.
 *
 * @example
 * ```ts
 * import { validateOllamaRequest } from '@treadle/testing';
 *
 * const orphan = { role: 'tool', tool_name: 'add', content: '4' };
 * console.log(validateOllamaRequest({ model: 'm', messages: [orphan] }).length); // 1
 * ```
 */
export function validateOllamaRequest(body: unknown): string[] {
  const found = problems();
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  if (!isText(body['model']) || body['model'] === '') found.add('model', 'is required');
  const pairing: Pairing = { ids: new Set(), open: [] };
  for (const { item, path } of objectsAt(found, body['messages'], 'messages')) checkMessage(found, item, path, pairing);
  if (pairing.open.length > 0) found.add('messages', `${pairing.open.length} tool calls have no tool message`);
  if (body['tools'] !== undefined) {
    for (const { item, path } of objectsAt(found, body['tools'], 'tools')) {
      const declared = item['function'];
      if (item['type'] !== 'function' || !isJsonObject(declared)) found.add(path, 'must be a function');
      else {
        checkName(found, declared['name'], `${path}.function.name`, 64);
        checkSchema(found, declared['parameters'], `${path}.function.parameters`);
      }
    }
  }
  const { think } = body;
  if (think !== undefined && typeof think !== 'boolean' && !isOneOf(think, 'low', 'medium', 'high'))
    found.add('think', 'must be true, false, low, medium or high');
  checkOptions(found, body['options']);
  checkUnicode(found, body);
  return found.list;
}
