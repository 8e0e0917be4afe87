import type { FileBlock, ImageBlock, JsonValue, ToolResultMessage, UserContent } from '@treadle/core';
import type { ToolDefinition } from '@treadle/core/model';
import { INTERRUPTED_RESULT } from '../shared/call-ids.ts';
import { fileText, unshown, unshownFile } from '../shared/content.ts';
import { toJson } from '../shared/json-text.ts';
import { isClientCall, SEARCH_CALL } from './provider.ts';

/** A part of a user's message or of a result. */
interface Part {
  readonly type: 'input_text' | 'input_image' | 'input_file';
  readonly text?: string;
  readonly [field: string]: unknown;
}

const FAILED = 'The tool failed.';

const dataUrl = (mediaType: string, data: string): string => `data:${mediaType};base64,${data}`;
const text = (value: string): Part => ({ type: 'input_text', text: value });

const image = (block: ImageBlock): Part => ({
  type: 'input_image',
  detail: 'auto',
  image_url: block.url ?? dataUrl(block.mediaType, block.data ?? ''),
});

const file = (block: FileBlock, provider: string): Part => {
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

const part = (block: UserContent, provider: string): Part => {
  if (block.type === 'text') return text(block.text);
  return block.type === 'image' ? image(block) : file(block, provider);
};

const parts = (content: readonly UserContent[], provider: string): Part[] =>
  content.filter((block) => block.type !== 'text' || block.text !== '').map((block) => part(block, provider));

/** A user message; `''` when nothing is left of it. */
export function responsesUserItem(content: readonly UserContent[], provider: string): string {
  const written = parts(content, provider);
  return written.length === 0 ? '' : toJson({ role: 'user', content: written });
}

/** What a result has to say of the call it answers. */
export interface AnsweredCall {
  /** The type of the call's item. Each has results of its own. */
  readonly type: string;
  /** The program that made the call, in the provider's own shape. */
  readonly caller: JsonValue | undefined;
  /** What was to be looked at before the call was carried out. */
  readonly checks: JsonValue | undefined;
}

interface Answer {
  readonly isError: boolean;
  readonly text: string;
  /** A picture of the screen. */
  readonly picture?: object | undefined;
  /** What a search has found. */
  readonly found?: ToolResultMessage['foundTools'] | undefined;
}

const foundTool = ({ name, description, inputSchema: parameters }: ToolDefinition): object => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: false,
  defer_loading: true,
});

/** A result of a computer is a picture, so one without is shown nothing. */
const NO_PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The item that answers a call; more than one where the wire has no place in it for words. */
function answerItems({ type, caller, checks }: AnsweredCall, wireId: string, answer: Answer): object[] {
  const { isError, text: output } = answer;
  const said = { type: `${type}_output`, call_id: wireId };
  switch (type) {
    case SEARCH_CALL: {
      const tools = answer.found?.map(foundTool) ?? [];
      return [{ type: 'tool_search_output', call_id: wireId, execution: 'client', status: 'completed', tools }];
    }
    case 'apply_patch_call':
      return [{ ...said, status: isError ? 'failed' : 'completed', output }];
    case 'shell_call': {
      const outcome = { type: 'exit', exit_code: isError ? 1 : 0 };
      return [{ ...said, output: [{ stdout: isError ? '' : output, stderr: isError ? output : '', outcome }] }];
    }
    case 'computer_call': {
      const screenshot = { type: 'computer_screenshot', ...(answer.picture ?? { image_url: NO_PICTURE }) };
      const acknowledged_safety_checks = isError ? undefined : checks;
      const item = { ...said, output: screenshot, acknowledged_safety_checks };
      return output === '' ? [item] : [item, { role: 'user', content: [text(output)] }];
    }
    default:
      return [{ ...said, output, caller }];
  }
}

const written = (items: readonly object[]): string => items.map((item) => toJson(item)).join(',');

/** The result of a call of the provider's own kind: words, and the last picture where it takes one. */
function ownResult(
  { content, isError, foundTools: found }: ToolResultMessage,
  { type }: AnsweredCall,
  provider: string,
): Answer {
  const all: readonly Part[] = parts(content, provider);
  const last = all.findLast((one) => one.type === 'input_image');
  const { detail: _, type: __, ...picture } = last ?? { type: 'input_image' };
  const takesPicture = type === 'computer_call' && last !== undefined;
  const said = all.filter((one) => !(takesPicture && one.type === 'input_image'));
  const words = said.map((one) => one.text ?? unshown('A part of this result')).join('\n');
  return {
    isError,
    text: isError && words === '' ? FAILED : words,
    picture: takesPicture ? picture : undefined,
    found,
  };
}

/** A result: text as a string, anything with an image or a file as a list where the wire takes one. */
export function responsesToolResult(
  message: ToolResultMessage,
  call: AnsweredCall,
  wireId: string,
  provider: string,
): string {
  const { content, isError } = message;
  const { type, caller } = call;
  if (isClientCall(type)) return written(answerItems(call, wireId, ownResult(message, call, provider)));
  if (content.some((block) => block.type !== 'text')) {
    return toJson({ type: `${type}_output`, call_id: wireId, output: parts(content, provider), caller });
  }
  const output = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  // The wire has no mark for errors.
  return written(answerItems(call, wireId, { isError, text: isError && output === '' ? FAILED : output }));
}

/** The answer to a call that has none. */
export function responsesInterruptedResult(call: AnsweredCall, wireId: string): string {
  return written(answerItems(call, wireId, { isError: true, text: INTERRUPTED_RESULT }));
}
