import type {
  AssistantContent,
  FileBlock,
  ImageBlock,
  JsonObject,
  ToolCallBlock,
  ToolResultMessage,
  UserContent,
} from '@treadle/core';
import { base64Text } from '../shared/base64.ts';
import { INTERRUPTED_RESULT, legalToolName } from '../shared/call-ids.ts';
import { elements, fileText, isBlank, shownBlocks, unshown, unshownFile } from '../shared/content.ts';
import { toJson } from '../shared/json-text.ts';

const TOOL_NAME_LENGTH = 64;

/** Media the models see, hear or read as they are; of other files they get the text. */
const MEDIA = /^(?:image|audio|video)\/|^application\/pdf$/;

/**
 * In place of a signature that a call doesn't have because another provider's model made it: models that demand one
 * accept this word. Source: the API's guide to thought signatures.
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** Kinds of provider blocks that describe a response and were no part of it. */
export const DESCRIPTION_KIND = 'response_metadata';

const text = (value: string): object => ({ text: value });

const imagePart = (block: ImageBlock): object => {
  const { mediaType, data, url } = block;
  if (data !== undefined) return { inlineData: { mimeType: mediaType, data } };
  return url === undefined
    ? text(unshown('An image without data'))
    : { fileData: { mimeType: mediaType, fileUri: url } };
};

const filePart = (block: FileBlock, provider: string): object => {
  const { mediaType, data, url } = block;
  if (block.fileId !== undefined && block.provider === provider) {
    return { fileData: { mimeType: mediaType, fileUri: block.fileId } };
  }
  if (data === undefined && url !== undefined) return { fileData: { mimeType: mediaType, fileUri: url } };
  if (data !== undefined && MEDIA.test(mediaType)) return { inlineData: { mimeType: mediaType, data } };
  const content = base64Text(data ?? '') ?? '';
  return text(isBlank(content) ? unshownFile(block) : (fileText(block) ?? content));
};

const contentParts = (content: readonly UserContent[], provider: string): object[] =>
  shownBlocks(content, text, imagePart, (block) => filePart(block, provider));

/** The parts of a user message; `''` when nothing is left of it. */
export function geminiUserParts(content: readonly UserContent[], provider: string): string {
  return elements(contentParts(content, provider));
}

/** A tool's name as the wire takes it: it may not begin with a digit or a dash. */
export function geminiToolName(name: string): string {
  const legal = legalToolName(name, TOOL_NAME_LENGTH);
  return /^[a-zA-Z_]/.test(legal) ? legal : `_${legal}`.slice(0, TOOL_NAME_LENGTH);
}

/** A call as the wire knows it. `id` only where the provider gave one: it pairs calls and results by it, or else by order. */
export interface GeminiCall {
  readonly name: string;
  readonly id: string | undefined;
}

const responsePart = ({ name, id }: GeminiCall, response: object, media: readonly object[] = []): object => ({
  functionResponse: { id, name, response, parts: media.length === 0 ? undefined : media },
});

const isInline = (part: object): boolean => 'inlineData' in part;

const attached = (message: ToolResultMessage): readonly UserContent[] =>
  message.content.filter((block) => block.type !== 'text');

/** A `functionResponse` part. `nested`: the images of the result are inside it. */
export function geminiToolResult(
  message: ToolResultMessage,
  call: GeminiCall,
  provider: string,
  nested: boolean,
): string {
  const said = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const parts = contentParts(attached(message), provider);
  const media = nested ? parts.filter(isInline) : [];
  const after = parts.length - media.length;
  const mention = after === 0 ? [] : [`[${after} attached after the results]`];
  const result = [...(said === '' ? [] : [said]), ...mention].join('\n');
  const response = message.isError
    ? { error: result === '' ? 'The call failed and said nothing.' : result }
    : { result };
  return toJson(responsePart(call, response, media));
}

/** What a `functionResponse` can't carry: images and files of the result, for parts after the results. */
export function geminiAttachments(message: ToolResultMessage, provider: string, nested: boolean): string {
  const parts = contentParts(attached(message), provider).filter((part) => !(nested && isInline(part)));
  if (parts.length === 0) return '';
  return elements([text(`Attached to the result of ${message.toolName}:`), ...parts]);
}

/** The answer to a call that has none. */
export function geminiInterruptedResult(call: GeminiCall): string {
  return toJson(responsePart(call, { error: INTERRUPTED_RESULT }));
}

const signed = (part: object, signature: unknown): object =>
  typeof signature === 'string' ? { ...part, thoughtSignature: signature } : part;

const callPart = (block: ToolCallBlock, { name, id }: GeminiCall): object => ({
  functionCall: { id, name, args: block.problem === undefined ? block.arguments : {} },
});

const ownPart = (block: AssistantContent): object | undefined => {
  const signature = 'opaque' in block ? block.opaque?.['thoughtSignature'] : undefined;
  switch (block.type) {
    case 'text':
      return isBlank(block.text) && signature === undefined ? undefined : signed(text(block.text), signature);
    case 'thinking':
      // A summary without a signature tells the model nothing it can use.
      return block.signature === undefined
        ? undefined
        : signed({ ...text(block.text), thought: true }, block.signature);
    case 'image':
      return signed(imagePart(block), signature);
    case 'file':
      return block.data === undefined && block.url === undefined ? undefined : signed(fileAsIs(block), signature);
    case 'provider_tool_call':
    case 'provider_tool_result':
      return block.raw;
    case 'provider_block':
      return block.kind === DESCRIPTION_KIND ? undefined : block.raw;
    default:
      return undefined;
  }
};

const fileAsIs = ({ mediaType, data, url }: FileBlock): object =>
  data === undefined
    ? { fileData: { mimeType: mediaType, fileUri: url ?? '' } }
    : { inlineData: { mimeType: mediaType, data } };

/**
 * The parts of an assistant message. `own`: it was made by the provider the request goes to. `mustSign`: the model
 * demands that the first call of a message is signed.
 */
export function geminiAssistantParts(
  content: readonly AssistantContent[],
  own: boolean,
  calls: ReadonlyMap<string, GeminiCall>,
  mustSign: boolean,
): string {
  const parts: object[] = [];
  let firstCall = true;
  for (const block of content) {
    if (block.type === 'tool_call') {
      const opaque: JsonObject = (own ? block.opaque : undefined) ?? {};
      const signature = opaque['thoughtSignature'] ?? (firstCall && mustSign ? NO_SIGNATURE : undefined);
      const call = calls.get(block.callId) ?? { name: geminiToolName(block.name), id: undefined };
      parts.push(signed(callPart(block, call), signature));
      firstCall = false;
    } else if (own) {
      const part = ownPart(block);
      if (part !== undefined) parts.push(part);
    } else if (block.type === 'text' && !isBlank(block.text)) parts.push(text(block.text));
  }
  return elements(parts);
}
