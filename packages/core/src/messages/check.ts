import { TreadleError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { UNKNOWN_USAGE } from '../model/usage.ts';
import type { Message, ToolResultMessage } from './message.ts';

const BLOCK_FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['mediaType'],
  file: ['mediaType'],
  thinking: ['text'],
  redacted_thinking: ['data'],
  tool_call: ['callId', 'name'],
  provider_tool_call: ['callId', 'name'],
  provider_tool_result: ['callId', 'name'],
  provider_block: ['kind'],
};

const BLOCKS_OF: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image', 'file'],
  tool: ['text', 'image', 'file'],
  assistant: Object.keys(BLOCK_FIELDS),
};

/**
 * Checks messages that come from outside (an export, a file, another program) and brings them into shape: `content` may
 * be a string; `id`, `at` and what only providers know are filled in; a tool call without a result gets one that says it
 * was interrupted, and a result without a call is left out. What is returned is safe to send to any model.
 *
 * @throws TreadleError `invalid_messages` that names the place, such as `messages[3].content[0].type`.
 */
export function checkMessages(value: unknown, fill: { readonly at: number; id(): string }): Message[] {
  if (!Array.isArray(value)) throw invalid('messages', 'must be an array');
  const messages = value.map((message: unknown, index) => checkMessage(message, `messages[${index}]`, fill));
  return pairToolCalls(messages, fill);
}

const invalid = (path: string, what: string): TreadleError =>
  new TreadleError('invalid_messages', `${path} ${what}.`, { details: { path } });

function checkMessage(value: unknown, path: string, fill: { readonly at: number; id(): string }): Message {
  if (!isJsonObject(value)) throw invalid(path, 'must be an object');
  const id = typeof value['id'] === 'string' && value['id'] !== '' ? value['id'] : fill.id();
  const at = typeof value['at'] === 'number' ? value['at'] : fill.at;
  const { role } = value;
  if (role === 'extension') {
    if (typeof value['kind'] !== 'string') throw invalid(`${path}.kind`, 'must be a string');
    return { role, id, at, kind: value['kind'], data: value['data'] ?? null };
  }
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') {
    throw invalid(`${path}.role`, 'must be "user", "assistant", "tool" or "extension"');
  }
  const content = checkContent(value['content'], role, `${path}.content`);
  // What was checked above is what the types demand; the rest has defaults.
  const checked = { ...value, id, at, content } as unknown;
  if (role === 'user') return { origin: 'import', ...(checked as object), role } as Message;
  if (role === 'assistant') return { ...ASSISTANT_DEFAULTS, ...(checked as object), role } as Message;
  for (const field of ['callId', 'toolName']) {
    if (typeof value[field] !== 'string') throw invalid(`${path}.${field}`, 'must be a string');
  }
  return { isError: false, ...(checked as object), role } as Message;
}

const ASSISTANT_DEFAULTS = {
  provider: 'unknown',
  model: 'unknown',
  stopReason: 'stop',
  usage: UNKNOWN_USAGE,
  cost: null,
};

function checkContent(value: unknown, role: string, path: string): readonly JsonObject[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }];
  if (!Array.isArray(value)) throw invalid(path, 'must be a string or an array of blocks');
  return value.map((block: unknown, index) => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(block)) throw invalid(at, 'must be an object');
    const { type } = block;
    const allowed = BLOCKS_OF[role] ?? [];
    if (typeof type !== 'string' || !allowed.includes(type)) {
      throw invalid(`${at}.type`, `must be one of ${allowed.join(', ')} in a message of role ${role}`);
    }
    for (const field of BLOCK_FIELDS[type] ?? []) {
      if (typeof block[field] !== 'string') throw invalid(`${at}.${field}`, 'must be a string');
    }
    if (type === 'tool_call' && !isJsonObject(block['arguments']))
      throw invalid(`${at}.arguments`, 'must be an object');
    return block;
  });
}

/** Every call gets exactly one result, right after its message and in call order. */
function pairToolCalls(messages: readonly Message[], fill: { readonly at: number; id(): string }): Message[] {
  const results = new Map<string, ToolResultMessage>();
  for (const message of messages) if (message.role === 'tool') results.set(message.callId, message);
  return messages.flatMap((message): Message[] => {
    if (message.role === 'tool') return [];
    if (message.role !== 'assistant') return [message];
    const answers = message.content.flatMap((block): Message[] =>
      block.type === 'tool_call' ? [results.get(block.callId) ?? interrupted(block.callId, block.name, fill)] : [],
    );
    return [message, ...answers];
  });
}

function interrupted(callId: string, toolName: string, fill: { readonly at: number; id(): string }): ToolResultMessage {
  const content = [{ type: 'text' as const, text: 'Interrupted: this call has no recorded result.' }];
  return { role: 'tool', id: fill.id(), at: fill.at, callId, toolName, content, isError: true };
}
