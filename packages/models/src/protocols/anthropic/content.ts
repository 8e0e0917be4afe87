import type { AssistantContent, FileBlock, ImageBlock, ToolResultMessage, UserContent } from '@treadle/core';
import { base64Text } from '../shared/base64.ts';
import { INTERRUPTED_RESULT, legalToolName } from '../shared/call-ids.ts';
import { elements, isBlank, shownBlocks, unshown, unshownFile } from '../shared/content.ts';
import { toJson } from '../shared/json-text.ts';

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const TOOL_NAME_LENGTH = 128;

const text = (value: string): object => ({ type: 'text', text: value });
const note = (what: string): object => text(unshown(what));

const imageBlock = (block: ImageBlock | FileBlock): object => {
  if (block.data !== undefined && IMAGE_TYPES.has(block.mediaType)) {
    return { type: 'image', source: { type: 'base64', media_type: block.mediaType, data: block.data } };
  }
  if (block.url !== undefined) return { type: 'image', source: { type: 'url', url: block.url } };
  return note(`An image of type ${block.mediaType}`);
};

const fileSource = (block: FileBlock, provider: string): object | undefined => {
  if (block.fileId !== undefined && block.provider === provider) return { type: 'file', file_id: block.fileId };
  if (block.data !== undefined) {
    if (block.mediaType === 'application/pdf') {
      return { type: 'base64', media_type: block.mediaType, data: block.data };
    }
    const content = base64Text(block.data);
    return content === undefined ? undefined : { type: 'text', media_type: 'text/plain', data: content };
  }
  return block.url === undefined ? undefined : { type: 'url', url: block.url };
};

const fileBlock = (block: FileBlock, provider: string): object => {
  if (block.mediaType.startsWith('image/')) {
    if (block.fileId !== undefined && block.provider === provider) {
      return { type: 'image', source: { type: 'file', file_id: block.fileId } };
    }
    return imageBlock(block);
  }
  const source = fileSource(block, provider);
  if (source === undefined) return text(unshownFile(block));
  return { type: 'document', source, title: block.name };
};

const contentBlocks = (content: readonly UserContent[], provider: string): object[] =>
  shownBlocks(content, text, imageBlock, (block) => fileBlock(block, provider));

/** The elements of a user message's `content`; `''` when nothing is left of it. */
export function anthropicUserContent(content: readonly UserContent[], provider: string): string {
  return elements(contentBlocks(content, provider));
}

/** A `tool_result` block. The wire takes only text in the result of a call that failed. */
export function anthropicToolResult(message: ToolResultMessage, wireId: string, provider: string): string {
  const found = message.foundTools ?? [];
  if (found.length > 0) {
    const references = found.map(({ name }) => ({ type: 'tool_reference', tool_name: name }));
    return toJson({ type: 'tool_result', tool_use_id: wireId, content: references });
  }
  const content = contentBlocks(message.content, provider).map((block) =>
    message.isError && (block as { type: string }).type !== 'text' ? note('A part of this error') : block,
  );
  // An error without a word is refused by the wire.
  if (message.isError && content.length === 0) content.push(text('The call failed and said nothing.'));
  return toJson({
    type: 'tool_result',
    tool_use_id: wireId,
    ...(content.length === 0 ? {} : { content }),
    ...(message.isError ? { is_error: true } : {}),
  });
}

/** The answer to a call that has none. */
export function anthropicInterruptedResult(wireId: string): string {
  return toJson({ type: 'tool_result', tool_use_id: wireId, content: [text(INTERRUPTED_RESULT)], is_error: true });
}

const assistantBlock = (
  block: AssistantContent,
  own: boolean,
  wireIds: ReadonlyMap<string, string>,
): object | undefined => {
  switch (block.type) {
    case 'text':
      if (isBlank(block.text)) return undefined;
      return own && block.citations !== undefined
        ? { ...text(block.text), citations: block.citations }
        : text(block.text);
    case 'tool_call':
      return {
        ...(own ? block.opaque : undefined),
        type: 'tool_use',
        id: wireIds.get(block.callId) ?? block.callId,
        name: legalToolName(block.name, TOOL_NAME_LENGTH),
        input: block.problem === undefined ? block.arguments : {},
      };
    case 'thinking':
      // Without a signature the wire refuses it.
      if (!own || block.signature === undefined) return undefined;
      return { ...block.opaque, type: 'thinking', thinking: block.text, signature: block.signature };
    case 'redacted_thinking':
      return own ? { ...block.opaque, type: 'redacted_thinking', data: block.data } : undefined;
    case 'provider_tool_call':
    case 'provider_tool_result':
    case 'provider_block':
      return own ? block.raw : undefined;
    case 'image':
    case 'file':
      // The wire has no place for what a model drew or wrote to a file; its own files are inside provider blocks.
      return undefined;
  }
};

/**
 * The content of a reply that may be the last message of a request, because its provider asked to be called again: the
 * wire refuses white space at its very end. It is cut off wherever the message stands, so that it is always the same.
 */
export function withoutTrailingSpace(content: readonly AssistantContent[]): readonly AssistantContent[] {
  const last = content.at(-1);
  if (last?.type !== 'text') return content;
  const rest = content.slice(0, -1);
  const cut = last.text.trimEnd();
  if (cut === last.text) return content;
  return cut === '' ? withoutTrailingSpace(rest) : [...rest, { ...last, text: cut }];
}

/** The elements of an assistant message's `content`; `own`: it was made by the provider the request goes to. */
export function anthropicAssistantContent(
  content: readonly AssistantContent[],
  own: boolean,
  wireIds: ReadonlyMap<string, string>,
): string {
  return elements(content.map((block) => assistantBlock(block, own, wireIds)));
}

/**
 * Whether the last block that `anthropicAssistantContent` writes of this content may carry a cache mark. Reasoning is
 * refused with a mark, and a provider's block may be newer than this code.
 */
export function endsWithMarkableBlock(content: readonly AssistantContent[], own: boolean): boolean {
  const last = content.findLast((block) => assistantBlock(block, own, new Map()) !== undefined);
  return last?.type === 'text' || last?.type === 'tool_call';
}
