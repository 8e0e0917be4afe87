import type {
  AssistantContent,
  AssistantMessage,
  JsonObject,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
} from '@treadle/core';
import type { RedactedThinkingBlock } from '@treadle/core/messages';
import { isJsonObject } from '@treadle/core/json';
import { legalToolName } from '../shared/call-ids.ts';
import { asText, toJson } from '../shared/json-text.ts';
import { interruptedAnswer, isClientCall, replayedItem, SEARCH_CALL } from './provider.ts';

const TOOL_NAME_LENGTH = 64;

/** What the API takes as the id of an item. */
const ITEM_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** How a message goes back. */
export interface Replay {
  /** It was made by the provider the request goes to, so that its items may return as they were. */
  readonly own: boolean;
  /** The provider keeps responses, and knows reasoning by its id alone. */
  readonly store: boolean;
  /** The wire ids of the message's calls, by Treadle's. */
  readonly wireIds: ReadonlyMap<string, string>;
}

/** An item being written. */
interface Written {
  readonly type: 'message' | 'reasoning' | 'other';
  /** The provider's item it continues, as long as blocks of that item follow each other. */
  readonly id: string | undefined;
  readonly fields: Record<string, unknown>;
  /** Reasoning that the provider can read. */
  readable: boolean;
}

/** The item of this wire that a block came in; undefined for a block of another wire. */
export function itemOf(block: { readonly opaque?: JsonObject }): JsonObject | undefined {
  const item = block.opaque?.['item'];
  return isJsonObject(item) && typeof item['type'] === 'string' ? item : undefined;
}

const isType = (item: JsonObject | undefined, type: string): item is JsonObject => item?.['type'] === type;

/** The ids of the output items that a message's blocks came in, each once. */
export function itemIds(message: AssistantMessage): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const block of message.content) {
    const item = 'raw' in block ? block.raw : 'opaque' in block ? itemOf(block) : undefined;
    const id = asText(item?.['id']);
    if (id !== undefined) ids.add(id);
  }
  return ids;
}

/** The type of item that a call goes back as: that which it came in, where its provider knows it. */
export function callType(call: ToolCallBlock, own: boolean): string {
  const type = (own ? asText(itemOf(call)?.['type']) : undefined) ?? 'function_call';
  const isKept = type === 'custom_tool_call' || (isClientCall(type) && call.problem === undefined);
  return isKept ? type : 'function_call';
}

/** Writes the items of one message, one block after another. */
function createReplay({ own, store, wireIds }: Replay, answered: ReadonlySet<string>) {
  const items: Written[] = [];
  const usedIds = new Set<string>();

  const push = (type: Written['type'], id: string | undefined, fields: Record<string, unknown>): Written => {
    const item: Written = { type, id, fields, readable: false };
    items.push(item);
    return item;
  };

  /** The item before, when this block continues it. */
  const continued = (type: Written['type'], id: string | undefined): Written | undefined => {
    const last = items.at(-1);
    return last !== undefined && last.type === type && last.id === id ? last : undefined;
  };

  /** Whether an item may go back under this id: the API refuses some ids, and any that is there already. */
  const takeId = (id: string | undefined): boolean => {
    if (id === undefined) return true;
    if (usedIds.has(id)) return false;
    usedIds.add(id);
    return true;
  };

  /** An item's fields, without an id the API would refuse. */
  const fieldsOf = (item: JsonObject): Record<string, unknown> => {
    const { id, ...rest } = item;
    return typeof id === 'string' && ITEM_ID.test(id) && takeId(id) ? { ...rest, id } : rest;
  };

  const plainText = (value: string): void => {
    if (value === '') return;
    const open = continued('message', undefined);
    if (open === undefined) push('message', undefined, { role: 'assistant', content: value });
    else open.fields['content'] = `${String(open.fields['content'])}${value}`;
  };

  const text = (block: TextBlock): void => {
    const item = own ? itemOf(block) : undefined;
    const id = asText(item?.['id']);
    if (!isType(item, 'message') || id === undefined || !ITEM_ID.test(id)) return plainText(block.text);
    const open = continued('message', id);
    if (open === undefined && !takeId(id)) return plainText(block.text);
    const part =
      block.opaque?.['part'] === 'refusal'
        ? { type: 'refusal', refusal: block.text }
        : { type: 'output_text', text: block.text, annotations: block.citations ?? [] };
    if (open === undefined) push('message', id, { ...item, content: [part] });
    else (open.fields['content'] as unknown[]).push(part);
  };

  const reasoning = (block: ThinkingBlock | RedactedThinkingBlock): void => {
    const item = own ? itemOf(block) : undefined;
    if (!isType(item, 'reasoning')) return;
    const id = asText(item['id']);
    let open = id === undefined ? undefined : continued('reasoning', id);
    if (open === undefined) {
      if (id === undefined || !takeId(id)) return;
      // A status is for output; the API refuses it here.
      const { status: _, ...rest } = item;
      open = push('reasoning', id, { ...rest, summary: [] });
    }
    const encrypted = block.type === 'thinking' ? block.signature : block.data;
    if (encrypted !== undefined) open.fields['encrypted_content'] = encrypted;
    const isContent = block.opaque?.['part'] === 'reasoning_text';
    open.readable ||= encrypted !== undefined || isContent || store;
    if (block.type === 'redacted_thinking' || block.text === '') return;
    if (isContent) ((open.fields['content'] ??= []) as unknown[]).push({ type: 'reasoning_text', text: block.text });
    else (open.fields['summary'] as unknown[]).push({ type: 'summary_text', text: block.text });
  };

  const call = (block: ToolCallBlock): void => {
    const item = own ? itemOf(block) : undefined;
    const call_id = wireIds.get(block.callId) ?? block.callId;
    const name = legalToolName(block.name, TOOL_NAME_LENGTH);
    const type = callType(block, own);
    if (item !== undefined && type === 'custom_tool_call') {
      push('other', undefined, { ...fieldsOf(item), call_id, name, input: asText(block.arguments['input']) ?? '' });
      return;
    }
    if (item !== undefined && type === SEARCH_CALL) {
      push('other', undefined, { ...fieldsOf(item), call_id, arguments: block.arguments });
      return;
    }
    if (item !== undefined && type !== 'function_call') {
      push('other', undefined, { ...fieldsOf(item), call_id, ...block.arguments });
      return;
    }
    const rest = isType(item, 'function_call') ? fieldsOf(item) : { type: 'function_call' };
    // Servers parse the arguments of calls, so broken ones can't go back; the call's result says what was wrong.
    push('other', undefined, { ...rest, call_id, name, arguments: block.problem ? '{}' : toJson(block.arguments) });
  };

  const raw = (item: JsonObject): void => {
    if (!own || typeof item['type'] !== 'string') return;
    const answer = interruptedAnswer(item);
    if (answer === null || !takeId(asText(item['id']))) return;
    push('other', undefined, { ...replayedItem(item) });
    const callId = asText(item['call_id']);
    if (answer !== undefined && !(callId !== undefined && answered.has(callId)))
      push('other', undefined, { ...answer });
  };

  return { items, text, reasoning, call, raw };
}

const write = (block: AssistantContent, replay: ReturnType<typeof createReplay>): void => {
  switch (block.type) {
    case 'text':
      return replay.text(block);
    case 'thinking':
    case 'redacted_thinking':
      return replay.reasoning(block);
    case 'tool_call':
      return replay.call(block);
    case 'provider_tool_call':
    case 'provider_tool_result':
    case 'provider_block':
      return replay.raw(block.raw);
    case 'image':
    case 'file':
    // The wire has no place for what a model drew or wrote to a file; its own pictures are inside provider blocks.
  }
};

/**
 * The items of an assistant message as elements of an array. Reasoning goes back only where the provider can read
 * it, and only with something after it: the API refuses reasoning that led to nothing.
 */
export function responsesAssistantItems(message: AssistantMessage, options: Replay): string {
  const answered = new Set<string>();
  for (const block of message.content) if (block.type === 'provider_tool_result') answered.add(block.callId);
  const replay = createReplay(options, answered);
  for (const block of message.content) write(block, replay);
  const items = replay.items.filter((item) => item.type !== 'reasoning' || item.readable);
  while (items.at(-1)?.type === 'reasoning') items.pop();
  return items.map((item) => toJson(item.fields)).join(',');
}
