import type { AssistantContent, FileBlock, ImageBlock, ToolResultMessage, UserContent } from '@treadle/core';
import { base64Text } from '../shared/base64.ts';
import { INTERRUPTED_RESULT, legalToolName } from '../shared/call-ids.ts';
import { elements, isBlank, shownBlocks, unshown, unshownFile } from '../shared/content.ts';
import { parseObject, toJson } from '../shared/json-text.ts';

/** Gives a document its name on the wire. */
export type NameDocument = (file: FileBlock) => string;

const TOOL_NAME_LENGTH = 64;

const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/jpg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
]);

const VIDEO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['video/x-matroska', 'mkv'],
  ['video/webm', 'webm'],
  ['video/x-flv', 'flv'],
  ['video/mpeg', 'mpeg'],
  ['video/x-ms-wmv', 'wmv'],
  ['video/3gpp', 'three_gp'],
]);

const text = (value: string): object => ({ text: value });
const note = (what: string): object => text(unshown(what));

/** Bytes, or an object in S3: the wire fetches nothing from the web. */
const sourceOf = (block: { readonly data?: string; readonly url?: string }): object | undefined => {
  if (block.data !== undefined && block.data !== '') return { bytes: block.data };
  return block.url?.startsWith('s3://') === true ? { s3Location: { uri: block.url } } : undefined;
};

const imageBlock = (block: ImageBlock | FileBlock): object => {
  const format = IMAGE_FORMATS.get(block.mediaType);
  const source = sourceOf(block);
  if (format === undefined || source === undefined) return note(`An image of type ${block.mediaType}`);
  return { image: { format, source } };
};

/** The format of a document; what is text of any other type goes as plain text. */
const documentFormat = (file: FileBlock): string | undefined => {
  const known = DOCUMENT_FORMATS.get(file.mediaType);
  if (known !== undefined) return known;
  return file.data !== undefined && base64Text(file.data) !== undefined ? 'txt' : undefined;
};

const fileBlock = (file: FileBlock, nameDocument: NameDocument): object => {
  if (file.mediaType.startsWith('image/')) return imageBlock(file);
  const source = sourceOf(file);
  const video = VIDEO_FORMATS.get(file.mediaType);
  if (source !== undefined && video !== undefined) return { video: { format: video, source } };
  const format = source === undefined ? undefined : documentFormat(file);
  if (format === undefined) return text(unshownFile(file));
  return { document: { format, name: nameDocument(file), source } };
};

/** Whether a file becomes a document, which wants a name of its own. */
export function isDocument(block: UserContent): block is FileBlock {
  if (block.type !== 'file' || block.mediaType.startsWith('image/') || VIDEO_FORMATS.has(block.mediaType)) return false;
  return sourceOf(block) !== undefined && documentFormat(block) !== undefined;
}

const contentBlocks = (content: readonly UserContent[], nameDocument: NameDocument): object[] =>
  shownBlocks(content, text, imageBlock, (block) => fileBlock(block, nameDocument));

/** The elements of a user message's `content`; `''` when nothing is left of it. */
export function bedrockUserContent(content: readonly UserContent[], nameDocument: NameDocument): string {
  const blocks = contentBlocks(content, nameDocument);
  // The wire takes a document only together with a text.
  if (blocks.some((block) => 'document' in block) && !blocks.some((block) => 'text' in block)) {
    blocks.push(text('(A document.)'));
  }
  return elements(blocks);
}

const jsonOf = (block: UserContent): object | undefined => {
  if (block.type !== 'file' || block.mediaType !== 'application/json' || block.data === undefined) return undefined;
  const content = parseObject(base64Text(block.data) ?? '');
  return content === undefined ? undefined : { json: content };
};

/** A `toolResult` block. The models behind the wire take only text in the result of a call that failed. */
export function bedrockToolResult(message: ToolResultMessage, wireId: string, nameDocument: NameDocument): string {
  const content = message.content.flatMap((block) => jsonOf(block) ?? contentBlocks([block], nameDocument));
  const sent = message.isError
    ? content.map((block) => ('text' in block ? block : note('A part of this error')))
    : content;
  if (sent.length === 0) sent.push(text(message.isError ? 'The call failed and said nothing.' : '(No output.)'));
  return toJson({
    toolResult: { toolUseId: wireId, content: sent, ...(message.isError ? { status: 'error' } : {}) },
  });
}

/** The answer to a call that has none. */
export function bedrockInterruptedResult(wireId: string): string {
  return toJson({ toolResult: { toolUseId: wireId, content: [text(INTERRUPTED_RESULT)], status: 'error' } });
}

/** A tool's name as this wire takes it. */
export const bedrockToolName = (name: string): string => legalToolName(name, TOOL_NAME_LENGTH);

const assistantBlock = (
  block: AssistantContent,
  own: boolean,
  wireIds: ReadonlyMap<string, string>,
  answered: ReadonlySet<string>,
): object | undefined => {
  switch (block.type) {
    case 'text':
      if (isBlank(block.text)) return undefined;
      return own && block.citations !== undefined
        ? { citationsContent: { content: [text(block.text)], citations: block.citations } }
        : text(block.text);
    case 'tool_call':
      return {
        toolUse: {
          toolUseId: wireIds.get(block.callId) ?? block.callId,
          name: bedrockToolName(block.name),
          input: block.problem === undefined ? block.arguments : {},
        },
      };
    case 'thinking':
      // Without a signature the wire refuses it.
      if (!own || block.signature === undefined) return undefined;
      return { reasoningContent: { reasoningText: { text: block.text, signature: block.signature } } };
    case 'redacted_thinking':
      return own ? { reasoningContent: { redactedContent: block.data } } : undefined;
    case 'provider_tool_call':
    case 'provider_tool_result':
      // Both halves or none: an answer may have been cut between them.
      return own && answered.has(block.callId) ? block.raw : undefined;
    case 'provider_block':
    case 'image':
    case 'file':
      // The wire takes none of these from an assistant.
      return undefined;
  }
};

/** Ids of the calls the service ran itself that have their result in this message. */
const answeredCalls = (content: readonly AssistantContent[]): ReadonlySet<string> => {
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const block of content) {
    if (block.type === 'provider_tool_call') called.add(block.callId);
    else if (block.type === 'provider_tool_result' && called.has(block.callId)) answered.add(block.callId);
  }
  return answered;
};

/** The elements of an assistant message's `content`; `own`: it was made by the provider the request goes to. */
export function bedrockAssistantContent(
  content: readonly AssistantContent[],
  own: boolean,
  wireIds: ReadonlyMap<string, string>,
): string {
  const answered = answeredCalls(content);
  const blocks = content
    .map((block) => assistantBlock(block, own, wireIds, answered))
    .filter((block) => block !== undefined);
  // Reasoning leads to something; where that was cut off, the wire refuses the reasoning.
  while (blocks.length > 0 && 'reasoningContent' in (blocks.at(-1) ?? {})) blocks.pop();
  return elements(blocks);
}
