import type { AssistantMessage, FileBlock, ImageBlock, ToolResultMessage, UserContent } from '@treadle/core';
import { INTERRUPTED_RESULT, legalToolName } from '../shared/call-ids.ts';
import { fileText, unshown, unshownFile } from '../shared/content.ts';
import { toJson } from '../shared/json-text.ts';

const TOOL_NAME_LENGTH = 64;

/** What a message carries on this wire: one text, and images beside it. */
interface Parts {
  readonly texts: string[];
  readonly images: string[];
}

const isImage = (block: UserContent): block is ImageBlock | FileBlock =>
  block.type === 'image' || (block.type === 'file' && block.mediaType.startsWith('image/'));

const partsOf = (content: readonly UserContent[]): Parts => {
  const parts: Parts = { texts: [], images: [] };
  for (const block of content) {
    if (block.type === 'text') {
      if (block.text !== '') parts.texts.push(block.text);
    } else if (!isImage(block)) parts.texts.push(fileText(block) ?? unshownFile(block));
    // The wire takes bytes and no addresses.
    else if (block.data !== undefined && block.data !== '') parts.images.push(block.data);
    else parts.texts.push(unshown(`An image of type ${block.mediaType}`));
  }
  return parts;
};

/** A user message; `''` when nothing is left of it. */
export function ollamaUserMessage(content: readonly UserContent[]): string {
  const { texts, images } = partsOf(content);
  if (texts.length === 0 && images.length === 0) return '';
  return toJson({ role: 'user', content: texts.join('\n'), ...(images.length === 0 ? {} : { images }) });
}

/** The images of a result, for a user message after it: models look at those of users only. */
export function ollamaResultImages(message: ToolResultMessage): readonly UserContent[] {
  const images = message.content.filter((block) => isImage(block) && block.data !== undefined);
  return images.length === 0 ? [] : [{ type: 'text', text: `From the result of ${message.toolName}:` }, ...images];
}

const toolMessage = (name: string, wireId: string, content: string): string =>
  toJson({ role: 'tool', tool_name: legalToolName(name, TOOL_NAME_LENGTH), tool_call_id: wireId, content });

/** A tool message; `name` is what was called. The wire has no mark for errors: the text has it. */
export function ollamaToolMessage(message: ToolResultMessage, name: string, wireId: string): string {
  const { texts, images } = partsOf(message.content);
  if (images.length > 0) texts.push(`[${images.length} in the next message]`);
  const content = texts.join('\n');
  return toolMessage(name, wireId, message.isError && content === '' ? 'The tool failed.' : content);
}

/** The answer to a call that has none. */
export function ollamaInterruptedResult(name: string, wireId: string): string {
  return toolMessage(name, wireId, INTERRUPTED_RESULT);
}

/** An assistant message; `''` when nothing of it can be sent. */
export function ollamaAssistantMessage(
  message: AssistantMessage,
  own: boolean,
  wireIds: ReadonlyMap<string, string>,
): string {
  let content = '';
  let thinking = '';
  const calls: object[] = [];
  for (const block of message.content) {
    if (block.type === 'text') content += block.text;
    else if (block.type === 'thinking' && own) thinking += block.text;
    else if (block.type === 'tool_call') {
      const name = legalToolName(block.name, TOOL_NAME_LENGTH);
      const input = block.problem === undefined ? block.arguments : {};
      calls.push({ id: wireIds.get(block.callId) ?? block.callId, function: { name, arguments: input } });
    }
  }
  if (content === '' && calls.length === 0) return '';
  return toJson({
    role: 'assistant',
    content,
    ...(thinking === '' ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  });
}
