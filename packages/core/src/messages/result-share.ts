import type { FileBlock, ImageBlock, TextBlock, ToolResultContent } from './content.ts';
import { cutCharacters } from './cut.ts';
import { estimateMessage, estimateText, utf8Length } from './estimate.ts';
import type { ToolResultMessage } from './message.ts';

/**
 * A result of at most so many tokens: the beginning and the end of its text, and as many of its images and files as fit.
 * Notes say what is left out and how to read it. The same message when it fits.
 */
export function cutResult(message: ToolResultMessage, most: number, canRecall: boolean): ToolResultMessage {
  if (estimateMessage(message) <= most) return message;
  const hint = recallHint(canRecall ? RECALL : null, message.callId);
  const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).filter(Boolean);
  const media = message.content.filter((block) => block.type !== 'text');
  // Half is for the text, where there is both.
  const kept = mediaWithin(media, text.length === 0 ? most : most / 2);
  const notes = media.filter((block) => !kept.includes(block)).map((block) => mediaNote(block, hint));
  const words: TextBlock = { type: 'text', text: [...text, ...notes].join('\n') };
  const rest = tokensOf(message, kept);
  const shown = fitted(words.text, most - rest, (removed) => `[… ${removed} cut out; ${hint} …]`);
  return { ...message, content: [{ ...words, text: shown }, ...kept] };
}

const tokensOf = (message: ToolResultMessage, content: readonly ToolResultContent[]): number =>
  estimateMessage({ ...message, content });

function mediaWithin(media: readonly (ImageBlock | FileBlock)[], most: number): (ImageBlock | FileBlock)[] {
  const kept: (ImageBlock | FileBlock)[] = [];
  let tokens = 0;
  for (const block of media) {
    const more = tokensOf(NO_RESULT, [block]);
    if (tokens + more > most) continue;
    tokens += more;
    kept.push(block);
  }
  return kept;
}

const NO_RESULT: ToolResultMessage = {
  role: 'tool',
  id: '',
  at: 0,
  callId: '',
  toolName: '',
  content: [],
  isError: false,
};

function mediaNote(block: ImageBlock | FileBlock, hint: string): string {
  const name = block.type === 'file' && block.name !== undefined ? ` ${block.name}` : '';
  return `[The ${block.type}${name} (${block.mediaType}) that was here doesn't fit; ${hint}.]`;
}

/** The beginning and the end of a text, in at most so many tokens. A character may take several bytes, each another number. */
function fitted(text: string, most: number, note: (removed: string) => string): string {
  const bytes = utf8Length(text);
  const room = Math.max(0, 4 * most - utf8Length(note(`${text.length} characters`)) - 2);
  for (
    let length = Math.floor((text.length * room) / Math.max(1, bytes));
    length > 0;
    length = Math.floor(length * 0.9)
  ) {
    const cut = cutCharacters(text, length, note);
    if (estimateText(cut) <= most) return cut;
  }
  return note(`all ${text.length} characters`);
}

/** The name of the tool that reads removed text back. */
export const RECALL = 'recall';

/** How to get at what a handle names, in words. */
export const recallHint = (recallName: string | null, handle: string): string =>
  recallName === null ? `kept as ${handle}` : `read it with ${recallName}(${JSON.stringify({ handle })})`;
