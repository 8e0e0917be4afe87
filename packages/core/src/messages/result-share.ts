import type { FileBlock, ImageBlock, TextBlock, ToolResultContent } from './content.ts';
import { cutCharacters } from './cut.ts';
import { estimateMessage, estimateText, utf8Length } from './estimate.ts';
import type { ToolResultMessage } from './message.ts';

/** Tokens that one result brings into the view at most, unless the agent says otherwise. */
export const DEFAULT_RESULT_TOKENS = 50_000;

/** A model whose window nobody knows: one result is a quarter of it by default. */
const ASSUMED_WINDOW = 4 * DEFAULT_RESULT_TOKENS;

/** What of the window one result may take, and all results of a turn together. */
const SHARE_OF_ONE = 1 / 4;

const SHARE_OF_ALL = 1 / 2;

/** A result keeps so many tokens however many there are: a note says where the rest is. */
const LEAST = 64;

/** Tokens that one result may bring into the view of a model with this window; null when it isn't known. */
export const resultTokens = (most: number, window: number | null): number =>
  Math.max(LEAST, Math.floor(Math.min(most, (window ?? ASSUMED_WINDOW) * SHARE_OF_ONE)));

/**
 * The tokens to which the results of a turn are cut: those with fewer stay whole, the others share what these leave. Null
 * when all of them fit.
 *
 * @param sizes Tokens of each result, estimated.
 * @param most Tokens that one of them may have: {@link resultTokens}.
 */
export function fairShare(sizes: readonly number[], most: number, window: number | null): number | null {
  let left = (window ?? ASSUMED_WINDOW) * SHARE_OF_ALL;
  let sharing = sizes.length;
  for (const size of sizes.toSorted((a, b) => a - b)) {
    const share = Math.max(LEAST, Math.min(most, Math.floor(left / sharing)));
    // The sizes only grow: this one and all that follow get the same.
    if (size > share) return share;
    left -= size;
    sharing -= 1;
  }
  return null;
}

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
