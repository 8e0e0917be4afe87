import type { Blobs } from '../../ports/blobs.ts';
import type { ToolResultContent } from '../../messages/content.ts';
import { headOf } from '../../messages/cut.ts';

/** Characters of a line that a search shows, and at which a line without an end is taken for several. */
const LINE_LENGTH = 500;
const LONGEST_LINE = 1_000_000;

/** A text in pieces. */
type Texts = AsyncIterable<string> | Iterable<string>;

/** The texts of a result, those that were cut as they were before. */
export async function* wholeTexts(blocks: readonly ToolResultContent[], blobs: Blobs): AsyncGenerator<string> {
  let isFirst = true;
  for (const block of blocks) {
    if (!isFirst) yield '\n';
    isFirst = false;
    if (block.type !== 'text') yield `(${block.type}, ${block.mediaType})`;
    else if (!block.whole) yield block.text;
    else {
      const decoder = new TextDecoder();
      for await (const bytes of blobs.read(block.whole.id)) yield decoder.decode(bytes, { stream: true });
      yield decoder.decode();
    }
  }
}

/** So many characters from an offset on, and how many there are. All of the text is read, and only the piece is held. */
export async function pieceOfStream(texts: Texts, offset: number, limit: number): Promise<string> {
  let characters = 0;
  let piece = '';
  for await (const text of texts) {
    const from = Math.max(0, offset - characters);
    characters += text.length;
    if (piece.length < limit && from < text.length) piece += text.slice(from, from + limit - piece.length);
  }
  if (offset > 0 && offset >= characters) return `There are only ${characters} characters.`;
  const shown = headOf(piece, limit).toWellFormed();
  const end = offset + shown.length;
  const rest = end < characters ? ` Go on with offset ${end}.` : '';
  return offset === 0 && rest === '' ? shown : `[Characters ${offset} to ${end} of ${characters}.${rest}]\n${shown}`;
}

/** The lines that contain a text, from an offset of the list of them on. */
export async function linesOfStream(texts: Texts, search: string, offset: number, limit: number): Promise<string> {
  const found = await pieceOfStream(linesWith(texts, search.toLowerCase()), offset, limit);
  return found === '' ? `No line contains ${JSON.stringify(search)}.` : found;
}

async function* linesWith(texts: Texts, wanted: string): AsyncGenerator<string> {
  let number = 0;
  let found = 0;
  const shown = (line: string): string => {
    number += 1;
    if (!line.toLowerCase().includes(wanted)) return '';
    found += 1;
    return `${found > 1 ? '\n' : ''}${number}: ${headOf(line, LINE_LENGTH)}`;
  };
  let rest = '';
  for await (const text of texts) {
    rest += text;
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      yield shown(rest.slice(from, end));
      from = end + 1;
    }
    rest = rest.slice(from);
    if (rest.length <= LONGEST_LINE) continue;
    yield shown(rest);
    number -= 1;
    rest = '';
  }
  if (rest !== '') yield shown(rest);
}
