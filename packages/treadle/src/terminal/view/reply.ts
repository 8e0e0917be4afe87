import type { LiveEvent } from '@treadle/core/events';
import type { AssistantMessage } from '@treadle/core/messages';

import { markdownStream, type MarkdownStream, type Piece } from '../markdown/stream.ts';
import type { Block } from './blocks.ts';

type Delta = Extract<LiveEvent, { type: 'message_delta' }>;

/** A reply while it comes in: its text in pieces, its thinking folded. */
export interface OpenReply {
  readonly messageId: string;
  take(delta: Delta): void;
  /** What is finished since the last call. */
  finished(): Block[];
  /** The text that may still change. */
  open(): readonly Piece[];
  /** The thinking that goes on; empty when the reply itself has begun. */
  readonly thinking: string;
  /** Characters that have come so far, of any kind. */
  readonly length: number;
  /** The tool whose arguments are being written. */
  readonly writing: string | null;
  /** True once something of it is in the transcript. */
  readonly isShown: boolean;
  /** What is left of the whole message, which is final. */
  end(message: AssistantMessage): Block[];
}

type Part =
  | { readonly type: 'text'; readonly index: number; readonly stream: MarkdownStream; isDone: boolean }
  | { readonly type: 'thinking'; readonly index: number; text: string; isDone: boolean };

export function openReply(messageId: string): OpenReply {
  const parts: Part[] = [];
  let length = 0;
  let writing: string | null = null;
  let isShown = false;
  let hasText = false;

  function partOf({ kind, index }: Delta): Part | null {
    if (kind === 'tool_arguments') return null;
    const known = parts.find((part) => part.index === index && part.type === kind);
    if (known) return known;
    const made: Part =
      kind === 'text'
        ? { type: 'text', index, stream: markdownStream(), isDone: false }
        : { type: 'thinking', index, text: '', isDone: false };
    parts.push(made);
    return made;
  }

  const blocksOf = (pieces: readonly Piece[]): Block[] =>
    pieces.map((piece) => {
      const isFirst = !hasText;
      hasText = true;
      return { type: 'markdown', piece, isFirst };
    });

  function finishedOf(part: Part, isLast: boolean): Block[] {
    if (part.isDone) return [];
    part.isDone = !isLast;
    if (part.type === 'text')
      return blocksOf(isLast ? part.stream.finished() : [...part.stream.finished(), ...part.stream.end()]);
    return isLast || part.text.trim() === '' ? [] : [{ type: 'thinking', text: part.text }];
  }

  const shown = (blocks: Block[]): Block[] => {
    isShown ||= blocks.length > 0;
    return blocks;
  };

  return {
    messageId,
    get thinking() {
      const last = parts.at(-1);
      return last?.type === 'thinking' && !last.isDone ? last.text : '';
    },
    get length() {
      return length;
    },
    get writing() {
      return writing;
    },
    get isShown() {
      return isShown;
    },
    take(delta) {
      length += delta.text.length;
      const part = partOf(delta);
      writing = part ? null : (delta.toolName ?? writing);
      if (part?.type === 'text') part.stream.push(delta.text);
      else if (part) part.text += delta.text;
    },
    finished: () =>
      shown(parts.flatMap((part, index) => finishedOf(part, index === parts.length - 1 && writing === null))),
    open() {
      const last = parts.at(-1);
      return last?.type === 'text' && !last.isDone ? last.stream.open() : [];
    },
    end({ content }) {
      const blocks: Block[] = [];
      const left = [...parts];
      for (const block of content) {
        if (block.type !== 'text' && block.type !== 'thinking') continue;
        const at = left.findIndex((part) => part.type === block.type);
        const part = at === -1 ? null : (left.splice(0, at + 1).at(-1) ?? null);
        if (block.type === 'thinking') {
          if (part?.isDone !== true && block.text.trim() !== '') blocks.push({ type: 'thinking', text: block.text });
          continue;
        }
        const stream = part?.type === 'text' ? part.stream : markdownStream();
        if (part?.isDone === true) continue;
        // What is durable counts: where it is another text than the one that came in, its rest can't be told.
        if (block.text.startsWith(stream.text)) stream.push(block.text.slice(stream.text.length));
        blocks.push(...blocksOf([...stream.finished(), ...stream.end()]));
      }
      return shown(blocks);
    },
  };
}
