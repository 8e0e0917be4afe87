import type { FileBlock, TextBlock, ToolResultContent } from '../messages/content.ts';
import { asJson, isJsonObject, type JsonValue } from '../json.ts';
import type { FileRead, ToolOutput } from './tool.ts';

/** A tool's output in one shape, safe to store and to send. */
export interface NormalOutput {
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  readonly details?: JsonValue;
  readonly files?: readonly FileBlock[];
  readonly reads?: readonly FileRead[];
}

/** Text as one error result. */
export const errorOutput = (text: string): NormalOutput => ({ content: [{ type: 'text', text }], isError: true });

/**
 * Brings whatever a tool returned into one shape; never throws. What can't be stored or shown becomes an error that says
 * so. Text loses lone surrogates, which are no valid Unicode, and the middle of what exceeds `maxLength` characters in
 * all. Details that are no JSON are replaced by a note, for the result itself stands.
 */
export function normalOutput(output: ToolOutput, maxLength: number): NormalOutput {
  if (typeof output === 'string')
    return { content: capped([{ type: 'text', text: output }], maxLength), isError: false };
  // Tools are other people's code, and types are only promises.
  const returned: unknown = output;
  if (Array.isArray(returned)) return resultOf(returned, false, undefined, undefined, maxLength);
  if (!isJsonObject(returned) || !('content' in returned)) return errorOutput(NO_RESULT);
  const { content, isError, details, files } = returned;
  return resultOf(content, isError === true, details, files, maxLength);
}

const NO_RESULT = 'The tool returned nothing that can be shown to a model. It must return text or content blocks.';

function resultOf(
  content: unknown,
  isError: boolean,
  details: unknown,
  files: unknown,
  maxLength: number,
): NormalOutput {
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : contentBlocks(content);
  if (!blocks) return errorOutput(NO_RESULT);
  const kept = files === undefined ? undefined : contentBlocks(files)?.filter((block) => block.type === 'file');
  return {
    content: capped(blocks, maxLength),
    isError,
    ...(details === undefined ? {} : { details: detailsOf(details) }),
    ...(kept === undefined || kept.length === 0 ? {} : { files: kept }),
  };
}

function detailsOf(details: unknown): JsonValue {
  return typeof details === 'object' && details !== null
    ? (asJson(details)?.value ?? { problem: 'details_not_json' })
    : (asJson(details)?.value ?? null);
}

/** The value as content blocks, or null when it isn't. */
function contentBlocks(value: unknown): ToolResultContent[] | null {
  if (!Array.isArray(value) || !value.every(isBlock)) return null;
  return value as ToolResultContent[];
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
