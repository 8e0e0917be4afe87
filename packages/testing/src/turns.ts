import type {
  JsonObject,
  ModelError,
  ModelErrorKind,
  StopReason,
  ThinkingBlock,
  TextBlock,
  Usage,
} from '@treadle/core';
import type {
  RedactedThinkingBlock,
  ProviderBlock,
  ProviderToolCallBlock,
  ProviderToolResultBlock,
} from '@treadle/core/messages';
import { type ModelBlock, type ModelEvent, UNKNOWN_USAGE } from '@treadle/core/model';

/** A tool call of a scripted turn. */
export interface ScriptedToolCall {
  readonly type?: 'tool_call';
  readonly name: string;
  /** The arguments as a value. Default `{}`. */
  readonly arguments?: JsonObject;
  /** The arguments exactly as the model writes them, valid JSON or not, instead of `arguments`. */
  readonly argumentsText?: string;
  /** The id the provider gives the call. Default: unique in the script, such as `call_2_1`. */
  readonly providerCallId?: string;
  /** Fields that must come back unchanged with the call, such as a thought signature. Scripted models only. */
  readonly opaque?: JsonObject;
  /** The call is never finished: it has no `block_end`, as when its stream was cut. */
  readonly cutOff?: boolean;
}

type Cuttable<Block> = Block & {
  /** The block is never finished: it has no `block_end`. */
  readonly cutOff?: boolean;
};

/** A block of a scripted turn, in the order of the message. */
export type ScriptedBlock =
  | Cuttable<TextBlock>
  | Cuttable<ThinkingBlock>
  | RedactedThinkingBlock
  | ProviderToolCallBlock
  | ProviderToolResultBlock
  | ProviderBlock
  | (ScriptedToolCall & { readonly type: 'tool_call' });

/** A failure of a scripted turn. */
export interface ScriptedError {
  /** Default: what `status` means, else `api`. */
  readonly kind?: ModelErrorKind;
  readonly message?: string;
  /** Default: true for `rate_limited`, `network` and a status of 500 or more. */
  readonly retryable?: boolean;
  readonly status?: number;
  readonly code?: string;
  readonly retryAfterMs?: number;
  /**
   * Deltas the model streams before it fails: 0 (the default) fails before any output, `Infinity` after all of it. On
   * the wire, 0 is an HTTP error response and everything else an error event in the stream.
   */
  readonly afterDeltas?: number;
}

/**
 * One reply of a scripted model or a fake provider, as data. `thinking`, `text` and `toolCalls` come in this order;
 * `content` says the order itself and stands instead of the three.
 *
 * @example
 * ```ts
 * import type { Turn } from '@treadle/testing';
 *
 * const turn: Turn = { text: 'Let me look.', toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] };
 * ```
 */
export interface Turn {
  readonly thinking?: string;
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  readonly content?: readonly ScriptedBlock[];
  /** Default: `tool_use` when the turn calls a tool, else `stop`. */
  readonly stopReason?: Exclude<StopReason, 'error' | 'aborted'>;
  /** The provider's own word. Default: the usual one for `stopReason`. */
  readonly rawStopReason?: string;
  /** Fields not given are those of `DEFAULT_TURN_USAGE`; `null` reports no usage at all. */
  readonly usage?: Partial<Usage> | null;
  readonly containerId?: string;
  readonly error?: ScriptedError;
  /** Ends the stream cleanly after all content, without its terminal event: a truncated reply. */
  readonly unfinished?: boolean;
  /** Milliseconds before the first event (on the wire: before the response's headers), on the injected clock. */
  readonly delayMs?: number;
  /** Milliseconds after every delta. */
  readonly chunkDelayMs?: number;
  /** Nothing happens (on the wire: no headers) until this settles. */
  readonly wait?: PromiseLike<unknown>;
  /** Silence after so many deltas until `until` settles; at 0 the stream has begun and says nothing yet. */
  readonly waitAfter?: { readonly deltas: number; readonly until: PromiseLike<unknown> };
  /** UTF-16 code units per delta; a surrogate pair is never split. Default: the script's option. */
  readonly chunkSize?: number;
}

/** What a turn reports unless it says otherwise: fixed figures that a test can add up. */
export const DEFAULT_TURN_USAGE: Usage = Object.freeze({
  input: 10,
  output: 5,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
});

/** Code units per delta unless a turn or a script says otherwise. */
export const DEFAULT_CHUNK_SIZE = 16;

/** The blocks of a turn in order. */
export function blocksOf(turn: Turn): readonly ScriptedBlock[] {
  if (turn.content) return turn.content;
  const blocks: ScriptedBlock[] = [];
  if (turn.thinking !== undefined) blocks.push({ type: 'thinking', text: turn.thinking });
  if (turn.text !== undefined) blocks.push({ type: 'text', text: turn.text });
  for (const call of turn.toolCalls ?? []) blocks.push({ ...call, type: 'tool_call' });
  return blocks;
}

/** The usage a turn reports, or null for none. */
export function usageOf(turn: Turn): Usage | null {
  return turn.usage === null ? null : { ...DEFAULT_TURN_USAGE, ...turn.usage };
}

/** The reason a turn stops for. */
export function stopReasonOf(turn: Turn): Exclude<StopReason, 'error' | 'aborted'> {
  if (turn.stopReason) return turn.stopReason;
  return blocksOf(turn).some((block) => block.type === 'tool_call') ? 'tool_use' : 'stop';
}

function kindOfStatus(status: number | undefined): ModelErrorKind {
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403) return 'auth';
  return 'api';
}

/** A turn's failure as the model port reports it. */
function modelErrorOf(error: ScriptedError): ModelError {
  const kind = error.kind ?? kindOfStatus(error.status);
  const passing = kind === 'rate_limited' || kind === 'network' || (error.status ?? 0) >= 500;
  return {
    kind,
    message: error.message ?? 'The script says that this call fails.',
    retryable: error.retryable ?? passing,
    ...(error.status !== undefined && { status: error.status }),
    ...(error.code !== undefined && { code: error.code }),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  };
}

/** Where the delta that starts at `start` ends. */
function deltaEnd(text: string, start: number, size: number): number {
  const end = start + Math.max(1, size);
  if (end >= text.length) return text.length;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

function finished(block: ScriptedBlock, providerCallId: string): ModelBlock {
  if (block.type === 'tool_call') {
    return {
      type: 'tool_call',
      providerCallId,
      name: block.name,
      argumentsText: argumentsTextOf(block),
      ...(block.opaque && { opaque: block.opaque }),
    };
  }
  if ('cutOff' in block) {
    const { cutOff: _, ...rest } = block;
    return rest;
  }
  return block;
}

const argumentsTextOf = (call: ScriptedToolCall): string => call.argumentsText ?? JSON.stringify(call.arguments ?? {});

/** What must pass before the next event: milliseconds, or a promise. */
export interface Pause {
  readonly type: 'pause';
  readonly until: number | PromiseLike<unknown>;
}

/** The events of a turn's content. `number` makes call ids unique. */
function* contentEvents(turn: Turn, number: number, size: number): Generator<ModelEvent> {
  let calls = 0;
  yield { type: 'start', ...(turn.containerId !== undefined && { containerId: turn.containerId }) };
  for (const [index, block] of blocksOf(turn).entries()) {
    const isCall = block.type === 'tool_call';
    const callId = isCall ? (block.providerCallId ?? `call_${number}_${++calls}`) : '';
    if (isCall) yield { type: 'tool_call_start', index, providerCallId: callId, name: block.name };
    const text = isCall ? argumentsTextOf(block) : 'text' in block ? block.text : '';
    const type = isCall ? 'tool_arguments_delta' : block.type === 'thinking' ? 'thinking_delta' : 'text_delta';
    for (let at = 0; at < text.length;) {
      const end = deltaEnd(text, at, size);
      yield { type, index, text: text.slice(at, end) };
      at = end;
    }
    if (!('cutOff' in block && block.cutOff)) yield { type: 'block_end', index, block: finished(block, callId) };
  }
}

/** How a turn ends: by its failure, its finish, or without a word. */
function terminalEvent(turn: Turn): ModelEvent | undefined {
  if (turn.error) return { type: 'error', error: modelErrorOf(turn.error) };
  if (turn.unfinished === true) return undefined;
  return {
    type: 'finish',
    stopReason: stopReasonOf(turn),
    ...(turn.rawStopReason !== undefined && { rawStopReason: turn.rawStopReason }),
    usage: usageOf(turn) ?? UNKNOWN_USAGE,
    ...(turn.containerId !== undefined && { containerId: turn.containerId }),
  };
}

const pause = (until: Pause['until']): Pause => ({ type: 'pause', until });

/** Plays `turn` as model events, with the pauses between them. `number` counts the script's turns from 1. */
export function* playTurn(
  turn: Turn,
  number: number,
  chunkSize: number = DEFAULT_CHUNK_SIZE,
): Generator<ModelEvent | Pause, undefined> {
  const { delayMs, chunkDelayMs, wait, error } = turn;
  const failAfter = error ? (error.afterDeltas ?? 0) : Number.POSITIVE_INFINITY;
  let { waitAfter } = turn;
  let deltas = 0;
  if (delayMs !== undefined) yield pause(delayMs);
  if (wait) yield pause(wait);
  for (const event of contentEvents(turn, number, turn.chunkSize ?? chunkSize)) {
    if (deltas >= failAfter) break;
    yield event;
    const isDelta = event.type.endsWith('_delta');
    if (isDelta) deltas++;
    if (waitAfter && deltas >= waitAfter.deltas) {
      yield pause(waitAfter.until);
      waitAfter = undefined;
    }
    if (isDelta && chunkDelayMs !== undefined) yield pause(chunkDelayMs);
  }
  const last = terminalEvent(turn);
  if (last) yield last;
  return undefined;
}
