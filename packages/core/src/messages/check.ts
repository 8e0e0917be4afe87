import { isBlobId } from '../ports/blobs.ts';
import { TreadleError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { UNKNOWN_USAGE, type StopReason, type Usage } from '../model/usage.ts';
import type { Message, ToolResultMessage } from './message.ts';

/** What fills in a message's time and id. */
export interface MessageFill {
  readonly at: number;
  id(): string;
}

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

/** Where what a block shows may come from: one of these. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  image: ['data', 'url'],
  file: ['data', 'url', 'fileId'],
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
 *
 * @example
 * ```ts
 * import { checkMessages } from '@treadle/core/messages';
 *
 * let count = 0;
 * const fill = { at: Date.now(), id: () => `msg_${++count}` };
 * console.log(checkMessages([{ role: 'user', content: 'Hello.' }], fill)[0]?.id); // msg_1
 * ```
 */
export function checkMessages(value: unknown, fill: MessageFill): Message[] {
  if (!Array.isArray(value)) throw invalid('messages', 'must be an array');
  const messages = value.map((message: unknown, index) => checkMessage(message, `messages[${index}]`, fill));
  return pairToolCalls(messages, fill);
}

const invalid = (path: string, what: string): TreadleError =>
  new TreadleError('invalid_messages', `${path} ${what}.`, { details: { path } });

function checkMessage(value: unknown, path: string, fill: MessageFill): Message {
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
  if (role === 'assistant') {
    const facts = { stopReason: stopReasonOf(value), usage: usageOf(value), cost: numberOrNull(value['cost']) };
    return { ...ASSISTANT_DEFAULTS, ...(checked as object), ...facts, role } as Message;
  }
  for (const field of ['callId', 'toolName']) {
    if (typeof value[field] !== 'string') throw invalid(`${path}.${field}`, 'must be a string');
  }
  return { isError: false, ...(checked as object), role } as Message;
}

const ASSISTANT_DEFAULTS = { provider: 'unknown', model: 'unknown' };

const STOP_REASONS: readonly StopReason[] = [
  'stop',
  'length',
  'tool_use',
  'pause',
  'refusal',
  'content_filter',
  'error',
  'aborted',
  'other',
];

const stopReasonOf = (value: JsonObject): StopReason =>
  value['stopReason'] === undefined
    ? 'stop'
    : (STOP_REASONS.find((reason) => reason === value['stopReason']) ?? 'other');

const numberOrNull = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

function usageOf(value: JsonObject): Usage {
  const { usage } = value;
  if (!isJsonObject(usage)) return UNKNOWN_USAGE;
  const count = (name: string): number | null => numberOrNull(usage[name]);
  return {
    input: count('input'),
    output: count('output'),
    cacheRead: count('cacheRead'),
    cacheWrite: count('cacheWrite'),
    reasoning: count('reasoning'),
  };
}

/** The blocks of a message of this role; a string is one text. */
export function checkContent(value: unknown, role: string, path: string): readonly JsonObject[] {
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
    const source = SOURCES[type];
    if (source && !source.some((field) => typeof block[field] === 'string') && !isBlobRef(block['blob'])) {
      throw invalid(at, `must have one of ${source.join(', ')}`);
    }
    if (type === 'tool_call' && !isJsonObject(block['arguments']))
      throw invalid(`${at}.arguments`, 'must be an object');
    return block;
  });
}

const isBlobRef = (value: unknown): boolean =>
  isJsonObject(value) && typeof value['id'] === 'string' && isBlobId(value['id']) && typeof value['size'] === 'number';

/**
 * Every call gets exactly one result, right after its message and in call order: the first one that follows before the
 * next reply. A call id that was there before gets a new one, with its result.
 */
function pairToolCalls(messages: readonly Message[], fill: MessageFill): Message[] {
  const seen = new Set<string>();
  return messages.flatMap((message, index): Message[] => {
    if (message.role === 'tool') return [];
    if (message.role !== 'assistant' || !message.content.some(({ type }) => type === 'tool_call')) return [message];
    const results = resultsAfter(messages, index);
    const answers: Message[] = [];
    const content = message.content.map((block) => {
      if (block.type !== 'tool_call') return block;
      const callId = seen.has(block.callId) ? fill.id() : block.callId;
      seen.add(callId);
      const result = results.get(block.callId)?.shift();
      answers.push(result ? { ...result, callId } : interrupted(callId, block.name, fill));
      return callId === block.callId ? block : { ...block, callId };
    });
    return [{ ...message, content }, ...answers];
  });
}

/** The results between a reply and the next one, by call, in their order. */
function resultsAfter(messages: readonly Message[], index: number): Map<string, ToolResultMessage[]> {
  const following = messages.slice(index + 1);
  const next = following.findIndex(({ role }) => role === 'assistant');
  const until = next < 0 ? following : following.slice(0, next);
  return Map.groupBy(
    until.filter((message) => message.role === 'tool'),
    ({ callId }) => callId,
  );
}

function interrupted(callId: string, toolName: string, fill: MessageFill): ToolResultMessage {
  const content = [{ type: 'text' as const, text: 'Interrupted: this call has no recorded result.' }];
  return { role: 'tool', id: fill.id(), at: fill.at, callId, toolName, content, isError: true };
}
