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
import type { ModelBlock, ModelEvent } from '@treadle/core/model';
import { UNKNOWN_USAGE } from '@treadle/core/model';

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

/** Plays a turn: what comes next, and what to wait for before it. */
export interface TurnPlayer {
  /** The next event, or undefined at the end. */
  next(): ModelEvent | undefined;
  /** What must pass before the next event: milliseconds, a promise, or nothing. Each pause is named once. */
  pause(): number | PromiseLike<unknown> | undefined;
}

/** Plays `turn` as model events. `number` counts the script's turns from 1 and makes call ids unique. */
export function playTurn(turn: Turn, number: number, chunkSize: number = DEFAULT_CHUNK_SIZE): TurnPlayer {
  const blocks = blocksOf(turn);
  const size = turn.chunkSize ?? chunkSize;
  const failAfter = turn.error && (turn.error.afterDeltas ?? 0);
  let started = false;
  let ended = false;
  let deltas = 0;
  let index = 0;
  let offset = 0;
  let calls = 0;
  let callId = '';
  let opened = false;

  function end(event: ModelEvent | undefined): ModelEvent | undefined {
    ended = true;
    return event;
  }

  function last(): ModelEvent | undefined {
    if (turn.error) return end({ type: 'error', error: modelErrorOf(turn.error) });
    if (turn.unfinished === true) return end(undefined);
    return end({
      type: 'finish',
      stopReason: stopReasonOf(turn),
      ...(turn.rawStopReason !== undefined && { rawStopReason: turn.rawStopReason }),
      usage: usageOf(turn) ?? UNKNOWN_USAGE,
      ...(turn.containerId !== undefined && { containerId: turn.containerId }),
    });
  }

  // Written once per block: a delta must not cost what the whole block does.
  let textOf: ScriptedBlock | undefined;
  let text = '';

  function delta(block: ScriptedBlock): ModelEvent | undefined {
    if (textOf !== block) {
      textOf = block;
      text = block.type === 'tool_call' ? argumentsTextOf(block) : 'text' in block ? block.text : '';
    }
    if (offset >= text.length) return undefined;
    const stop = deltaEnd(text, offset, size);
    const part = text.slice(offset, stop);
    offset = stop;
    deltas++;
    if (block.type === 'tool_call') return { type: 'tool_arguments_delta', index, text: part };
    return { type: block.type === 'thinking' ? 'thinking_delta' : 'text_delta', index, text: part };
  }

  function inBlock(block: ScriptedBlock): ModelEvent | undefined {
    if (block.type === 'tool_call' && !opened) {
      opened = true;
      callId = block.providerCallId ?? `call_${number}_${++calls}`;
      return { type: 'tool_call_start', index, providerCallId: callId, name: block.name };
    }
    const part = delta(block);
    if (part) return part;
    const closed = index++;
    offset = 0;
    opened = false;
    return 'cutOff' in block && block.cutOff
      ? undefined
      : { type: 'block_end', index: closed, block: finished(block, callId) };
  }

  return {
    next() {
      if (ended) return undefined;
      if (failAfter !== undefined && deltas >= failAfter) return last();
      if (!started) {
        started = true;
        return { type: 'start', ...(turn.containerId !== undefined && { containerId: turn.containerId }) };
      }
      for (let block = blocks[index]; block; block = blocks[index]) {
        const event = inBlock(block);
        if (event) return event;
      }
      return last();
    },
    pause: pausesOf(
      turn,
      () => started,
      () => deltas,
    ),
  };
}

function pausesOf(turn: Turn, started: () => boolean, deltas: () => number): TurnPlayer['pause'] {
  const { delayMs, chunkDelayMs, wait, waitAfter } = turn;
  if (delayMs === undefined && chunkDelayMs === undefined && !wait && !waitAfter) return () => undefined;
  let delayed = delayMs === undefined;
  let waited = wait === undefined;
  let silent = waitAfter === undefined;
  let paced = 0;
  return () => {
    if (!delayed) {
      delayed = true;
      return delayMs;
    }
    if (!waited) {
      waited = true;
      return wait;
    }
    if (!silent && waitAfter && started() && deltas() >= waitAfter.deltas) {
      silent = true;
      return waitAfter.until;
    }
    if (chunkDelayMs !== undefined && deltas() > paced) {
      paced = deltas();
      return chunkDelayMs;
    }
    return undefined;
  };
}
