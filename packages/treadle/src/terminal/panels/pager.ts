import { fit } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';
import type { ScreenOutput } from '../screen/screen.ts';
import type { Key } from './panel.ts';

/** Something long, shown by itself in the terminal's other buffer; the transcript below it stays as it is. */
export interface Pager {
  open(): void;
  resized(): void;
  /** False when it has closed. */
  key(key: Key): boolean;
  close(): void;
}

/** A row without its styles. */
const plain = (row: string): string => row.replaceAll(/\u001b\[[\d;]*m/g, ''); // oxlint-disable-line eslint/no-control-regex -- styles

export function createPager(
  output: ScreenOutput,
  theme: Theme,
  title: string,
  rowsFor: (columns: number, theme: Theme) => readonly string[],
  atEnd: boolean,
): Pager {
  let rows: readonly string[] = [];
  let top = 0;
  let search = '';
  let typing: string | null = null;
  let isLost = false;
  let shown: readonly string[] = [];
  const height = (): number => Math.max(1, output.rows - 1);
  const lowest = (): number => Math.max(0, rows.length - height());

  function draw(): void {
    top = Math.max(0, Math.min(top, lowest()));
    const visible = rows.slice(top, top + height());
    const filled = [...visible, ...Array.from({ length: height() - visible.length }, () => '')];
    const place = rows.length === 0 ? 'empty' : `${top + 1}–${top + visible.length} of ${rows.length}`;
    const found = isLost ? `nothing has "${search}"` : 'q leaves, / searches, g G first, last';
    const help = typing === null ? `${title} · ${place} · ${found}` : `/${typing}`;
    const next = [...filled.map(marked), fit(theme.dim(help), output.columns - 1)];
    let bytes = '';
    for (const [index, row] of next.entries()) {
      if (row !== shown[index]) bytes += `\u001b[${index + 1};1H${row}\u001b[K`;
    }
    shown = next;
    if (bytes !== '') output.write(bytes);
  }

  const has = (row: string): boolean => search !== '' && plain(row).toLowerCase().includes(search.toLowerCase());

  /** A row with what is searched for stands out. */
  const marked = (row: string): string => (has(row) ? theme.accent(plain(row)) : row);

  function find(from: number, step: 1 | -1): void {
    const at =
      step === 1
        ? rows.findIndex((row, index) => index >= from && has(row))
        : rows.findLastIndex((row, index) => index <= from && has(row));
    isLost = at === -1;
    if (at !== -1) top = at;
  }

  function layout(): void {
    rows = rowsFor(output.columns - 1, theme);
    shown = [];
  }

  const MOVES: Readonly<Record<string, () => number>> = {
    up: () => top - 1,
    k: () => top - 1,
    down: () => top + 1,
    j: () => top + 1,
    enter: () => top + 1,
    pageUp: () => top - height(),
    b: () => top - height(),
    pageDown: () => top + height(),
    space: () => top + height(),
    f: () => top + height(),
    u: () => top - Math.floor(height() / 2),
    d: () => top + Math.floor(height() / 2),
    home: () => 0,
    g: () => 0,
    end: lowest,
    'shift+g': lowest,
    G: lowest,
  };

  return {
    open() {
      layout();
      if (atEnd) top = lowest();
      output.write('\u001b[?1049h\u001b[?25l');
      draw();
    },
    resized() {
      layout();
      draw();
    },
    key({ name, sequence }) {
      if (typing !== null) {
        if (name === 'enter') {
          search = typing;
          typing = null;
          find(top, 1);
        } else if (name === 'escape' || name === 'ctrl+c') typing = null;
        else if (name === 'backspace') typing = typing.slice(0, -1);
        else if (sequence.length === 1 && sequence >= ' ') typing += sequence;
        draw();
        return true;
      }
      isLost = false;
      if (name === 'q' || name === 'escape' || name === 'ctrl+c' || name === 'ctrl+o') return false;
      if (sequence === '/') typing = '';
      else if (sequence === 'n' && search !== '') find(top + 1, 1);
      else if (sequence === 'N' && search !== '') find(top - 1, -1);
      else top = (MOVES[sequence] ?? MOVES[name])?.() ?? top;
      draw();
      return true;
    },
    close: () => output.write('\u001b[?25h\u001b[?1049l'),
  };
}
