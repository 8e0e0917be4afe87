import type { Token, Tokens } from 'marked';

import { plainText } from '../../cli/asking/plain-text.ts';
import { fit, widthOf, wrap, wrapIndented } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';
import { codeLines } from './highlight.ts';
import type { Piece } from './stream.ts';

/** A piece of Markdown as rows. What comes from outside is made harmless before it meets a style. */
export function pieceRows(piece: Piece, columns: number, theme: Theme): string[] {
  const rows =
    piece.type === 'code'
      ? codeLines(plainText(piece.code), piece.language, theme)
          .slice(piece.from)
          .flatMap((line) => wrap(line, columns))
      : blockRows(piece.token, columns, theme);
  return piece.gap ? ['', ...rows] : rows;
}

function blockRows(token: Token, columns: number, theme: Theme): string[] {
  const inline = (tokens: readonly Token[] | undefined, text: string): string =>
    tokens === undefined ? plainText(text) : inlineText(tokens, theme);
  switch (token.type) {
    case 'heading': {
      const { depth, tokens, text } = token as Tokens.Heading;
      const said = inline(tokens, text);
      return wrap(theme.bold(depth <= 2 ? theme.accent(said) : said), columns);
    }
    case 'code': {
      const { lang, text } = token as Tokens.Code;
      return codeLines(plainText(text), lang?.split(/\s/)[0] ?? '', theme).flatMap((line) => wrap(line, columns));
    }
    case 'blockquote': {
      const { tokens } = token as Tokens.Blockquote;
      return blocksRows(tokens, columns - 2, theme).map((row) => `${theme.dim('│')} ${row}`);
    }
    case 'list':
      return listRows(token as Tokens.List, columns, theme);
    case 'table':
      return tableRows(token as Tokens.Table, columns, theme);
    case 'hr':
      return [theme.dim('─'.repeat(Math.min(columns, 40)))];
    case 'html':
      return plainText(token.raw.trimEnd())
        .split('\n')
        .flatMap((line) => wrap(line, columns));
    default: {
      const { tokens, text } = token as Tokens.Paragraph;
      return inline(tokens, text)
        .split('\n')
        .flatMap((line) => wrap(line, columns));
    }
  }
}

function blocksRows(tokens: readonly Token[], columns: number, theme: Theme): string[] {
  const solid = tokens.filter(({ type }) => type !== 'space' && type !== 'checkbox');
  return solid.flatMap((token, index) => {
    const isTight = token.type === 'list' || token.type === 'text';
    return [...(index > 0 && !isTight ? [''] : []), ...blockRows(token, Math.max(4, columns), theme)];
  });
}

function listRows({ ordered, start, items }: Tokens.List, columns: number, theme: Theme): string[] {
  return items.flatMap(({ tokens, task, checked }, index) => {
    const number = ordered ? `${(start === '' ? 1 : start) + index}. ` : '• ';
    const mark = `${number}${task ? (checked ? '[x] ' : '[ ] ') : ''}`;
    const rows = blocksRows(tokens, columns - mark.length, theme);
    return (rows.length === 0 ? [''] : rows).map(
      (row, line) => `${line === 0 ? theme.dim(mark) : ' '.repeat(mark.length)}${row}`,
    );
  });
}

/** A table with its columns aligned; where they don't fit, a row is a list of its cells. */
function tableRows({ header, rows, align }: Tokens.Table, columns: number, theme: Theme): string[] {
  const cell = ({ tokens, text }: Tokens.TableCell): string =>
    (tokens.length === 0 ? plainText(text) : inlineText(tokens, theme)).replaceAll('\n', ' ');
  const head = header.map(cell);
  const body = rows.map((row) => row.map(cell));
  const widths = head.map((name, index) => Math.max(...[name, ...body.map((row) => row[index] ?? '')].map(widthOf), 1));
  const total = widths.reduce((sum, width) => sum + width + 2, -2);
  if (total > columns) {
    return body.flatMap((row, number) => [
      ...(number > 0 ? [''] : []),
      ...row.flatMap((text, index) => wrapIndented(`${theme.bold(fit(head[index] ?? '', 20))}: `, text, columns)),
    ]);
  }
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, index) => {
        const room = Math.max(0, (widths[index] ?? 0) - widthOf(text));
        const before = align[index] === 'right' ? room : align[index] === 'center' ? Math.floor(room / 2) : 0;
        return `${' '.repeat(before)}${text}${' '.repeat(room - before)}`;
      })
      .join('  ')
      .trimEnd();
  const rule = theme.dim(widths.map((width) => '─'.repeat(width)).join('  '));
  return [theme.bold(line(head)), rule, ...body.map(line)];
}

function inlineText(tokens: readonly Token[], theme: Theme): string {
  return tokens.map((token) => inlineToken(token, theme)).join('');
}

/** Characters that Markdown writes with a name. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
};
const ENTITY = /&(?:amp|lt|gt|quot|#39|nbsp);/g;

function inlineToken(token: Token, theme: Theme): string {
  const inside = (): string => {
    const { tokens, text = '' } = token as { readonly tokens?: readonly Token[]; readonly text?: string };
    return tokens === undefined
      ? plainText(text.replaceAll(ENTITY, (name) => ENTITIES[name] ?? name))
      : inlineText(tokens, theme);
  };
  switch (token.type) {
    case 'strong':
      return theme.bold(inside());
    case 'em':
      return theme.italic(inside());
    case 'codespan':
      return theme.code(plainText((token as Tokens.Codespan).text));
    case 'br':
      return '\n';
    case 'link': {
      const { href, text } = token as Tokens.Link;
      const said = inside();
      const isAddress = href === text.replaceAll('`', '');
      return isAddress || href === `mailto:${text}` ? said : `${said} ${theme.dim(`(${plainText(href)})`)}`;
    }
    case 'image': {
      const { href, text } = token as Tokens.Image;
      return `[${plainText(text === '' ? 'image' : text)}] ${theme.dim(`(${plainText(href)})`)}`;
    }
    case 'html':
      return plainText(token.raw);
    default:
      return inside();
  }
}
