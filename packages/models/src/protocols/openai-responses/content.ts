import type { FileBlock, ImageBlock, JsonValue, ToolResultMessage, UserContent } from '@treadle/core';
import { INTERRUPTED_RESULT } from '../shared/call-ids.ts';
import { fileText, unshownFile } from '../shared/content.ts';
import { toJson } from '../shared/json-text.ts';

const dataUrl = (mediaType: string, data: string): string => `data:${mediaType};base64,${data}`;
const text = (value: string): object => ({ type: 'input_text', text: value });

const image = (block: ImageBlock): object => ({
  type: 'input_image',
  detail: 'auto',
  image_url: block.url ?? dataUrl(block.mediaType, block.data ?? ''),
});

const file = (block: FileBlock, provider: string): object => {
  const { mediaType, data, url, name, fileId } = block;
  const isImage = mediaType.startsWith('image/');
  if (fileId !== undefined && block.provider === provider) {
    return isImage ? { type: 'input_image', detail: 'auto', file_id: fileId } : { type: 'input_file', file_id: fileId };
  }
  if (isImage && (data !== undefined || url !== undefined)) {
    return image({ type: 'image', mediaType, ...(url === undefined ? { data: data ?? '' } : { url }) });
  }
  if (data !== undefined && mediaType === 'application/pdf') {
    return { type: 'input_file', filename: name ?? 'file.pdf', file_data: dataUrl(mediaType, data) };
  }
  const content = fileText(block);
  if (content !== undefined) return text(content);
  if (url !== undefined) return { type: 'input_file', file_url: url };
  return text(unshownFile(block));
};

const part = (block: UserContent, provider: string): object => {
  if (block.type === 'text') return text(block.text);
  return block.type === 'image' ? image(block) : file(block, provider);
};

const parts = (content: readonly UserContent[], provider: string): object[] =>
  content.filter((block) => block.type !== 'text' || block.text !== '').map((block) => part(block, provider));

/** A user message; `''` when nothing is left of it. */
export function responsesUserItem(content: readonly UserContent[], provider: string): string {
  const written = parts(content, provider);
  return written.length === 0 ? '' : toJson({ role: 'user', content: written });
}

/** What a result has to say of the call it answers. */
export interface AnsweredCall {
  /** A call of a custom tool, whose result is an item of its own kind. */
  readonly custom: boolean;
  /** The program that made the call, in the provider's own shape. */
  readonly caller: JsonValue | undefined;
}

const outputItem = (call: AnsweredCall, wireId: string, output: string | object[]): string =>
  toJson({
    type: call.custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: wireId,
    output,
    caller: call.caller,
  });

/** A result: text as a string, anything with an image or a file as a list. */
export function responsesToolResult(
  message: ToolResultMessage,
  call: AnsweredCall,
  wireId: string,
  provider: string,
): string {
  if (message.content.some((block) => block.type !== 'text')) {
    return outputItem(call, wireId, parts(message.content, provider));
  }
  const output = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  // The wire has no mark for errors.
  return outputItem(call, wireId, message.isError && output === '' ? 'The tool failed.' : output);
}

/** The answer to a call that has none. */
export function responsesInterruptedResult(call: AnsweredCall, wireId: string): string {
  return outputItem(call, wireId, INTERRUPTED_RESULT);
}
