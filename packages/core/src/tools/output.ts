import type { FileBlock, ToolResultContent } from '../messages/content.ts';
import type { JsonValue } from '../json.ts';
import type { ToolOutput } from './tool.ts';

/** A tool's output in one shape, safe to store and to send. */
export interface NormalOutput {
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  readonly details?: JsonValue;
  readonly files?: readonly FileBlock[];
}

/** Text as one error result. */
export const errorOutput = (text: string): NormalOutput => ({ content: [{ type: 'text', text }], isError: true });

/**
 * Brings whatever a tool returned into one shape. Text loses lone surrogates, which are no valid Unicode, and the middle
 * of what exceeds `maxLength` characters in all.
 */
export function normalOutput(output: ToolOutput, maxLength: number): NormalOutput {
  if (typeof output === 'string') return { content: capped(textBlocks(output), maxLength), isError: false };
  if (isBlocks(output)) return { content: capped(output, maxLength), isError: false };
  if (typeof output !== 'object' || output === null || !('content' in output)) {
    return errorOutput(
      'The tool returned nothing that can be shown to a model. It must return text or content blocks.',
    );
  }
  const { content, isError = false, details, files } = output;
  const blocks = typeof content === 'string' ? textBlocks(content) : content;
  return {
    content: capped(blocks, maxLength),
    isError,
    ...(details === undefined ? {} : { details }),
    ...(files === undefined || files.length === 0 ? {} : { files }),
  };
}

const isBlocks = (output: ToolOutput): output is readonly ToolResultContent[] => Array.isArray(output);
const textBlocks = (text: string): readonly ToolResultContent[] => [{ type: 'text', text }];

function capped(blocks: readonly ToolResultContent[], maxLength: number): readonly ToolResultContent[] {
  let length = 0;
  let wellFormed = true;
  for (const block of blocks) {
    if (block.type !== 'text') continue;
    length += block.text.length;
    wellFormed &&= block.text.isWellFormed();
  }
  if (length <= maxLength && wellFormed) return blocks;
  const share = length > maxLength ? maxLength / length : 1;
  return blocks.map((block) =>
    block.type === 'text' ? { ...block, text: headAndTail(block.text, Math.floor(block.text.length * share)) } : block,
  );
}

function headAndTail(text: string, keep: number): string {
  if (text.length <= keep) return text.toWellFormed();
  const half = Math.floor(keep / 2);
  const left = text.slice(0, half).toWellFormed();
  const right = half === 0 ? '' : text.slice(-half).toWellFormed();
  return `${left}\n[… ${text.length - 2 * half} characters cut out …]\n${right}`;
}
