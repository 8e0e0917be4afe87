import type { ToolResultContent } from './content.ts';

const isHighHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowHalf = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** The first `length` characters or one less, so that no character is cut in half. */
export function headOf(text: string, length: number): string {
  if (length >= text.length) return text;
  return text.slice(0, length > 0 && isHighHalf(text.charCodeAt(length - 1)) ? length - 1 : length);
}

/** The last `length` characters or one less, so that no character is cut in half. */
function tailOf(text: string, length: number): string {
  if (length >= text.length) return text;
  const from = text.length - Math.max(0, length);
  return text.slice(from < text.length && isLowHalf(text.charCodeAt(from)) ? from + 1 : from);
}

/** What a cut must save, in characters: less isn't worth it, and what is cut once isn't cut again. */
const LEAST_SAVED = 200;

/** A text's beginning and end with a note between them; the text itself when that would save nothing. */
export function cutCharacters(text: string, most: number, note: (removed: string) => string): string {
  if (text.length <= most + LEAST_SAVED) return text;
  const head = headOf(text, Math.ceil(most / 2));
  const tail = tailOf(text, Math.floor(most / 2));
  return `${head}\n${note(`${text.length - head.length - tail.length} characters`)}\n${tail}`;
}

/** The same in lines. A cut by characters may have added three. */
const LEAST_LINES = 3;

/** A text's first and last lines with a note between them; the text itself when that would save nothing. */
function cutLines(text: string, most: number, note: (removed: string) => string): string {
  const lines = text.split('\n');
  if (lines.length <= most + LEAST_LINES) return text;
  const head = lines.slice(0, Math.ceil(most / 2));
  const tail = lines.slice(lines.length - Math.floor(most / 2));
  return [...head, note(`${lines.length - head.length - tail.length} lines`), ...tail].join('\n');
}

/** How long the text of a result may be. */
export interface TextLimits {
  readonly maxLines?: number;
  readonly maxLength?: number;
}

/** A result's texts cut to limits that they share by their lengths; the same list when nothing is cut. */
export function cutTexts<Block extends ToolResultContent>(
  blocks: readonly Block[],
  { maxLines = Infinity, maxLength = Infinity }: TextLimits,
  note: (removed: string) => string,
): readonly Block[] {
  const total = blocks.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
  let changed = false;
  const cut = blocks.map((block) => {
    if (block.type !== 'text') return block;
    const share = total === 0 ? 1 : block.text.length / total;
    const fewer = maxLines === Infinity ? block.text : cutLines(block.text, Math.ceil(maxLines * share), note);
    const text = maxLength === Infinity ? fewer : cutCharacters(fewer, Math.ceil(maxLength * share), note);
    if (text === block.text) return block;
    changed = true;
    return { ...block, text };
  });
  return changed ? cut : blocks;
}
