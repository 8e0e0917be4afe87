// A terminal emulator, and a check of the raw bytes that it is sent.
import { createRequire } from 'node:module';

/** A character on the screen, and how it looks: as xterm.js says it. */
interface Cell {
  getChars(): string;
  getWidth(): number;
  isFgPalette(): boolean;
  getFgColor(): number;
  isBold(): number;
  isDim(): number;
  isItalic(): number;
  isUnderline(): number;
}

interface Line {
  readonly isWrapped: boolean;
  getCell(column: number): Cell | undefined;
  translateToString(trimRight: boolean): string;
}

/** What is used of xterm.js: its own types bring those of browsers with them. */
interface XtermTerminal {
  readonly cols: number;
  readonly rows: number;
  readonly buffer: {
    readonly active: {
      readonly length: number;
      readonly baseY: number;
      readonly cursorX: number;
      readonly cursorY: number;
      getLine(row: number): Line | undefined;
    };
  };
  write(bytes: string, done?: () => void): void;
  resize(columns: number, rows: number): void;
  onTitleChange(take: (title: string) => void): unknown;
  onData(take: (bytes: string) => void): unknown;
}

const xterm = createRequire(import.meta.url)('@xterm/headless') as {
  readonly Terminal: new (options: object) => XtermTerminal;
};

/** Characters side by side that look the same. */
export interface StyledRun {
  readonly column: number;
  readonly text: string;
  /** In the palette of 256; null for the terminal's own. */
  readonly colour: number | null;
  readonly isBold: boolean;
  readonly isDim: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
}

export interface Emulator {
  readonly columns: number;
  readonly rows: number;
  /** Everything it was sent. */
  readonly raw: () => string;
  readonly writes: () => number;
  write(bytes: string): void;
  /** After all that was written. */
  resize(columns: number, rows: number): Promise<void>;
  /** History and screen, without spaces at the ends of rows and empty rows at the end. */
  lines(): Promise<string[]>;
  /** The screen alone. */
  screen(): Promise<string[]>;
  /** The screen with its looks, a list of runs per row. */
  styledScreen(): Promise<StyledRun[][]>;
  /** How many rows were too long for their row, and went on in the next. */
  overlong(): Promise<number>;
  /** From 0, in the whole of history and screen. */
  cursor(): Promise<{ readonly row: number; readonly column: number }>;
  readonly title: () => string;
  /** What the terminal answers to questions. */
  onAnswer(take: (bytes: string) => void): void;
}

function runsOf(line: Line | undefined, columns: number): StyledRun[] {
  const runs: StyledRun[] = [];
  for (let column = 0; column < columns; column += 1) {
    const cell = line?.getCell(column);
    // The second half of a wide character has no width.
    if (cell === undefined || cell.getWidth() === 0) continue;
    const style = {
      colour: cell.isFgPalette() ? cell.getFgColor() : null,
      isBold: cell.isBold() !== 0,
      isDim: cell.isDim() !== 0,
      isItalic: cell.isItalic() !== 0,
      isUnderlined: cell.isUnderline() !== 0,
    };
    const text = cell.getChars() || ' ';
    const last = runs.at(-1);
    if (last && JSON.stringify({ ...last, ...style }) === JSON.stringify(last))
      runs[runs.length - 1] = { ...last, text: last.text + text };
    else runs.push({ column, text, ...style });
  }
  return runs;
}

export function createEmulator(columns: number, rows: number): Emulator {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 100_000 });
  let raw = '';
  let writes = 0;
  let title = '';
  terminal.onTitleChange((text) => {
    title = text;
  });
  const settled = (): Promise<void> => new Promise((resolve) => terminal.write('', resolve));
  const read = (from: number, to: number): string[] => {
    const { active } = terminal.buffer;
    const all: string[] = [];
    for (let row = from; row < to; row += 1) all.push(active.getLine(row)?.translateToString(true).trimEnd() ?? '');
    while (all.at(-1) === '') all.pop();
    return all;
  };
  return {
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    raw: () => raw,
    writes: () => writes,
    title: () => title,
    write(bytes) {
      raw += bytes;
      writes += 1;
      terminal.write(bytes);
    },
    async resize(width, height) {
      await settled();
      terminal.resize(width, height);
    },
    async lines() {
      await settled();
      return read(0, terminal.buffer.active.length);
    },
    async screen() {
      await settled();
      const { baseY } = terminal.buffer.active;
      return read(baseY, baseY + terminal.rows);
    },
    async styledScreen() {
      await settled();
      const { active } = terminal.buffer;
      return Array.from({ length: terminal.rows }, (_, row) =>
        runsOf(active.getLine(active.baseY + row), terminal.cols),
      );
    },
    async overlong() {
      await settled();
      const { active } = terminal.buffer;
      const rows = Array.from({ length: active.length }, (_, row) => active.getLine(row));
      return rows.filter((row) => row?.isWrapped === true).length;
    },
    async cursor() {
      await settled();
      const { active } = terminal.buffer;
      return { row: active.baseY + active.cursorY, column: active.cursorX };
    },
    onAnswer: (take) => void terminal.onData(take),
  };
}

/** What may be sent: styles, moves of the cursor, erasing from the cursor on, and the modes that are ours. */
const ALLOWED =
  // oxlint-disable-next-line eslint/no-control-regex -- these are what is checked
  /^\u001b(?:\[[\d;]*m|\[\d*[ABCG]|\[[0]?[KJ]|\[\?(?:25|2026|2004)[hl]|\[\?2026\$p|\[\?u|\[>5u|\[<u|\]11;\?\u0007|\]0;[^\u0000-\u001f]*\u0007|\]52;c;[\w+/=]*\u0007)/;
/** The pager's besides. */
// oxlint-disable-next-line eslint/no-control-regex -- these are what is checked
const PAGER = /^\u001b(?:\[\?1049[hl]|\[\d+;1H)/;

/** The sequences among the bytes that nobody may send. */
export function forbidden(raw: string): string[] {
  const found: string[] = [];
  let inPager = false;
  for (let at = 0; at < raw.length; at += 1) {
    const code = raw.charCodeAt(at);
    if (code !== 0x1b) {
      if ((code < 0x20 && code !== 0x0a && code !== 0x0d) || code === 0x7f || (code >= 0x80 && code < 0xa0)) {
        found.push(JSON.stringify(raw.slice(at, at + 10)));
      }
      continue;
    }
    const rest = raw.slice(at, at + 4000);
    const pager = PAGER.exec(rest)?.[0];
    const known = ALLOWED.exec(rest)?.[0] ?? (pager?.includes('1049') === true || inPager ? pager : undefined);
    if (pager?.includes('1049') === true) inPager = pager.endsWith('h');
    if (known === undefined) found.push(JSON.stringify(rest.slice(0, 20)));
    else at += known.length - 1;
  }
  return found;
}
