import type { JsonObject, JsonValue } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import { defined } from '@treadle/core/json';
import { asObject, asText } from '../shared/json-text.ts';
import type { DecoderSink } from '../shared/protocol.ts';
import { createBlockText, type TextRun } from '../shared/text-run.ts';

/** The readable parts of messages and of reasoning. */
export type PartKind = 'output_text' | 'refusal' | 'summary_text' | 'reasoning_text';

const PART_KINDS: ReadonlySet<unknown> = new Set<PartKind>([
  'output_text',
  'refusal',
  'summary_text',
  'reasoning_text',
]);

/** The kind of a part by its type on the wire; undefined for one that isn't readable text. */
export function partKind(type: unknown): PartKind | undefined {
  if (type === 'text') return 'output_text';
  return PART_KINDS.has(type) ? (type as PartKind) : undefined;
}

/** A part that is being received. */
interface OpenPart {
  readonly index: number;
  readonly kind: PartKind;
  /** Its place among the item's parts of its kind. */
  readonly position: number;
  readonly run: TextRun;
  /** Deltas came. Then they are the text: what was shown is not taken back when the part's end says otherwise. */
  streamed: boolean;
  citations: JsonValue[] | undefined;
}

const isThinking = (kind: PartKind): boolean => kind === 'summary_text' || kind === 'reasoning_text';

/** @param takeIndex Gives a new block its place in the message. */
export function createParts(sink: DecoderSink, takeIndex: () => number) {
  const parts: OpenPart[] = [];
  let latest: OpenPart | undefined;

  const partAt = (kind: PartKind, position: number): OpenPart => {
    // Deltas come in runs, so the part is nearly always the one before.
    if (latest !== undefined && latest.kind === kind && latest.position === position) return latest;
    let part = parts.find((other) => other.kind === kind && other.position === position);
    if (part === undefined) {
      const index = takeIndex();
      const run = createBlockText(sink, isThinking(kind) ? 'thinking_delta' : 'text_delta', index);
      part = { index, kind, position, run, streamed: false, citations: undefined };
      parts.push(part);
    }
    latest = part;
    return part;
  };

  const blockOf = (part: OpenPart, item: JsonObject, signature: string | undefined): ModelBlock => {
    const { kind, run, citations } = part;
    const opaque = kind === 'output_text' ? { item } : { item, part: kind };
    const text = run.end();
    if (isThinking(kind)) return { type: 'thinking', text, ...defined({ signature }), opaque };
    return { type: 'text', text, ...defined({ citations }), opaque };
  };

  return {
    add(kind: PartKind, position: number, piece: string): void {
      const part = partAt(kind, position);
      part.streamed = true;
      part.run.add(piece);
    },
    /** What the end of a part, or of its item, says the whole text is. */
    complete(kind: PartKind, position: number, text: unknown): void {
      const part = partAt(kind, position);
      const whole = asText(text);
      if (part.streamed || whole === undefined || part.run.whole() !== '') return;
      part.run.add(whole);
    },
    /** A source of the text at `position`. */
    cite(position: number, annotation: JsonValue): void {
      (partAt('output_text', position).citations ??= []).push(annotation);
    },
    /** All sources of the text at `position`, in place of those that came one by one. */
    citeAll(position: number, annotations: unknown): void {
      if (!Array.isArray(annotations) || annotations.length === 0) return;
      partAt('output_text', position).citations = [...(annotations as JsonValue[])];
    },
    /** Ends every part as a block. `item` is what else there is to the item; `signature` goes with the last of them. */
    end(item: JsonObject, signature: string | undefined): void {
      const last = parts.at(-1);
      for (const part of parts) {
        const block = blockOf(part, item, part === last ? signature : undefined);
        sink.event({ type: 'block_end', index: part.index, block });
      }
      parts.length = 0;
      latest = undefined;
    },
    count: (): number => parts.length,
    hasRefusal: (): boolean => parts.some((part) => part.kind === 'refusal'),
  };
}

/** Takes in what a finished item lists of its parts: `content` of a message, `summary` and `content` of reasoning. */
export function completeParts(parts: Parts, list: unknown): void {
  if (!Array.isArray(list)) return;
  for (const [position, value] of (list as unknown[]).entries()) {
    const part = asObject(value);
    const kind = partKind(part?.['type']);
    if (part === undefined || kind === undefined) continue;
    parts.complete(kind, position, kind === 'refusal' ? part['refusal'] : part['text']);
    if (kind === 'output_text') parts.citeAll(position, part['annotations']);
  }
}

/** The readable parts of one item while they arrive. */
export type Parts = ReturnType<typeof createParts>;
