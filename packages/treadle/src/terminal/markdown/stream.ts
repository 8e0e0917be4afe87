import { Lexer, type Token, type Tokens } from 'marked';

/** A part of a Markdown text that is shown by itself, and never changes once it is finished. */
export type Piece =
  | { readonly type: 'block'; readonly token: Token; readonly gap: boolean }
  /** Some lines of a fenced block, with all of the block up to there: colours depend on what comes before. */
  | {
      readonly type: 'code';
      readonly language: string;
      readonly code: string;
      readonly from: number;
      readonly gap: boolean;
    };

/** Cuts a Markdown text into pieces while it comes in. However it is cut on its way in, the pieces show the same. */
export interface MarkdownStream {
  push(text: string): void;
  /** The pieces that are finished since the last call. */
  finished(): Piece[];
  /** The pieces that the rest is so far: they may become others. */
  open(): readonly Piece[];
  /** No more is coming: everything is finished. */
  end(): Piece[];
  /** All that was pushed. */
  readonly text: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)\n/;

interface OpenFence {
  readonly close: RegExp;
  readonly language: string;
  readonly gap: boolean;
  code: string;
  /** Lines that are finished. */
  done: number;
}

export function markdownStream(): MarkdownStream {
  let all = '';
  /** What isn't finished, after the fence that is open. */
  let rest = '';
  let fence: OpenFence | null = null;
  let isFirst = true;
  let lexed: { readonly rest: string; readonly pieces: readonly Piece[] } | null = null;

  const gap = (): boolean => {
    const is = !isFirst;
    isFirst = false;
    return is;
  };

  function takeFence(open: OpenFence, isEnd: boolean): Piece[] {
    const lines = rest.split('\n');
    const last = lines.pop() ?? '';
    const closing = lines.findIndex((line) => open.close.test(line));
    const isClosed = closing !== -1 || (isEnd && open.close.test(last));
    const inside = closing === -1 ? lines : lines.slice(0, closing);
    const unended = closing === -1 && isEnd && !isClosed && last !== '' ? [last] : [];
    const added = [...inside, ...unended];
    rest = closing === -1 ? (isEnd ? '' : last) : [...lines.slice(closing + 1), last].join('\n');
    if (isClosed || isEnd) fence = null;
    if (added.length === 0) return [];
    const before = open.code === '' && open.done === 0 ? '' : `${open.code}\n`;
    open.code = before + added.join('\n');
    const { language, code, done } = open;
    open.done += added.length;
    return [{ type: 'code', language, code, from: done, gap: open.gap && done === 0 }];
  }

  function take(isEnd: boolean): Piece[] {
    const pieces: Piece[] = [];
    for (;;) {
      if (fence) {
        const open = fence;
        pieces.push(...takeFence(open, isEnd));
        if (fence === open) return pieces;
        continue;
      }
      rest = rest.replace(/^(?:[ \t]*\n)+/, '');
      const start = FENCE.exec(rest);
      if (start) {
        const [head, mark = '', info = ''] = start;
        rest = rest.slice(head.length);
        const close = new RegExp(`^ {0,3}\\${mark.charAt(0)}{${mark.length},}[ \\t]*$`);
        lastList = null;
        fence = { close, language: info.trim().split(/\s/)[0] ?? '', gap: gap(), code: '', done: 0 };
        continue;
      }
      const tokens = Lexer.lex(rest).filter(({ type }) => type !== 'def');
      const solid = tokens.filter(({ type }) => type !== 'space');
      const next = solid[0];
      if (next === undefined) {
        if (isEnd) rest = '';
        return pieces;
      }
      const first = itemOf(next);
      const isLast = solid.length === 1 && first === null;
      if (isLast && !isEnd) return pieces;
      const token = first ?? next;
      pieces.push({ type: 'block', token, gap: gap() && !isLaterItem(token) });
      rest = rest.slice(rest.indexOf(token.raw) + token.raw.length);
      if (rest === '' && isEnd) return pieces;
    }
  }

  /** A list is shown item by item: the first one, when another follows. */
  function itemOf(token: Token): Tokens.List | null {
    if (token.type !== 'list') return null;
    const list = token as Tokens.List;
    const [item, ...others] = list.items;
    if (item === undefined || others.length === 0) return null;
    return { ...list, raw: item.raw, items: [item] };
  }

  /** What the block before was a list of; null for no list. */
  let lastList: 'bullets' | 'numbers' | null = null;
  const listOf = (token: Token): typeof lastList =>
    token.type === 'list' ? ((token as Tokens.List).ordered ? 'numbers' : 'bullets') : null;
  function isLaterItem(token: Token): boolean {
    const before = lastList;
    lastList = listOf(token);
    return before !== null && before === lastList;
  }

  return {
    get text() {
      return all;
    },
    push(text) {
      all += text;
      rest += text;
    },
    finished() {
      // A line that isn't whole finishes nothing.
      if (lexed?.rest === rest) return [];
      const pieces = take(false);
      lexed = { rest, pieces: openPieces() };
      return pieces;
    },
    open: () => lexed?.pieces ?? [],
    end() {
      const pieces = take(true);
      lexed = { rest, pieces: [] };
      return pieces;
    },
  };

  function openPieces(): readonly Piece[] {
    if (fence) {
      const code = fence.done === 0 ? rest : `${fence.code}\n${rest}`;
      return rest === '' ? [] : [{ type: 'code', language: fence.language, code, from: fence.done, gap: false }];
    }
    const tokens = Lexer.lex(rest).filter(({ type }) => type !== 'space' && type !== 'def');
    return tokens.map((token, index) => ({
      type: 'block',
      token,
      gap: index > 0 || (!isFirst && (lastList === null || lastList !== listOf(token))),
    }));
  }
}
