import type {
  AssistantMessage,
  FileBlock,
  ImageBlock,
  JsonObject,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultMessage,
  UserContent,
} from '@treadle/core';
import { INTERRUPTED_RESULT, legalToolName } from '../shared/call-ids.ts';
import { fileText, unshown } from '../shared/content.ts';
import { toJson } from '../shared/json-text.ts';
import type { OpenAIChatQuirks } from './quirks.ts';

const TOOL_NAME_LENGTH = 64;
const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
]);

const text = (value: string): object => ({ type: 'text', text: value });
const dataUrl = (mediaType: string, data: string): string => `data:${mediaType};base64,${data}`;

const imagePart = (block: ImageBlock): object => ({
  type: 'image_url',
  image_url: { url: block.url ?? dataUrl(block.mediaType, block.data ?? '') },
});

const note = (what: string): object => text(unshown(what));

const shownImage = (block: ImageBlock, quirks: Required<OpenAIChatQuirks>): object =>
  quirks.media.includes('image') ? imagePart(block) : note(`An image of type ${block.mediaType}`);

const filePart = (block: FileBlock, provider: string, quirks: Required<OpenAIChatQuirks>): object => {
  const { mediaType, data, url, name } = block;
  if (mediaType.startsWith('image/') && (data !== undefined || url !== undefined)) {
    const source = url === undefined ? { data: data ?? '' } : { url };
    return shownImage({ type: 'image', mediaType, ...source }, quirks);
  }
  const files = quirks.media.includes('file');
  if (files && block.fileId !== undefined && block.provider === provider)
    return { type: 'file', file: { file_id: block.fileId } };
  const format = quirks.media.includes('audio') ? AUDIO_FORMATS.get(mediaType) : undefined;
  if (data !== undefined && format !== undefined) return { type: 'input_audio', input_audio: { data, format } };
  if (files && data !== undefined && mediaType === 'application/pdf') {
    return { type: 'file', file: { filename: name ?? 'file.pdf', file_data: dataUrl(mediaType, data) } };
  }
  const content = fileText(block);
  return content === undefined
    ? note(`The file ${name ?? url ?? 'without a name'} of type ${mediaType}`)
    : text(content);
};

const part = (block: UserContent, provider: string, quirks: Required<OpenAIChatQuirks>): object => {
  if (block.type === 'text') return text(block.text);
  return block.type === 'image' ? shownImage(block, quirks) : filePart(block, provider, quirks);
};

const isEmptyText = (block: UserContent): boolean => block.type === 'text' && block.text === '';

/** A user message; `''` when nothing is left of it. */
export function chatUserMessage(
  content: readonly UserContent[],
  provider: string,
  quirks: Required<OpenAIChatQuirks>,
): string {
  const blocks = content.filter((block) => !isEmptyText(block));
  const [first] = blocks;
  if (first === undefined) return '';
  const only = blocks.length === 1 && first.type === 'text' ? first.text : undefined;
  return toJson({ role: 'user', content: only ?? blocks.map((block) => part(block, provider, quirks)) });
}

const NO_CONTENT: readonly UserContent[] = [];

/** What a tool message can't carry: its images and files, for a user message after it. */
export function toolResultAttachments(message: ToolResultMessage): readonly UserContent[] {
  if (message.content.every(({ type }) => type === 'text')) return NO_CONTENT;
  const attached = message.content.filter((block) => block.type !== 'text');
  return [{ type: 'text', text: `Attached to the result of ${message.toolName}:` }, ...attached];
}

/** A tool message. The wire has no mark for errors, so the text carries it. */
export function chatToolMessage(message: ToolResultMessage, wireId: string): string {
  const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const attachments = message.content.length - texts.length;
  if (attachments > 0) texts.push(`[${attachments} attached in the next message]`);
  const content = texts.join('\n');
  const said = message.isError && content === '' ? 'The tool failed.' : content;
  return toJson({ role: 'tool', tool_call_id: wireId, content: said });
}

/** The answer to a call that has none. */
export function chatInterruptedResult(wireId: string): string {
  return toJson({ role: 'tool', tool_call_id: wireId, content: INTERRUPTED_RESULT });
}

const callOf = (call: ToolCallBlock, own: boolean, wireId: string): object => {
  const name = legalToolName(call.name, TOOL_NAME_LENGTH);
  // `{}` for what was no JSON object: some servers parse this text, and its result says what was wrong with it.
  const fn = { name, arguments: toJson(call.arguments) };
  // An item of the Responses API, which the same provider speaks too, is nothing here.
  const opaque = own && call.opaque?.['item'] === undefined ? call.opaque : undefined;
  return { ...opaque, id: wireId, type: 'function', function: fn };
};

/** What stands for reasoning that isn't there. Not nothing: servers that demand it take an empty one for none. */
const NO_REASONING = ' ';

const reasoningFields = (
  blocks: readonly ThinkingBlock[],
  called: boolean,
  { reasoningField, reasoningRequired }: Required<OpenAIChatQuirks>,
): JsonObject | undefined => {
  if (blocks.length === 0 && !(called && reasoningRequired)) return undefined;
  const details = blocks.flatMap((block) => {
    const list = block.opaque?.['reasoning_details'];
    return Array.isArray(list) ? (list as JsonObject[]) : [];
  });
  if (details.length > 0) return { reasoning_details: details };
  if (reasoningField === 'none') return undefined;
  const reasoning = blocks.map((block) => block.text).join('');
  if (reasoning !== '') return { [reasoningField]: reasoning };
  return called && reasoningRequired ? { [reasoningField]: NO_REASONING } : undefined;
};

/** An assistant message; `''` when nothing of it can be sent. */
export function chatAssistantMessage(
  message: AssistantMessage,
  own: boolean,
  wireIds: ReadonlyMap<string, string>,
  quirks: Required<OpenAIChatQuirks>,
): string {
  let content = '';
  const calls: object[] = [];
  const thinking: ThinkingBlock[] = [];
  for (const block of message.content) {
    if (block.type === 'text') content += block.text;
    else if (block.type === 'tool_call') calls.push(callOf(block, own, wireIds.get(block.callId) ?? block.callId));
    else if (block.type === 'thinking' && own) thinking.push(block);
  }
  if (content === '' && calls.length === 0) return '';
  return toJson({
    role: 'assistant',
    content: content === '' ? quirks.emptyContent : content,
    ...reasoningFields(thinking, calls.length > 0, quirks),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  });
}
