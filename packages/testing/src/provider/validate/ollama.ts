import type { JsonObject } from '@treadle/core';
import type { Check } from '../checks.ts';
import * as is from '../checks.ts';
import { isText, objectsAt, problemsOf, type Problems } from '../requests.ts';

const ROLES = ['system', 'user', 'assistant', 'tool'];

/** Calls of the assistant message before that wait for their results, in order. */
interface Pairing {
  readonly ids: Set<string>;
  open: { readonly id: unknown; readonly name: unknown }[];
}

// Arguments that are a text break most templates.
const CALL = is.record({ function: is.record({ name: is.NAME_64, arguments: is.OBJECT }), id: is.optional(is.STRING) });

function checkCalls(found: Problems, calls: unknown, path: string, pairing: Pairing): void {
  for (const { item, path: at } of objectsAt(found, calls, path)) {
    CALL(found, item, at);
    is.unique(pairing.ids, 'tool call ids')(found, item['id'], `${at}.id`);
    const { function: called, id } = item;
    pairing.open.push({ id, name: (called as JsonObject | undefined)?.['name'] });
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

const MESSAGE = is.record({
  role: is.oneOf(ROLES),
  content: is.STRING,
  images: is.optional(is.texts((image) => image !== '' && is.BASE64.test(image), 'must be base64 texts')),
});

function checkMessage(found: Problems, message: JsonObject, path: string, pairing: Pairing): void {
  MESSAGE(found, message, path);
  const { role, content, images, tool_calls: calls } = message;
  if (role !== 'tool' && pairing.open.length > 0) {
    found.add(path, `${pairing.open.length} tool calls before it have no tool message`);
    pairing.open = [];
  }
  if (role === 'tool') checkToolMessage(found, message, path, pairing);
  else if (role === 'user' && content === '' && images === undefined) found.add(path, 'must not be empty');
  if (calls === undefined) return;
  if (role === 'assistant') checkCalls(found, calls, `${path}.tool_calls`, pairing);
  else found.add(`${path}.tool_calls`, 'belong to the assistant');
}

const TOOL: Check = (found, tool, path) => {
  const { type, function: declared } = tool as JsonObject;
  if (type !== 'function') found.add(path, 'must be a function');
  else is.record({ name: is.NAME_64, parameters: is.SCHEMA })(found, declared, `${path}.function`);
};

const BODY = is.record({
  model: is.textThat((model) => model !== '', 'is required'),
  tools: is.optional(is.listOf(TOOL)),
  think: is.optional(
    is.anyThat(
      (think) => typeof think === 'boolean' || (isText(think) && ['low', 'medium', 'high'].includes(think)),
      'must be true, false, low, medium or high',
    ),
  ),
  options: is.optional(
    is.record({
      num_predict: is.optional(is.NUMBER),
      temperature: is.optional(is.NUMBER),
      num_ctx: is.optional(is.NUMBER),
      stop: is.optional(is.texts(() => true, 'must be texts')),
    }),
  ),
});

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
  return problemsOf(body, (found, request) => {
    BODY(found, request, '');
    const pairing: Pairing = { ids: new Set(), open: [] };
    for (const { item, path } of objectsAt(found, request['messages'], 'messages'))
      checkMessage(found, item, path, pairing);
    if (pairing.open.length > 0) found.add('messages', `${pairing.open.length} tool calls have no tool message`);
  });
}
