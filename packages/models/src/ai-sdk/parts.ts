import {
  UNKNOWN_USAGE,
  type ModelBlock,
  type ModelEvent,
  type ModelWarning,
  type StopReason,
  type Usage,
} from '@treadle/core/model';
import { defined, parseJson, type JsonObject, type JsonValue } from '@treadle/core/json';
import { sdkError } from './error.ts';
import { METADATA } from './prompt.ts';
import type { FileData, ProviderData, SdkUsage, StreamPart, UnifiedReason } from './types.ts';

type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { readonly type: Type }>;

const STOP_REASONS: Readonly<Record<UnifiedReason, Exclude<StopReason, 'error' | 'aborted'>>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_use',
  interrupted: 'other',
  error: 'other',
  other: 'other',
};

const usageOf = ({ inputTokens, outputTokens }: SdkUsage): Usage => {
  const { total, noCache, cacheRead = null, cacheWrite = null } = inputTokens ?? {};
  const rest = total === undefined ? null : total - (cacheRead ?? 0) - (cacheWrite ?? 0);
  return {
    ...UNKNOWN_USAGE,
    input: noCache ?? rest,
    output: outputTokens?.total ?? null,
    cacheRead,
    cacheWrite,
    reasoning: outputTokens?.reasoning ?? null,
  };
};

/** A block that is being streamed. */
interface OpenBlock {
  readonly index: number;
  readonly kind: 'text' | 'reasoning' | 'tool';
  readonly name: string;
  text: string;
  /** What its parts have said of it, later words over earlier ones. */
  metadata: ProviderData;
}

/** Metadata comes in pieces: a signature may be on any part of a block. */
const merged = (before: ProviderData, more: ProviderData | undefined): ProviderData => {
  if (more === undefined) return before;
  const all: Record<string, JsonObject> = { ...before };
  for (const [provider, data] of Object.entries(more)) all[provider] = { ...all[provider], ...data };
  return all;
};

const opaqueOf = (metadata: ProviderData | undefined): { readonly opaque?: JsonObject } =>
  metadata === undefined || Object.keys(metadata).length === 0 ? {} : { opaque: { [METADATA]: metadata } };

const optionsOf = (metadata: ProviderData | undefined): JsonObject =>
  metadata === undefined ? {} : { providerOptions: metadata };

/** In pieces: a call can't have as many arguments as a file has bytes. */
const toBase64 = (bytes: Uint8Array): string => {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(text);
};

const jsonOr = (text: string): JsonValue => {
  try {
    return parseJson(text) as JsonValue;
  } catch {
    return text;
  }
};

const fileBlock = ({ mediaType, data, providerMetadata }: PartOf<'file'>): ModelBlock => {
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  const base = { type, mediaType, ...opaqueOf(providerMetadata) } as const;
  const value: FileData | undefined =
    typeof data === 'object' && 'type' in data
      ? data.type === 'url'
        ? data.url
        : data.type === 'data'
          ? data.data
          : ''
      : data;
  if (value instanceof URL) return { ...base, url: value.href };
  return { ...base, data: typeof value === 'string' ? value : toBase64(value) };
};

/** Reads the parts of one reply as events of a model. */
export interface PartReader {
  read(part: StreamPart, now: number): Iterable<ModelEvent>;
  /** The stream is over, without a `finish`. */
  ended(): Iterable<ModelEvent>;
}

function* ended(): Generator<ModelEvent, void> {
  const message = 'The stream ended without saying that the message was finished.';
  yield { type: 'error', error: { kind: 'network', message, retryable: true } };
}

/** Parts that tell of the reply, and are no part of it. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set(['anthropic.message_start']);

export function createPartReader(): PartReader {
  const open = new Map<string, OpenBlock>();
  const warnings: ModelWarning[] = [];
  const unknownTypes: Record<string, number> = {};
  let count = 0;
  let hasStarted = false;
  let hasCalls = false;

  const begin = (id: string, kind: OpenBlock['kind'], metadata: ProviderData | undefined, name = ''): OpenBlock => {
    const block: OpenBlock = { index: count++, kind, name, text: '', metadata: metadata ?? {} };
    open.set(`${kind}:${id}`, block);
    return block;
  };

  function* grow(
    kind: 'text' | 'reasoning',
    part: PartOf<'text-delta' | 'reasoning-delta'>,
  ): Generator<ModelEvent, void> {
    const block = open.get(`${kind}:${part.id}`) ?? begin(part.id, kind, undefined);
    block.metadata = merged(block.metadata, part.providerMetadata);
    if (part.delta === '') return;
    block.text += part.delta;
    yield { type: kind === 'text' ? 'text_delta' : 'thinking_delta', index: block.index, text: part.delta };
  }

  function* end(
    kind: 'text' | 'reasoning',
    id: string,
    metadata: ProviderData | undefined,
  ): Generator<ModelEvent, void> {
    const block = open.get(`${kind}:${id}`);
    if (block === undefined) return;
    open.delete(`${kind}:${id}`);
    const opaque = opaqueOf(merged(block.metadata, metadata));
    const type = kind === 'text' ? 'text' : 'thinking';
    yield { type: 'block_end', index: block.index, block: { type, text: block.text, ...opaque } };
  }

  function* call(part: PartOf<'tool-call'>): Generator<ModelEvent, void> {
    const { toolCallId: id, toolName: name, input, providerMetadata } = part;
    if (part.providerExecuted === true) {
      const raw = { type: 'tool-call', toolCallId: id, toolName: name, input: jsonOr(input), providerExecuted: true };
      const block = { type: 'provider_tool_call', callId: id, name, arguments: raw.input } as const;
      yield { type: 'block_end', index: count++, block: { ...block, raw: { ...raw, ...optionsOf(providerMetadata) } } };
      return;
    }
    hasCalls = true;
    let block = open.get(`tool:${id}`);
    if (block === undefined) {
      block = begin(id, 'tool', undefined, name);
      yield { type: 'tool_call_start', index: block.index, providerCallId: id, name };
    }
    open.delete(`tool:${id}`);
    if (block.text === '' && input !== '') {
      block.text = input;
      yield { type: 'tool_arguments_delta', index: block.index, text: input };
    }
    const opaque = opaqueOf(merged(block.metadata, providerMetadata));
    const whole = {
      type: 'tool_call',
      providerCallId: id,
      name: block.name,
      argumentsText: block.text,
      ...opaque,
    } as const;
    yield { type: 'block_end', index: block.index, block: whole };
  }

  function* finish({ usage, finishReason }: PartOf<'finish'>): Generator<ModelEvent, void> {
    const { unified, raw } = finishReason;
    if (unified === 'error') {
      const message = `The provider ended its reply with an error${raw === undefined ? '' : ` (${raw})`}.`;
      yield { type: 'error', error: { kind: 'api', message, retryable: true }, usage: usageOf(usage) };
      return;
    }
    // No provider says nothing at the end of a reply: its stream broke off, and the package made a finish of that.
    if (unified === 'interrupted' || (unified === 'other' && raw === undefined)) return yield* ended();
    // Some providers say `stop` for a reply that calls tools.
    const stopReason = hasCalls && unified === 'stop' ? 'tool_use' : STOP_REASONS[unified];
    yield {
      type: 'finish',
      stopReason,
      usage: usageOf(usage),
      ...defined({ rawStopReason: raw, rawUsage: usage.raw }),
      ...(warnings.length > 0 && { warnings }),
      ...(Object.keys(unknownTypes).length > 0 && { unknownTypes }),
    };
  }

  function* read(part: StreamPart, now: number): Generator<ModelEvent, void> {
    if (part.type === 'response-metadata' && !hasStarted) {
      hasStarted = true;
      yield { type: 'start', ...defined({ model: part.modelId, responseId: part.id }) };
      return;
    }
    switch (part.type) {
      case 'text-start':
        begin(part.id, 'text', part.providerMetadata);
        break;
      case 'reasoning-start':
        begin(part.id, 'reasoning', part.providerMetadata);
        break;
      case 'text-delta':
        return yield* grow('text', part);
      case 'reasoning-delta':
        return yield* grow('reasoning', part);
      case 'text-end':
        return yield* end('text', part.id, part.providerMetadata);
      case 'reasoning-end':
        return yield* end('reasoning', part.id, part.providerMetadata);
      case 'tool-input-start': {
        if (part.providerExecuted === true) break;
        const { index } = begin(part.id, 'tool', part.providerMetadata, part.toolName);
        yield { type: 'tool_call_start', index, providerCallId: part.id, name: part.toolName };
        break;
      }
      case 'tool-input-delta': {
        const block = open.get(`tool:${part.id}`);
        if (block === undefined || part.delta === '') break;
        block.text += part.delta;
        yield { type: 'tool_arguments_delta', index: block.index, text: part.delta };
        break;
      }
      case 'tool-call':
        return yield* call(part);
      case 'tool-result': {
        if (part.preliminary === true) break;
        const { toolCallId: callId, toolName: name, result, isError = false, providerMetadata } = part;
        const output = { type: isError ? 'error-json' : 'json', value: result };
        const raw = { type: 'tool-result', toolCallId: callId, toolName: name, output, ...optionsOf(providerMetadata) };
        yield {
          type: 'block_end',
          index: count++,
          block: { type: 'provider_tool_result', callId, name, isError, raw },
        };
        break;
      }
      case 'file':
        yield { type: 'block_end', index: count++, block: fileBlock(part) };
        break;
      case 'custom': {
        const { providerMetadata, ...rest } = part;
        if (BOOKKEEPING.has(part.kind)) break;
        const raw = { ...rest, ...optionsOf(providerMetadata) };
        yield { type: 'block_end', index: count++, block: { type: 'provider_block', kind: 'custom', raw } };
        break;
      }
      case 'stream-start':
        for (const warning of part.warnings) warnings.push({ code: 'unsupported', message: textOf(warning) });
        break;
      case 'error':
        yield { type: 'error', error: sdkError(part.error, now) };
        break;
      case 'finish':
        return yield* finish(part);
      case 'ping':
      case 'raw':
      case 'tool-input-end':
      case 'response-metadata':
        break;
      default: {
        // Sources, and what a newer provider may send.
        const { type } = part;
        unknownTypes[type] = (unknownTypes[type] ?? 0) + 1;
      }
    }
  }

  return { read, ended };
}

/** What a warning of the AI SDK says, in words. */
const textOf = (warning: Readonly<Record<string, unknown>>): string =>
  ['message', 'feature', 'setting', 'details', 'type']
    .flatMap((name) => (typeof warning[name] === 'string' ? [warning[name]] : []))
    .slice(0, 2)
    .join(': ');
