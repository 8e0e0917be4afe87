import type { ContentBlock, FileBlock, ImageBlock } from './content.ts';
import type { Message } from './message.ts';

// What a message weighs, before a provider has counted it: four bytes of text to a token, and rules of thumb for the
// rest. It errs on the side of too much, and what providers report replaces it as soon as there is a report.

const BYTES_PER_TOKEN = 4;

/** Bytes of image data to a token, and the least and the most an image can be. */
const IMAGE_BYTES_PER_TOKEN = 750;

const IMAGE_LEAST = 85;

const IMAGE_MOST = 16_000;

/** An image of which only the address is known: the most that providers scale one down to. */
const IMAGE_BY_URL = 1600;

const TOKENS_PER_PAGE = 2000;

/** Bytes of a PDF to a page. Its pages can't be counted without unpacking it. */
const BYTES_PER_PAGE = 50_000;

export const PER_CALL = 8;

const PER_MESSAGE = 4;

const PER_RESULT = 8;

const ENCODER = new TextEncoder();

/** Bytes of a text in UTF-8. */
export const utf8Length = (text: string): number => ENCODER.encode(text).length;

/** Tokens of a text: a quarter of its bytes, rounded up. */
export const estimateText = (text: string): number => Math.ceil(utf8Length(text) / BYTES_PER_TOKEN);

export const estimateJson = (value: unknown): number => estimateText(JSON.stringify(value) ?? '');

/** Bytes that a base64 text stands for. */
const decodedLength = (base64: string): number => Math.floor((base64.length * 3) / 4);

function estimateImage({ data, blob }: ImageBlock): number {
  if (data === undefined && blob === undefined) return IMAGE_BY_URL;
  const bytes = blob ? blob.size : decodedLength(data ?? '');
  const tokens = Math.ceil(bytes / IMAGE_BYTES_PER_TOKEN);
  return Math.min(Math.max(tokens, IMAGE_LEAST), IMAGE_MOST);
}

function estimateFile({ mediaType, data, blob }: FileBlock): number {
  if (data === undefined && blob === undefined) return TOKENS_PER_PAGE;
  const bytes = blob ? blob.size : decodedLength(data ?? '');
  if (mediaType === 'application/pdf') return Math.max(1, Math.ceil(bytes / BYTES_PER_PAGE)) * TOKENS_PER_PAGE;
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function estimateBlock(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return estimateText(block.text);
    case 'image':
      return estimateImage(block);
    case 'file':
      return estimateFile(block);
    // A signature is the same reasoning once more, for the provider's eyes: it counts where it is all there is.
    case 'thinking':
      return estimateText(block.text === '' ? (block.signature ?? '') : block.text);
    case 'redacted_thinking':
      return estimateText(block.data);
    case 'tool_call':
      return (
        estimateText(block.name) + estimateText(block.argumentsText ?? '') + estimateJson(block.arguments) + PER_CALL
      );
    default:
      return estimateJson(block.raw) + PER_CALL;
  }
}

const known = new WeakMap<Message, number>();

/** Tokens a message takes in a request, estimated once per message. Extension messages take none: no model gets them. */
export function estimateMessage(message: Message): number {
  if (message.role === 'extension') return 0;
  const before = known.get(message);
  if (before !== undefined) return before;
  let tokens = message.role === 'tool' ? PER_RESULT : PER_MESSAGE;
  for (const block of message.content) tokens += estimateBlock(block);
  known.set(message, tokens);
  return tokens;
}
