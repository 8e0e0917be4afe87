import type { FileBlock, TextBlock, ToolResultContent } from '../messages/content.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { plainData, type PlainData } from './plain-data.ts';
import type { FileRead, ToolQuestion } from './tool.ts';

/** A tool's output in one shape, safe to store and to send. */
export interface NormalOutput {
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  readonly details?: JsonValue;
  readonly files?: readonly FileBlock[];
  readonly reads?: readonly FileRead[];
  readonly state?: JsonObject;
  readonly ask?: ToolQuestion;
}

/** Text as one error result. */
export const errorOutput = (text: string): NormalOutput => ({ content: [{ type: 'text', text }], isError: true });

/**
 * Converts whatever a tool returned to a result; never throws. Text and content blocks are taken as they are, `undefined`
 * and `null` are a success without content, and any other value is shown as JSON and kept as `details`. A tool that returned has done its work:
 * only its own `isError: true` makes the result an error.
 *
 * Text loses lone surrogates, which aren't valid Unicode, and the middle of what exceeds `maxLength` characters in all.
 */
export function normalOutput(output: unknown, maxLength: number): NormalOutput {
  if (typeof output === 'string') return success(output, maxLength);
  const data = plainData(output);
  const { value } = data;
  if (value === undefined || value === null) return { content: [], isError: false };
  if (typeof value === 'string') return success(value, maxLength);
  const blocks = contentBlocks(value);
  if (blocks && blocks.length > 0) return { content: capped(blocks, maxLength), isError: false };
  return (isJsonObject(value) && resultOf(value, data, maxLength)) || successData(data, maxLength);
}

/** Data is shown as JSON, and kept as data for programs. */
function successData(data: PlainData, maxLength: number): NormalOutput {
  const text = jsonText(data);
  const shown = success(text, maxLength);
  return data.value === undefined || text.length > MOST_DETAILS ? shown : { ...shown, details: data.value };
}

const success = (text: string, maxLength: number): NormalOutput => ({
  content: capped([{ type: 'text', text }], maxLength),
  isError: false,
});

/** Null for an object that isn't a result: `content` is missing. */
function resultOf(value: JsonObject, data: PlainData, maxLength: number): NormalOutput | null {
  const { content, isError, details, files, state } = value;
  if (content === undefined) return null;
  const shown = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : contentBlocks(content);
  const kept = contentBlocks(files)?.filter((block) => block.type === 'file') ?? [];
  const isLarge = data.characters - lengthOf(shown ?? []) > MOST_CHARACTERS;
  return {
    // Content of another shape is shown with what stands beside it.
    content: capped(shown ?? [{ type: 'text', text: jsonText(data) }], maxLength),
    isError: isError === true,
    ...(details === undefined ? {} : { details: isLarge ? TOO_LARGE : details }),
    ...(kept.length === 0 ? {} : { files: kept }),
    ...readsOf(value),
    ...(isJsonObject(state) ? { state } : {}),
    ...askOf(value),
  };
}

/** A question without a key or words is none. */
function askOf({ ask }: JsonObject): Pick<NormalOutput, 'ask'> {
  if (!isJsonObject(ask)) return {};
  const { key, question, arguments: about, state } = ask;
  if (typeof key !== 'string' || typeof question !== 'string') return {};
  return {
    ask: {
      key,
      question,
      ...(about !== undefined && isJsonObject(about) ? { arguments: about } : {}),
      ...(state === undefined ? {} : { state }),
    },
  };
}

/** What the result says of files. A tool is other people's code: what has another form says nothing. */
function readsOf({ reads: given }: JsonObject): Pick<NormalOutput, 'reads'> {
  const reads = (Array.isArray(given) ? given : []).flatMap((read): FileRead[] => {
    const { path, hash, written } = isJsonObject(read) ? read : {};
    if (typeof path !== 'string' || typeof hash !== 'string') return [];
    return [{ path, hash, ...(written === true ? { written } : {}) }];
  });
  return reads.length === 0 ? {} : { reads };
}

/** Characters that are written as JSON: more than a log or a model takes, and what a process can hold twice. */
const MOST_CHARACTERS = 100_000_000;

/** Characters of JSON that a log keeps twice: as text for the model, and as data. */
const MOST_DETAILS = 100_000;

const TOO_LARGE = '[too large to be shown]';

const lengthOf = (blocks: readonly ToolResultContent[]): number =>
  blocks.reduce((sum, block) => sum + (block.type === 'text' ? block.text : (block.data ?? '')).length, 0);

const jsonText = ({ value, characters }: PlainData): string =>
  characters > MOST_CHARACTERS ? TOO_LARGE : JSON.stringify(value);

/** The value as content blocks, or null when it isn't a list of them. */
export function contentBlocks(value: unknown): ToolResultContent[] | null {
  return Array.isArray(value) && value.every(isBlock) ? (value as ToolResultContent[]) : null;
}

function isBlock(block: unknown): boolean {
  if (!isJsonObject(block)) return false;
  const has = (...names: string[]): boolean => names.some((name) => typeof block[name] === 'string');
  if (block['type'] === 'text') return has('text');
  if (block['type'] === 'image') return has('mediaType') && has('data', 'url');
  return block['type'] === 'file' && has('mediaType') && has('data', 'url', 'fileId');
}

/** What is said of a text that is cut, and where the whole of it is. */
export interface KeptWhole {
  readonly whole?: NonNullable<TextBlock['whole']>;
  readonly note: string;
}

const NONE: ReadonlyMap<TextBlock, KeptWhole> = new Map();

/** Blocks whose texts have at most so many characters in all. */
export function capped(
  blocks: readonly ToolResultContent[],
  maxLength: number,
  wholes: ReadonlyMap<TextBlock, KeptWhole> = NONE,
): readonly ToolResultContent[] {
  let length = 0;
  let wellFormed = true;
  for (const block of blocks) {
    if (block.type !== 'text') continue;
    length += block.text.length;
    wellFormed &&= block.text.isWellFormed();
  }
  if (length <= maxLength && wellFormed) return blocks;
  const share = length > maxLength ? maxLength / length : 1;
  return blocks.map((block) => {
    if (block.type !== 'text') return block;
    const { whole, note } = wholes.get(block) ?? { note: '' };
    const text = headAndTail(block.text, Math.floor(block.text.length * share), note);
    return whole ? { ...block, text, whole } : { ...block, text };
  });
}

function headAndTail(text: string, keep: number, note: string): string {
  if (text.length <= keep) return text.toWellFormed();
  const half = Math.floor(keep / 2);
  return cutText(text.slice(0, half), text.length - 2 * half, half === 0 ? '' : text.slice(-half), note);
}

/** The two ends of a text, and between them how much is left out and what there is to say of it. */
export const cutText = (head: string, cut: number, tail: string, note: string): string =>
  `${head.toWellFormed()}\n[… ${cut} characters cut out${note} …]\n${tail.toWellFormed()}`;
