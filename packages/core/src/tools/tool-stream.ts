import { joined, type BlobRef } from '../ports/blobs.ts';
import { DEFAULT_MOST_BYTES, type BlobKeeper } from '../ports/blob-keeper.ts';
import { errorText } from '../errors.ts';
import { normalOutput } from './output.ts';
import type { ToolStream } from './tool.ts';

/** What is left of a text that was too long for a model. */
export interface StreamedText {
  /** The beginning and the end, or all of it when `cut` is 0. */
  readonly head: string;
  readonly tail: string;
  /** Characters between them. */
  readonly cut: number;
  readonly characters: number;
  /** All of it, where it could be kept. */
  readonly whole?: BlobRef;
  /** Why not, where it should have been. */
  readonly problem?: string;
}

/** True for what a tool streams instead of returning it whole. */
export function isToolStream(output: unknown): output is ToolStream {
  try {
    return typeof output === 'object' && output !== null && Symbol.asyncIterator in output;
  } catch {
    // A proxy that refuses the question streams nothing.
    return false;
  }
}

/**
 * Reads a tool's stream to its end, in memory that grows with `maxLength` and not with the stream. What exceeds it is kept
 * as a blob, all of it, where there is a keeper. Ends early, with what there was, once `stopped` says so, or when there is
 * more than anybody keeps.
 */
export async function readStream(
  stream: ToolStream,
  maxLength: number,
  keeper: BlobKeeper | null,
  stopped: () => boolean,
): Promise<StreamedText> {
  const iterator = stream[Symbol.asyncIterator]();
  const most = keeper?.maxBytes ?? DEFAULT_MOST_BYTES;
  const text = headAndTailOf(maxLength);
  const decoder = new TextDecoder();
  let size = 0;
  let ended = false;
  // A pair of surrogates may be cut in two by the end of a piece: its first half waits for the second.
  let half = '';
  const encodeWhole = (piece: string): Uint8Array => {
    const all = half + piece;
    half = /[\uD800-\uDBFF]$/.exec(all)?.[0] ?? '';
    return ENCODER.encode(half === '' ? all : all.slice(0, -1));
  };
  const next = async (): Promise<Uint8Array | null> => {
    if (ended) return null;
    const result = await iterator.next();
    ended = result.done === true || stopped();
    if (result.done === true) text.push(decoder.decode(ENCODER.encode(half)));
    if (ended || result.done === true) return null;
    const { value }: { readonly value: unknown } = result;
    const bytes = value instanceof Uint8Array ? value : encodeWhole(textOf(value));
    text.push(decoder.decode(bytes, { stream: true }));
    size += bytes.length;
    return bytes;
  };
  try {
    const first: Uint8Array[] = [];
    while (text.characters <= maxLength) {
      const piece = await next();
      if (piece === null) return text.result({});
      if (keeper) first.push(piece.slice());
    }
    if (keeper) {
      const kept = await keep(keeper, first, next);
      if (kept.whole || size > most) return text.result(kept);
      while (size <= most && (await next()) !== null);
      return text.result(kept);
    }
    while (size <= most && (await next()) !== null);
    return text.result({});
  } finally {
    // Not awaited: a stream that hangs must not hold anybody up, and what its end fails with concerns nobody any more.
    if (!ended || stopped()) void (async () => iterator.return?.())().catch(() => {});
  }
}

const ENCODER = new TextEncoder();

/** A piece that is neither text nor bytes, as a result of its own would be shown. */
const textOf = (piece: unknown): string =>
  typeof piece === 'string'
    ? piece
    : normalOutput(piece, Infinity)
        .content.map((block) => (block.type === 'text' ? block.text : ''))
        .join('');

async function keep(
  { store, maxBytes }: BlobKeeper,
  first: readonly Uint8Array[],
  next: () => Promise<Uint8Array | null>,
): Promise<Pick<StreamedText, 'whole' | 'problem'>> {
  let failed: { readonly error: unknown } | null = null;
  async function* all(): AsyncGenerator<Uint8Array> {
    yield joined(first);
    try {
      for (let piece = await next(); piece !== null; piece = await next()) yield piece;
    } catch (error) {
      failed = { error };
      throw error;
    }
  }
  try {
    return { whole: await store.put(all(), { maxBytes }) };
  } catch (error) {
    // The tool's own failure is the call's; a full disk isn't.
    if (failed !== null) throw error;
    return { problem: errorText(error) };
  }
}

/** Keeps the two ends of a text. */
function headAndTailOf(maxLength: number) {
  const headLength = Math.floor(maxLength / 2);
  const tailLength = maxLength - headLength;
  const head: string[] = [];
  let headCharacters = 0;
  let tail: string[] = [];
  let tailCharacters = 0;
  let characters = 0;
  return {
    get characters() {
      return characters;
    },
    push(text: string): void {
      if (text === '') return;
      characters += text.length;
      const forHead = text.slice(0, headLength - headCharacters);
      if (forHead !== '') {
        head.push(forHead);
        headCharacters += forHead.length;
      }
      const rest = text.slice(forHead.length);
      if (rest === '') return;
      tail.push(rest);
      tailCharacters += rest.length;
      // Seldom, so that each character is moved a few times at most.
      if (tailCharacters > 2 * tailLength + COMPACT_AFTER) {
        tail = [tail.join('').slice(-tailLength)];
        tailCharacters = tailLength;
      }
    },
    result(rest: Pick<StreamedText, 'whole' | 'problem'>): StreamedText {
      const start = head.join('');
      const end = tail.join('').slice(-tailLength);
      return { head: start, tail: end, cut: characters - start.length - end.length, characters, ...rest };
    },
  };
}

const COMPACT_AFTER = 65_536;
