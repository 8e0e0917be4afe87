import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Check } from '../checks.ts';
import * as is from '../checks.ts';
import { isText, objectsAt, problemsOf, type Problems } from '../requests.ts';

const IMAGE_URL = is.textThat(
  (url) => /^(https?:|data:image\/)/.test(url),
  'must be a web address or a data: URL of an image',
);
const TEXT = { text: is.record({ text: is.SPOKEN }) };
const IMAGE = is.record({ image_url: is.record({ url: IMAGE_URL }) });

/** The parts that messages of each role may have. */
const PARTS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  system: TEXT,
  developer: TEXT,
  user: { ...TEXT, image_url: IMAGE, input_audio: is.ANYTHING, file: is.ANYTHING },
  assistant: { ...TEXT, refusal: is.ANYTHING },
  tool: TEXT,
};

function checkContent(found: Problems, content: unknown, path: string, role: string): void {
  // A tool may have nothing to say; everyone else says something or is left out.
  if (content === '' && role !== 'tool') found.add(path, 'must not be empty');
  if (isText(content)) return;
  const part = is.byType(PARTS[role] ?? {}, (type) => `${type} is no part of a ${role} message`);
  is.listOf(part, '[] is too short')(found, content, path);
}

const CALL = is.record({
  type: is.anyThat((type) => type === 'function', 'must be "function"'),
  id: is.FILLED,
  function: is.record({ name: is.NAME_64, arguments: is.OBJECT_TEXT }),
});

/** Ids of calls that wait for their results, and of those that have one. */
class Pairing {
  readonly ids = new Set<string>();
  open = new Set<string>();
  answered = new Set<string>();

  close(found: Problems, path: string): void {
    for (const id of this.open) {
      if (this.answered.has(id)) continue;
      found.add(path, `the tool call ${id} must be followed by a tool message that answers it`);
    }
    this.open = new Set();
    this.answered = new Set();
  }

  answer(found: Problems, id: unknown, path: string): void {
    if (!isText(id)) return found.add(`${path}.tool_call_id`, 'must be a string');
    if (!this.open.has(id)) found.add(path, `a tool message must answer a tool call right before it; ${id} is none`);
    else if (this.answered.has(id)) found.add(path, `the tool call ${id} is answered twice`);
    this.answered.add(id);
  }
}

function checkCalls(found: Problems, calls: unknown, path: string, { ids, open }: Pairing): void {
  if (Array.isArray(calls) && calls.length === 0) found.add(path, '[] is too short');
  for (const { item, path: at } of objectsAt(found, calls, path)) {
    CALL(found, item, at);
    const { id } = item;
    if (!isText(id) || id === '') continue;
    is.unique(ids, 'tool call ids')(found, id, `${at}.id`);
    open.add(id);
  }
}

function checkMessage(found: Problems, message: JsonObject, path: string, pairing: Pairing): void {
  const { role, content, tool_calls: calls, refusal } = message;
  if (!isText(role) || !Object.hasOwn(PARTS, role))
    return found.add(`${path}.role`, 'must be system, developer, user, assistant or tool');
  if (role === 'tool') {
    pairing.answer(found, message['tool_call_id'], path);
    return checkContent(found, content, `${path}.content`, role);
  }
  pairing.close(found, path);
  if (role === 'assistant' && calls !== undefined) checkCalls(found, calls, `${path}.tool_calls`, pairing);
  if (content !== undefined && content !== null) checkContent(found, content, `${path}.content`, role);
  else if (role !== 'assistant') found.add(`${path}.content`, 'is required');
  else if (calls === undefined && !isText(refusal))
    found.add(`${path}.content`, 'is required unless there are tool_calls');
}

function checkTools(found: Problems, body: JsonObject): void {
  const names = new Set<string>();
  const { tools, tool_choice: choice } = body;
  const declaration = is.record({ name: is.NAME_64, parameters: is.optional(is.SCHEMA) });
  const tool: Check = (problems, value, path) => {
    const { type, function: declared } = value as JsonObject;
    if (type === 'function' && isJsonObject(declared)) {
      declaration(problems, declared, `${path}.function`);
      is.unique(names, 'tool names')(problems, declared['name'], `${path}.function.name`);
    } else if (type !== 'custom') problems.add(path, 'must be {"type":"function","function":{…}}');
  };
  is.optional(is.listOf(tool, '[] is too short'))(found, tools, 'tools');
  for (const key of ['parallel_tool_calls', 'tool_choice'])
    if (body[key] !== undefined && tools === undefined) found.add(key, 'is only allowed when tools are given');
  const declared = is.textThat((name) => names.has(name), 'must name one of the tools');
  if (isJsonObject(choice)) is.record({ function: is.record({ name: declared }) })(found, choice, 'tool_choice');
  else
    is.optional(is.oneOf(['none', 'auto', 'required'], 'must be none, auto, required or a function'))(
      found,
      choice,
      'tool_choice',
    );
}

const orNull =
  (check: Check): Check =>
  (found, value, path) => {
    if (value !== undefined && value !== null) check(found, value, path);
  };

const BODY = is.record({
  model: is.FILLED,
  max_tokens: orNull(is.WHOLE_NUMBER),
  max_completion_tokens: orNull(is.WHOLE_NUMBER),
  temperature: is.optional(is.between(0, 2)),
  stop: orNull(
    is.anyThat(
      (stop) => isText(stop) || (Array.isArray(stop) && stop.length <= 4 && stop.every(isText)),
      'must be a string or at most 4 of them',
    ),
  ),
});

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
  return problemsOf(body, (found, request) => {
    BODY(found, request, '');
    if (request['max_tokens'] !== undefined && request['max_completion_tokens'] !== undefined)
      found.add('max_tokens', 'can not be given together with max_completion_tokens');
    if (request['stream_options'] !== undefined && request['stream'] !== true)
      found.add('stream_options', 'is only allowed when stream is true');
    checkTools(found, request);
    const messages = objectsAt(found, request['messages'], 'messages');
    if (messages.length === 0) found.add('messages', '[] is too short');
    const pairing = new Pairing();
    for (const { item, path } of messages) checkMessage(found, item, path, pairing);
    pairing.close(found, 'messages');
  });
}
