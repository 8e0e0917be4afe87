// Puts a recorded stream together as the JSON reply that the provider would have given without streaming.
import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Protocol } from '@treadle/models';

type Draft = Record<string, JsonValue | undefined>;

const list = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
const object = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The events of a body, each with its name. */
function eventsIn(
  protocol: Protocol,
  bytes: Uint8Array,
): readonly { readonly name: string; readonly data: JsonObject }[] {
  const events: { name: string; data: JsonObject }[] = [];
  const scanner = protocol.framing(
    (name, data) => {
      try {
        events.push({ name, data: object(JSON.parse(data)) });
      } catch {
        // `[DONE]`, or a frame that was cut.
      }
    },
    () => undefined,
  );
  scanner.push(bytes);
  scanner.end();
  return events;
}

type Events = ReturnType<typeof eventsIn>;

function anthropic(events: Events): JsonObject {
  const message: Draft = {};
  const content: Draft[] = [];
  const inputs: string[] = [];
  for (const { data } of events) {
    const index = Number(data['index'] ?? 0);
    const delta = object(data['delta']);
    if (data['type'] === 'message_start') {
      // A second start voids what came before it.
      content.length = inputs.length = 0;
      Object.assign(message, object(data['message']));
      continue;
    }
    const block = (content[index] ??= {});
    if (data['type'] === 'content_block_start') content[index] = { ...object(data['content_block']) };
    else if (data['type'] === 'message_delta') {
      const { usage: _usage, ...rest } = delta;
      Object.assign(message, rest, { usage: { ...object(message['usage']), ...object(data['usage']) } });
    } else if (data['type'] === 'content_block_delta') {
      if (delta['type'] === 'text_delta') block['text'] = text(block['text']) + text(delta['text']);
      else if (delta['type'] === 'thinking_delta')
        block['thinking'] = text(block['thinking']) + text(delta['thinking']);
      else if (delta['type'] === 'signature_delta')
        block['signature'] = text(block['signature']) + text(delta['signature']);
      else if (delta['type'] === 'input_json_delta')
        inputs[index] = (inputs[index] ?? '') + text(delta['partial_json']);
      else if (delta['type'] === 'citations_delta')
        block['citations'] = [...list(block['citations']), object(delta['citation'])];
      else {
        const { type: _type, ...rest } = delta;
        Object.assign(block, rest);
      }
    }
  }
  for (const [index, input] of inputs.entries())
    if (input !== undefined && input !== '')
      Object.assign(content[index] ?? {}, { input: JSON.parse(input) as JsonValue });
  return { type: 'message', ...message, content: content.filter((block) => block['type'] !== undefined) };
}

/** Content as a list of parts, whichever form it came in. */
const partsOf = (value: unknown): readonly JsonObject[] =>
  typeof value === 'string' ? (value === '' ? [] : [{ type: 'text', text: value }]) : list(value);

function chat(events: Events): JsonObject {
  const reply: Draft = {};
  const message: Draft = { role: 'assistant' };
  const calls: Draft[] = [];
  let finish: JsonValue = null;
  for (const { data } of events) {
    const { choices, usage, ...rest } = data;
    for (const [key, value] of Object.entries(rest)) if (value !== null) reply[key] = value;
    if (isJsonObject(usage)) reply['usage'] = { ...object(reply['usage']), ...usage };
    const choice = list(choices).find(({ index }) => (index ?? 0) === 0);
    if (choice === undefined) continue;
    finish = choice['finish_reason'] ?? finish;
    for (const [key, value] of Object.entries(object(choice['delta']))) {
      if (key === 'tool_calls') {
        for (const part of list(value)) {
          const index = Number(part['index'] ?? calls.length);
          const call = (calls[index] ??= { type: 'function', function: {} });
          const fn = object(part['function']);
          const before = object(call['function']);
          const { function: _function, index: _index, ...others } = part;
          Object.assign(call, others, {
            id: call['id'] ?? part['id'],
            function: {
              name: text(before['name']) || text(fn['name']),
              arguments: text(before['arguments']) + text(fn['arguments']),
            },
          });
        }
      } else if (key === 'content' && (Array.isArray(value) || Array.isArray(message['content'])))
        message['content'] = [...partsOf(message['content']), ...partsOf(value)];
      else if (typeof value === 'string' && key !== 'role') message[key] = text(message[key]) + value;
      else if (Array.isArray(value))
        message[key] = [...((message[key] ?? []) as JsonValue[]), ...(value as JsonValue[])];
      else if (value !== null && value !== undefined) message[key] = value;
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls as unknown as JsonValue;
  return { ...reply, choices: [{ index: 0, message: message, finish_reason: finish }] };
}

/** The response at its end, with the texts that were streamed: some recordings are shortened in the middle. */
function responses(events: Events): JsonObject {
  const end = events.findLast(({ data }) => /^response\.(?:completed|incomplete|failed)$/.test(text(data['type'])));
  const texts = new Map<string, string>();
  for (const { data } of events) {
    if (data['type'] !== 'response.output_text.delta') continue;
    const place = `${text(data['item_id'])} ${Number(data['content_index'])}`;
    texts.set(place, (texts.get(place) ?? '') + text(data['delta']));
  }
  const response = object(end?.data['response']);
  const output = list(response['output']).map((item) =>
    item['type'] === 'message'
      ? {
          ...item,
          content: list(item['content']).map((part, index) => {
            const streamed = texts.get(`${text(item['id'])} ${index}`);
            return streamed === undefined ? part : { ...part, text: streamed };
          }),
        }
      : item,
  );
  return { ...response, output };
}

function gemini(events: Events): JsonObject {
  const reply: Draft = {};
  const candidate: Draft = {};
  const parts: JsonObject[] = [];
  for (const { data } of events) {
    const { candidates, usageMetadata, ...rest } = data;
    Object.assign(reply, rest);
    reply['usageMetadata'] = { ...object(reply['usageMetadata']), ...object(usageMetadata) };
    const [first] = list(candidates);
    if (first === undefined) continue;
    const { content, ...others } = first;
    Object.assign(candidate, others);
    parts.push(...list(object(content)['parts']));
  }
  return { ...reply, candidates: [{ ...candidate, content: { role: 'model', parts } }] };
}

function bedrock(events: Events): JsonObject {
  const content: Draft[] = [];
  const inputs: string[] = [];
  const reply: Draft = {};
  for (const { name, data } of events) {
    const index = Number(data['contentBlockIndex'] ?? 0);
    if (name === 'contentBlockStart') content[index] = { ...object(data['start']) };
    if (name === 'messageStop') reply['stopReason'] = data['stopReason'];
    if (name === 'metadata') reply['usage'] = data['usage'];
    if (name !== 'contentBlockDelta') continue;
    const block = (content[index] ??= {});
    const delta = object(data['delta']);
    const reasoning = object(delta['reasoningContent']);
    const tool = object(delta['toolUse']);
    if (typeof delta['text'] === 'string') block['text'] = text(block['text']) + delta['text'];
    if (tool['input'] !== undefined) inputs[index] = (inputs[index] ?? '') + text(tool['input']);
    if (delta['reasoningContent'] === undefined) continue;
    const before = object(object(block['reasoningContent'])['reasoningText']);
    const merged: Draft = { ...before };
    for (const [key, value] of Object.entries(reasoning)) merged[key] = text(merged[key]) + text(value);
    block['reasoningContent'] = { reasoningText: merged };
  }
  for (const [index, block] of content.entries())
    if (block['toolUse'] !== undefined)
      block['toolUse'] = { ...object(block['toolUse']), input: JSON.parse(inputs[index] || '{}') as JsonValue };
  return { ...reply, output: { message: { role: 'assistant', content: content as JsonObject[] } } };
}

const ASSEMBLERS: Readonly<Record<string, (events: Events) => JsonObject>> = {
  'anthropic-messages': anthropic,
  'openai-chat': chat,
  'mistral-chat': chat,
  'openai-responses': responses,
  gemini,
  'bedrock-converse': bedrock,
};

/** The whole reply that a stream amounts to; undefined for a wire that has none. */
export const wholeReply = (wire: string, protocol: Protocol, bytes: Uint8Array): JsonObject | undefined =>
  ASSEMBLERS[wire]?.(eventsIn(protocol, bytes));
