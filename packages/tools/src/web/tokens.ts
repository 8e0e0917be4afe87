import { decodeHTMLStrict } from 'entities';

/** A piece of an HTML text. */
export type HtmlToken =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly attributes: string }
  | { readonly type: 'close'; readonly name: string };

/** Elements whose content is not for readers, and is passed over with them. */
const UNREAD: ReadonlySet<string> = new Set('script style noscript template svg iframe object canvas math'.split(' '));

/** Elements whose content is text, whatever is in it. */
const RAW: ReadonlySet<string> = new Set(['title', 'textarea']);

const NAME = /[a-zA-Z][^\s/>]*/y;

/**
 * Takes an HTML text apart, in time that grows with its length whatever is in it. Nothing is an error: what is no tag is
 * text, and what isn't closed ends with the page.
 */
export function* htmlTokens(html: string): Generator<HtmlToken, void> {
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open === -1) {
      yield textOf(html.slice(at));
      return;
    }
    if (open > at) yield textOf(html.slice(at, open));
    const after = skipDeclaration(html, open);
    if (after !== null) {
      at = after;
      continue;
    }
    const isClosing = html[open + 1] === '/';
    NAME.lastIndex = open + (isClosing ? 2 : 1);
    const [name] = NAME.exec(html) ?? [];
    if (name === undefined) {
      yield textOf('<');
      at = open + 1;
      continue;
    }
    const begin = NAME.lastIndex;
    const end = endOfTag(html, begin);
    at = end + 1;
    const known = name.toLowerCase();
    if (isClosing) {
      yield { type: 'close', name: known };
      continue;
    }
    if (!UNREAD.has(known)) yield { type: 'open', name: known, attributes: html.slice(begin, end) };
    if (!UNREAD.has(known) && !RAW.has(known)) continue;
    const closing = new RegExp(`</${known}`, 'gi');
    closing.lastIndex = at;
    const close = closing.exec(html)?.index ?? html.length;
    if (RAW.has(known)) yield textOf(html.slice(at, close));
    at = UNREAD.has(known) ? endOfTag(html, close) + 1 : close;
  }
}

/** Without soft hyphens, which nobody sees. */
const textOf = (text: string): HtmlToken => ({
  type: 'text',
  text: decodeHTMLStrict(text).replaceAll('\u00ad', ''),
});

/** Where a comment, a doctype or an instruction that begins here ends; null when none does. */
function skipDeclaration(html: string, open: number): number | null {
  if (html[open + 1] !== '!' && html[open + 1] !== '?') return null;
  const mark = html.startsWith('<!--', open) ? '-->' : '>';
  const end = html.indexOf(mark, open + 2);
  return end === -1 ? html.length : end + mark.length;
}

/** The place of the `>` that ends a tag: not one inside of quotes. */
function endOfTag(html: string, from: number): number {
  let quote = '';
  for (let at = from; at < html.length; at += 1) {
    const character = html[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '>') return at;
    else if ((character === '"' || character === "'") && html[at - 1] === '=') quote = character;
  }
  return html.length;
}

/** An attribute's value, out of what stands in a tag behind its name. */
export function attributeOf(attributes: string, name: string): string | undefined {
  // Longer tags hold data, and no address that anybody could read.
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(
    attributes.slice(0, 8192),
  );
  const value = match?.[1] ?? match?.[2] ?? match?.[3];
  return value === undefined ? undefined : decodeHTMLStrict(value).trim();
}
