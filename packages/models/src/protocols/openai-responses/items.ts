import type { JsonObject, JsonSchema } from '@treadle/core';
import type { Fields } from '../shared/events.ts';
import { asObject, asText, without } from '../shared/json-text.ts';
import { openCall, type OpenCall } from './calls.ts';
import { completeParts, createParts, type PartKind, type Parts } from './parts.ts';
import { providerBlock, SEARCH_CALL, searchArguments, waitsForClient } from './provider.ts';
import type { OpenAIResponsesQuirks } from './quirks.ts';
import type { DecoderSink } from '../shared/protocol.ts';

/** Block indexes that each output item has to itself, so that blocks stand in the order of the items. */
const BLOCKS_PER_ITEM = 1000;

/** An output item while it arrives. */
export interface OpenItem {
  /** `''` until an event says it. */
  type: string;
  /** Its `output_index`, when an event has named it. */
  outputIndex: number | undefined;
  readonly parts: Parts;
  /** Takes a piece of one of its readable parts. */
  addText(kind: PartKind, position: number, piece: string): void;
  /** Takes a piece of a call's arguments or input, whether or not the call is known yet. */
  addInput(piece: string): void;
}

interface Item extends OpenItem {
  readonly takeIndex: () => number;
  readonly ids: Set<string>;
  /** Input that came before the item's type did. */
  early: string;
  call: OpenCall | undefined;
  closed: boolean;
}

const indexOf = (event: Fields): number | undefined => {
  const index = event['output_index'];
  return typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? index : undefined;
};

/** Items that are kept as they are although they are known. */
const KEPT_ITEMS: ReadonlySet<string> = new Set(['mcp_list_tools', 'mcp_approval_request', 'compaction']);

/**
 * Follows the items of a response. Events name their item twice, and neither name can be relied on: some servers give
 * every event another `item_id`, others give every item the same `output_index`, and an event may come before the one
 * that introduces its item.
 *
 * @param strict The parameters of a tool that was declared strict.
 * @param executedBy The tool of ours that executes a call of the provider's own kind.
 */
export function createItems(
  sink: DecoderSink,
  quirks: Required<OpenAIResponsesQuirks>,
  strict: (name: string) => JsonSchema | undefined,
  executedBy: (item: JsonObject) => string | undefined,
) {
  const items: Item[] = [];
  const byId = new Map<string, Item>();
  const byIndex = new Map<number, Item>();
  const slots = new Set<number>();
  let calls = 0;
  let refused = false;
  let waits = false;

  const takeSlot = (item: OpenItem): number => {
    const { outputIndex } = item;
    let slot = outputIndex ?? 0;
    if (outputIndex === undefined || slots.has(slot)) slot = Math.max(-1, ...slots) + 1;
    slots.add(slot);
    return slot;
  };

  const register = (item: Item, id: string | undefined, index: number | undefined): void => {
    if (id !== undefined) {
      byId.set(id, item);
      item.ids.add(id);
    }
    if (index === undefined) return;
    item.outputIndex ??= index;
    byIndex.set(index, item);
  };

  const create = (id: string | undefined, index: number | undefined): Item => {
    let next = -1;
    const takeIndex = (): number => {
      if (next === -1) next = takeSlot(item) * BLOCKS_PER_ITEM;
      return next++;
    };
    const item: Item = {
      type: '',
      outputIndex: index,
      parts: createParts(sink, takeIndex),
      takeIndex,
      ids: new Set(),
      early: '',
      call: undefined,
      closed: false,
      addText(kind, position, piece) {
        if (!item.closed) item.parts.add(kind, position, piece);
      },
      addInput(piece) {
        if (item.call === undefined) item.early += piece;
        else if (!item.closed) item.call.add(piece);
      },
    };
    items.push(item);
    register(item, id, index);
    return item;
  };

  const find = (id: string | undefined, index: number | undefined): Item | undefined => {
    const known = id === undefined ? undefined : byId.get(id);
    if (known !== undefined && (index === undefined || (known.outputIndex ?? index) === index)) return known;
    if (index !== undefined) return byIndex.get(index);
    return id === undefined ? items.at(-1) : undefined;
  };

  const isOurs = (type: string): boolean =>
    type === 'function_call' || (type === 'custom_tool_call' && !quirks.providerRunsCustomTools);

  const begin = (item: Item, fields: Fields): void => {
    item.type = asText(fields['type']) ?? 'unknown';
    if (!isOurs(item.type)) return;
    const kind = item.type === 'function_call' ? 'function' : 'custom';
    item.call = openCall(sink, item.takeIndex(), fields, kind, strict);
    if (item.early !== '') item.call.add(item.early);
    item.early = '';
  };

  const endReasoning = (item: Item, fields: Fields): void => {
    completeParts(item.parts, fields['summary']);
    completeParts(item.parts, fields['content']);
    const encrypted = asText(fields['encrypted_content']);
    const rest = without(fields, ['summary', 'content', 'encrypted_content']);
    if (item.parts.count() > 0) return item.parts.end(rest, encrypted);
    // Reasoning of which nothing can be shown matters only if it can be sent back.
    if (encrypted === undefined && !quirks.store) return;
    const opaque = { item: rest };
    const block =
      encrypted === undefined
        ? ({ type: 'thinking', text: '', opaque } as const)
        : ({ type: 'redacted_thinking', data: encrypted, opaque } as const);
    sink.event({ type: 'block_end', index: item.takeIndex(), block });
  };

  const endMessage = (item: Item, fields: Fields): void => {
    completeParts(item.parts, fields['content']);
    refused ||= item.parts.hasRefusal();
    item.parts.end(without(fields, ['content']), undefined);
  };

  const endOwnCall = (item: Item, name: string, fields: JsonObject): void => {
    const isSearch = fields['type'] === SEARCH_CALL;
    const args = isSearch ? searchArguments(fields) : without(fields, ['id', 'type', 'status', 'call_id']);
    const index = item.takeIndex();
    const providerCallId = asText(fields['call_id']) ?? asText(fields['id']) ?? '';
    const argumentsText = JSON.stringify(args);
    sink.event({ type: 'tool_call_start', index, providerCallId, name });
    sink.event({ type: 'tool_arguments_delta', index, text: argumentsText });
    const opaque = { item: without(fields, ['call_id', ...(isSearch ? ['arguments'] : Object.keys(args))]) };
    sink.event({ type: 'block_end', index, block: { type: 'tool_call', providerCallId, name, argumentsText, opaque } });
    calls++;
  };

  const finish = (item: Item, fields: Fields): void => {
    if (item.type === '') begin(item, fields);
    item.closed = true;
    if (item.call !== undefined) {
      if (item.call.end(fields)) calls++;
    } else if (item.type === 'message') endMessage(item, fields);
    else if (item.type === 'reasoning') endReasoning(item, fields);
    else {
      const tool = fields['status'] === 'incomplete' ? undefined : executedBy(fields as JsonObject);
      if (tool !== undefined) return endOwnCall(item, tool, fields as JsonObject);
      waits ||= waitsForClient(fields as JsonObject);
      const block = providerBlock(fields as JsonObject);
      if (block.type === 'provider_block' && !KEPT_ITEMS.has(block.kind)) sink.unknown(block.kind);
      sink.event({ type: 'block_end', index: item.takeIndex(), block });
    }
  };

  /** An item whose end never came. */
  const giveUp = (item: Item, cut: boolean): void => {
    item.closed = true;
    if (item.call !== undefined) {
      if (cut && item.call.endCut()) calls++;
      return;
    }
    refused ||= item.parts.hasRefusal();
    const id = [...item.ids].at(-1);
    const type = item.type === '' ? 'message' : item.type;
    if (item.parts.count() === 0) return;
    const role = type === 'message' ? { role: 'assistant' } : {};
    item.parts.end({ ...(id === undefined ? {} : { id }), type, ...role, status: 'incomplete' }, undefined);
  };

  /** Whether `fields` can be the item that began as `item`. */
  const fits = (item: Item, fields: Fields): boolean => item.type === '' || item.type === fields['type'];

  const close = (fields: Fields, index: number | undefined): void => {
    const id = asText(fields['id']);
    const found = find(id, index);
    // The end of an item that has ended already, once more.
    if (found !== undefined && found.closed && id !== undefined && found.ids.has(id)) return;
    const item = found !== undefined && !found.closed && fits(found, fields) ? found : create(id, index);
    register(item, id, index);
    finish(item, fields);
  };

  return {
    /** The item an event is about, made when it is its first; undefined when it has ended. */
    about: (event: Fields): OpenItem | undefined => {
      const id = asText(event['item_id']);
      const index = indexOf(event);
      const found = find(id, index);
      if (found === undefined) return create(id, index);
      if (!found.closed) return found;
      // Another item with the index of one that has ended, or something late of the one that has.
      return id === undefined || found.ids.has(id) ? undefined : create(id, index);
    },
    /** `response.output_item.added`. */
    open(event: Fields): void {
      const fields = asObject(event['item']);
      if (fields === undefined) return;
      const id = asText(fields['id']);
      const index = indexOf(event);
      const found = find(id, index);
      if (found === undefined || found.type !== '') {
        const again = found !== undefined && id !== undefined && found.ids.has(id) && fits(found, fields);
        if (!again) begin(create(id, index), fields);
        return;
      }
      register(found, id, index);
      begin(found, fields);
    },
    /** `response.output_item.done`. */
    close(event: Fields): void {
      const fields = asObject(event['item']);
      if (fields !== undefined) close(fields, indexOf(event));
    },
    /** The response ended, with `output` as its own account of the items; `cut`: before it was complete. */
    end(output: unknown, cut: boolean): void {
      const final = Array.isArray(output) ? (output as unknown[]).map(asObject) : [];
      if (items.length === 0) {
        for (const [index, fields] of final.entries()) if (fields !== undefined) close(fields, index);
        return;
      }
      const open = items.filter((item) => !item.closed);
      for (const item of open) {
        const at = item.outputIndex;
        const fields =
          final.find((other) => item.ids.has(asText(other?.['id']) ?? '')) ??
          (at === undefined ? undefined : final[at]);
        if (fields === undefined || !fits(item, fields)) giveUp(item, cut);
        // What had not ended when the response was cut off was cut off with it, whatever its status says.
        else finish(item, cut && fields['status'] !== 'completed' ? { ...fields, status: 'incomplete' } : fields);
      }
    },
    /** Calls of our tools that were completed. */
    callCount: (): number => calls,
    hasRefusal: (): boolean => refused,
    /** Something was left for the client to do that isn't a call of its tools. */
    isWaiting: (): boolean => waits,
  };
}

/** The output items of one response. */
export type Items = ReturnType<typeof createItems>;
