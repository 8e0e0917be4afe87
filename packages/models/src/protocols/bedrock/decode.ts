import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import { finishedBlock, kindOfDelta, type BlockKind, type OpenBlock } from './blocks.ts';
import { bedrockError, readBedrockError } from './error.ts';
import { CORRUPT_FRAME, EXCEPTION_FRAME } from './framing.ts';
import { finishEvent, type Fields, type Stop } from '../shared/events.ts';
import { asCount, asObject, asText, parseObject } from '../shared/json-text.ts';
import type { Decoder, DecoderSink } from '../shared/protocol.ts';
import { createBlockText } from '../shared/text-run.ts';

const STOP_REASONS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_use'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
]);

const EVENTS: readonly string[] = [
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
];

/** On this wire, as in Treadle, the input doesn't include what came from the cache or went into it. */
const readUsage = (raw: Fields): Usage => ({
  input: asCount(raw['inputTokens']),
  output: asCount(raw['outputTokens']),
  cacheRead: asCount(raw['cacheReadInputTokens']),
  cacheWrite: asCount(raw['cacheWriteInputTokens']),
  reasoning: null,
});

/** The deltas that show the text of the kinds that have any. */
const DELTAS: ReadonlyMap<BlockKind, 'text_delta' | 'thinking_delta' | 'tool_arguments_delta'> = new Map([
  ['text', 'text_delta'],
  ['thinking', 'thinking_delta'],
  ['tool', 'tool_arguments_delta'],
] as const);

const isTool = (kind: BlockKind): boolean => kind === 'tool' || kind === 'server_call';

/** Reads one response of ConverseStream. */
export function createBedrockDecoder(sink: DecoderSink): Decoder {
  let open = new Map<unknown, OpenBlock>();
  let toolNames = new Map<string, string>();
  let nextIndex = 0;
  let begun = false;
  let over = false;
  /** The last frame was cut: what came may be complete, but its end isn't. */
  let cut = false;
  let usage: Fields | undefined;
  let rawStopReason: string | undefined;
  let stopped = false;
  let counted = false;

  const malformed = (message: string): void => {
    over = true;
    sink.malformed(message);
  };

  const begin = (): void => {
    // The same start twice means nothing; one after content means that the answer begins again.
    if (begun && nextIndex === 0) return;
    begun = true;
    open = new Map();
    toolNames = new Map();
    nextIndex = 0;
    rawStopReason = undefined;
    stopped = false;
    sink.event({ type: 'start' });
  };

  const endBlock = (wireIndex: unknown, block: OpenBlock): void => {
    open.delete(wireIndex);
    block.run.end();
    sink.event({ type: 'block_end', index: block.index, block: finishedBlock(block, toolNames) });
  };

  /** Something else begins where `block` is still open. A call without its end was cut off and stays without one. */
  const leaveBlock = (wireIndex: unknown, block: OpenBlock | undefined): void => {
    if (block === undefined) return;
    if (!isTool(block.kind)) return endBlock(wireIndex, block);
    open.delete(wireIndex);
  };

  const openBlock = (wireIndex: unknown, kind: BlockKind, start: Fields): OpenBlock => {
    leaveBlock(wireIndex, open.get(wireIndex));
    if (!begun) begin();
    const index = nextIndex++;
    const run = createBlockText(sink, DELTAS.get(kind), index);
    const block: OpenBlock = { index, kind, start, run, signature: '', pieces: [], parts: [] };
    open.set(wireIndex, block);
    return block;
  };

  const startBlock = (wireIndex: unknown, start: Fields): void => {
    const tool = asObject(start['toolUse']);
    const result = asObject(start['toolResult']);
    const image = asObject(start['image']);
    if (tool !== undefined) {
      const providerCallId = asText(tool['toolUseId']) ?? '';
      const name = asText(tool['name']) ?? '';
      // The client's own calls may say `tool_use`, or nothing.
      const kind = tool['type'] === 'server_tool_use' ? 'server_call' : 'tool';
      const { index } = openBlock(wireIndex, kind, tool);
      if (kind === 'tool') sink.event({ type: 'tool_call_start', index, providerCallId, name });
      else toolNames.set(providerCallId, name);
    } else if (result !== undefined) openBlock(wireIndex, 'server_result', result);
    else if (image !== undefined) openBlock(wireIndex, 'image', image);
    // A start that says nothing leaves it to the first delta; one we don't know is kept as it is.
    else {
      const [type] = Object.keys(start);
      if (type === undefined) return;
      sink.unknown(type);
      openBlock(wireIndex, 'raw', start);
    }
  };

  const fits = (block: OpenBlock, kind: BlockKind): boolean =>
    block.kind === kind || (kind === 'tool' && block.kind === 'server_call');

  const addReasoning = (block: OpenBlock, reasoning: Fields): void => {
    block.run.add(reasoning['text']);
    block.signature += asText(reasoning['signature']) ?? '';
    const redacted = asText(reasoning['redactedContent']);
    if (redacted !== undefined) block.pieces.push(redacted);
  };

  const addTo = (block: OpenBlock, delta: Fields): void => {
    switch (block.kind) {
      case 'text':
        block.run.add(delta['text']);
        if (delta['citation'] !== undefined) block.parts.push(delta['citation'] as JsonValue);
        return;
      case 'thinking':
      case 'redacted':
        return addReasoning(block, asObject(delta['reasoningContent']) ?? {});
      case 'tool':
      case 'server_call':
        return block.run.add(asObject(delta['toolUse'])?.['input']);
      case 'server_result':
        block.parts.push(...([delta['toolResult']].flat() as JsonValue[]));
        return;
      case 'image': {
        const bytes = asText(asObject(asObject(delta['image'])?.['source'])?.['bytes']);
        if (bytes !== undefined) block.pieces.push(bytes);
        return;
      }
      case 'raw':
        block.parts.push(delta as JsonObject);
    }
  };

  const addDelta = (wireIndex: unknown, delta: Fields): void => {
    const kind = kindOfDelta(delta);
    let block = open.get(wireIndex);
    // A delta newer than this code belongs to a block that is, or says nothing.
    if (kind === 'raw' && block?.kind !== 'raw') {
      const [type] = Object.keys(delta);
      if (type !== undefined) sink.unknown(type);
      return;
    }
    if (block === undefined || !fits(block, kind)) {
      // A call can't be made of arguments alone; leaving it out would turn the answer into another one.
      if (kind === 'tool') return malformed('The stream has arguments of a tool call that never began.');
      block = openBlock(wireIndex, kind, {});
    }
    addTo(block, delta);
  };

  /** Some servers never end a block. A call is whole all the same when the model stopped for it and it can be read. */
  const isWholeCall = (block: OpenBlock): boolean =>
    rawStopReason === 'tool_use' && parseObject(block.run.whole()) !== undefined;

  const finish = (): void => {
    over = true;
    if (!begun) begin();
    for (const [wireIndex, block] of open) {
      if (!isTool(block.kind) || isWholeCall(block)) endBlock(wireIndex, block);
    }
    const stopReason = STOP_REASONS.get(rawStopReason ?? '') ?? 'other';
    sink.event(finishEvent(stopReason, { rawStopReason }, usage, readUsage));
  };

  const addUsage = (value: unknown): void => {
    const fields = asObject(value);
    if (fields !== undefined) usage = { ...usage, ...fields };
  };

  const handle = (name: string, event: Fields): void => {
    switch (name) {
      case 'contentBlockDelta':
        return addDelta(event['contentBlockIndex'], asObject(event['delta']) ?? {});
      case 'contentBlockStart':
        return startBlock(event['contentBlockIndex'], asObject(event['start']) ?? {});
      case 'contentBlockStop': {
        const block = open.get(event['contentBlockIndex']);
        if (block !== undefined) endBlock(event['contentBlockIndex'], block);
        return;
      }
      case 'messageStart':
        return begin();
      case 'messageStop':
        rawStopReason = asText(event['stopReason']);
        stopped = true;
        break;
      case 'metadata':
        addUsage(event['usage']);
        counted = true;
        break;
      default:
        // Newer than this code.
        return sink.unknown(name);
    }
    // The usage comes after the stop, or before it, or never; in the last case the end of the body is the end.
    if (stopped && counted) finish();
  };

  const failWith = (type: string, body: Fields): void => {
    over = true;
    sink.error(bedrockError(type, body));
  };

  /** A line of the form without binary frames: an event under its name, an exception under its, or a plain error. */
  const handleLine = (line: Fields): void => {
    const name = EVENTS.find((event) => asObject(line[event]) !== undefined);
    if (name !== undefined) return handle(name, asObject(line[name]) ?? {});
    const exception = Object.keys(line).find((key) => key.endsWith('Exception'));
    if (exception !== undefined) return failWith(exception, asObject(line[exception]) ?? {});
    if (readWhole(line as JsonObject)) return;
    const error = readBedrockError(line as JsonObject);
    if (error === undefined) return sink.unknown(Object.keys(line)[0] ?? 'line');
    over = true;
    sink.error(error);
  };

  const readContent = (wireIndex: number, content: Fields): void => {
    const reasoning = asObject(content['reasoningContent']);
    const cited = asObject(content['citationsContent']);
    const tool = asObject(content['toolUse']);
    const result = asObject(content['toolResult']);
    if (tool !== undefined) {
      const { input, ...start } = tool;
      startBlock(wireIndex, { toolUse: start });
      addDelta(wireIndex, { toolUse: { input: JSON.stringify(input ?? {}) } });
    } else if (result !== undefined) {
      const { content: parts, ...start } = result;
      startBlock(wireIndex, { toolResult: start });
      addDelta(wireIndex, { toolResult: parts ?? [] });
    } else if (cited !== undefined) {
      for (const part of [cited['content']].flat()) addDelta(wireIndex, asObject(part) ?? {});
      for (const citation of [cited['citations'] ?? []].flat()) addDelta(wireIndex, { citation });
    } else if (reasoning !== undefined) {
      addDelta(wireIndex, { reasoningContent: asObject(reasoning['reasoningText']) ?? reasoning });
    } else addDelta(wireIndex, content);
    handle('contentBlockStop', { contentBlockIndex: wireIndex });
  };

  const readWhole = (body: JsonObject): boolean => {
    const content = asObject(asObject(body['output'])?.['message'])?.['content'];
    if (!Array.isArray(content)) return false;
    begin();
    for (const [index, block] of (content as unknown[]).entries()) readContent(index, asObject(block) ?? {});
    rawStopReason = asText(body['stopReason']);
    addUsage(body['usage']);
    finish();
    return true;
  };

  return {
    frame(name, data, whole) {
      if (over) return;
      if (name === CORRUPT_FRAME) return malformed(data);
      const event = parseObject(data);
      if (name.startsWith(EXCEPTION_FRAME)) {
        // An exception stays one, whatever became of its JSON.
        return failWith(name.slice(EXCEPTION_FRAME.length), event ?? { message: data });
      }
      if (event === undefined) {
        if (whole) malformed('The stream has an event that is not JSON.');
        else cut = true;
        return;
      }
      if (name === '') handleLine(event);
      else handle(name, event);
    },
    end() {
      if (!over && !cut && stopped) finish();
    },
    whole: readWhole,
    usage: () => usage && readUsage(usage),
  };
}
