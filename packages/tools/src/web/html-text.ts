import { attributeOf, htmlTokens } from './tokens.ts';

/** A page as a person reads it. */
export interface PageText {
  /** Empty when the page has none. */
  readonly title: string;
  /** Markdown: headings, lists, links with absolute addresses, tables as lines, code in fences. */
  readonly text: string;
}

/** Elements before and after which a line ends. */
const LINES: ReadonlySet<string> = new Set('div tr dt dd li figcaption option summary address'.split(' '));

/** Elements before and after which a line stays empty. */
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre section article main header footer nav aside figure ' +
    'form fieldset details hr title'
  ).split(' '),
);

const HEADING = /^h[1-6]$/;

/** Lists deeper than that are not moved in any further. */
const MAX_INDENT = 10;

interface Writer {
  readonly parts: string[];
  /** Line ends that come before the next text. */
  breaks: number;
  /** Whether a space comes before the next text of the line. */
  space: boolean;
  /** How many `pre` are open. */
  pre: number;
}

/** A page's text and title. `base` is the page's address, for its links. */
export function htmlToText(html: string, base: URL): PageText {
  const writer: Writer = { parts: [], breaks: 0, space: false, pre: 0 };
  const lists: (number | null)[] = [];
  let link: { readonly href: string; readonly at: number } | null = null;
  let title: string | null = null;
  let inTitle = false;

  const endLink = (): void => {
    if (link === null) return;
    const { href, at } = link;
    link = null;
    // A link without words leads nowhere that a reader could see.
    if (writer.parts.length === at) return;
    const [first = ''] = writer.parts.splice(at, 1);
    const lead = /^\s*/.exec(first)?.[0] ?? '';
    writer.parts.splice(at, 0, `${lead}[${first.slice(lead.length)}`);
    writer.parts.push(`](${href})`);
  };

  for (const token of htmlTokens(html)) {
    if (token.type === 'text') {
      if (inTitle) title ??= token.text.replace(/\s+/g, ' ').trim();
      else write(writer, token.text);
      continue;
    }
    const { name } = token;
    if (name === 'title') {
      inTitle = token.type === 'open' && title === null;
      continue;
    }
    if (name === 'a') {
      endLink();
      const href = token.type === 'open' ? linkTarget(attributeOf(token.attributes, 'href'), base) : null;
      if (href !== null) link = { href, at: writer.parts.length };
      continue;
    }
    lineEnds(writer, name);
    if (name === 'ul' || name === 'ol') {
      if (token.type === 'open') lists.push(name === 'ol' ? 0 : null);
      else lists.pop();
      if (lists.length > (token.type === 'open' ? 1 : 0)) writer.breaks = Math.min(writer.breaks, 1);
    }
    if (token.type === 'open') opened(writer, name, token.attributes, lists);
    else if (name === 'pre' && writer.pre > 0 && (writer.pre -= 1) === 0) fence(writer);
  }
  endLink();
  if (writer.pre > 0) fence(writer);
  return { title: title ?? '', text: writer.parts.join('').trim() };
}

function lineEnds(writer: Writer, name: string): void {
  if (BLOCKS.has(name)) writer.breaks = Math.max(writer.breaks, 2);
  else if (LINES.has(name)) writer.breaks = Math.max(writer.breaks, 1);
}

function opened(writer: Writer, name: string, attributes: string, lists: (number | null)[]): void {
  if (HEADING.test(name)) mark(writer, `${'#'.repeat(Number(name[1]))} `);
  else if (name === 'br') writer.breaks = Math.min(2, writer.breaks + 1);
  else if (name === 'hr') mark(writer, '---\n');
  else if (name === 'td' || name === 'th') cell(writer);
  else if (name === 'li') mark(writer, bullet(lists));
  else if (name === 'blockquote') mark(writer, '> ');
  else if (name === 'pre' && (writer.pre += 1) === 1) fence(writer);
  else if (name === 'img') {
    const described = attributeOf(attributes, 'alt');
    if (described) write(writer, `[image: ${described}]`);
  }
}

function bullet(lists: (number | null)[]): string {
  const last = lists.length - 1;
  const count = lists[last];
  const indent = '  '.repeat(Math.max(0, Math.min(last, MAX_INDENT)));
  if (count === null || count === undefined) return `${indent}- `;
  lists[last] = count + 1;
  return `${indent}${count + 1}. `;
}

/** Words of ours at the beginning of a line. */
function mark(writer: Writer, text: string): void {
  writer.parts.push(lead(writer), text);
}

/** Cells of a row stand in one line. */
function cell(writer: Writer): void {
  if (writer.breaks === 0 && writer.parts.length > 0) writer.parts.push(' | ');
  writer.space = false;
}

function fence(writer: Writer): void {
  writer.breaks = writer.pre > 0 ? Math.max(writer.breaks, 1) : 1;
  writer.parts.push(lead(writer), '```');
  writer.breaks = 1;
}

function lead(writer: Writer): string {
  const text = writer.parts.length === 0 ? '' : '\n'.repeat(writer.breaks);
  writer.breaks = 0;
  writer.space = false;
  return text;
}

function write(writer: Writer, text: string): void {
  if (writer.pre > 0) {
    if (text !== '') writer.parts.push(lead(writer) + text);
    return;
  }
  const words = text.replace(/\s+/g, ' ');
  const bare = words.trim();
  if (bare === '') {
    writer.space ||= words !== '' && writer.breaks === 0;
    return;
  }
  const space = writer.breaks === 0 && (writer.space || words.startsWith(' ')) && writer.parts.length > 0 ? ' ' : '';
  writer.parts.push(lead(writer) + space + bare);
  writer.space = words.endsWith(' ');
}

/** A link's absolute address; null for what isn't a page's. */
function linkTarget(href: string | undefined, base: URL): string | null {
  if (href === undefined || href.startsWith('#') || href.length > 2000) return null;
  const url = URL.parse(href, base.href);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : null;
}
