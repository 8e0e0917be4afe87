import { widthOf } from './text.ts';

/** Where a screen is drawn. */
export interface ScreenOutput {
  write(bytes: string): void;
  readonly columns: number;
  readonly rows: number;
}

/** The part of the screen that may still change. Rows are narrower than the screen. */
export interface LiveRows {
  readonly rows: readonly string[];
  /** Where the user types, from 0. The real cursor stands there. */
  readonly caret: { readonly row: number; readonly column: number };
}

/**
 * An inline screen: finished rows go to the terminal's own scrollback and are never touched again; below them are the live
 * rows, always fewer than the screen has. One write per frame, and none while nothing changes.
 */
export interface Screen {
  /** Rows that are finished since the last frame, and the live ones as they are now. */
  draw(finished: readonly string[], live: LiveRows): void;
  /** The terminal has another size: the next frame draws all live rows. */
  resized(): void;
  /** Takes the live rows away; what is printed next stands below the finished ones. */
  clear(): void;
  /** Something else has used the screen, and left the cursor at the beginning of a free row. */
  forget(): void;
  /** The terminal takes whole frames (mode 2026), as it has said. */
  useFrames(): void;
}

const up = (rows: number): string => (rows > 0 ? `\u001b[${rows}A` : '');
const down = (rows: number): string => (rows > 0 ? `\u001b[${rows}B` : '');
const toColumn = (column: number): string => `\u001b[${column + 1}G`;
const CLEAR_ROW = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export function createScreen(output: ScreenOutput): Screen {
  let shown: readonly string[] = [];
  let caret = { row: 0, column: 0 };
  let columns = output.columns;
  let height = output.rows;
  let framed = false;
  /** What comes before the next frame: the cursor is in the row of the caret. */
  let pending = '';

  const write = (bytes: string): void => output.write(framed ? `\u001b[?2026h${bytes}\u001b[?2026l` : bytes);

  /** Rows above the caret that the live part takes, as a terminal reflows them that has another width now. */
  function rowsAbove(): number {
    const now = Math.max(1, output.columns);
    if (now === columns) return caret.row;
    const taken = shown.slice(0, caret.row).map((row) => Math.max(1, Math.ceil(widthOf(row) / now)));
    return taken.reduce((sum, rows) => sum + rows, 0) + Math.floor(caret.column / now);
  }

  /** All anew: after finished rows, or where nothing is known of the screen. */
  function whole(finished: readonly string[], { rows }: LiveRows): string {
    const isShorter = finished.length + rows.length < shown.length;
    const all = [...finished, ...rows].map((row) => `${row}${CLEAR_ROW}`).join('\r\n');
    return `${up(caret.row)}\r${all}${isShorter ? CLEAR_BELOW : ''}`;
  }

  /** Only the rows that are others. Returns the row that the cursor is in afterwards. */
  function changed({ rows }: LiveRows): readonly [string, number] {
    let bytes = '';
    let at = caret.row;
    const move = (row: number): void => {
      const known = Math.min(row, shown.length - 1);
      bytes += row < at ? up(at - row) : `${down(known - at)}${'\r\n'.repeat(row - Math.max(known, at))}`;
      at = row;
    };
    for (const [index, row] of rows.entries()) {
      if (row === shown[index] && index < shown.length) continue;
      move(index);
      bytes += `\r${row}${CLEAR_ROW}`;
    }
    if (rows.length < shown.length) {
      move(rows.length);
      bytes += `\r${CLEAR_BELOW}`;
    }
    return [bytes, at];
  }

  function draw(finished: readonly string[], live: LiveRows): void {
    const visible = live.rows.slice(-Math.max(1, output.rows - 1));
    const cut = live.rows.length - visible.length;
    const next = { rows: visible, caret: { row: Math.max(0, live.caret.row - cut), column: live.caret.column } };
    const [bytes, at] =
      finished.length > 0 || shown.length === 0
        ? ([whole(finished, next), next.rows.length - 1] as const)
        : changed(next);
    const isMoved = next.caret.row !== caret.row || next.caret.column !== caret.column;
    if (bytes === '' && !isMoved) return;
    shown = next.rows;
    ({ caret } = next);
    ({ columns, rows: height } = output);
    const home = at > caret.row ? up(at - caret.row) : down(caret.row - at);
    write(`${pending}${bytes}${home}${toColumn(caret.column)}`);
    pending = '';
  }

  function clear(): void {
    if (shown.length === 0) return;
    write(`${up(rowsAbove())}\r${CLEAR_BELOW}`);
    forget();
  }

  function forget(): void {
    shown = [];
    caret = { row: 0, column: 0 };
    ({ columns, rows: height } = output);
    pending = '';
  }

  return {
    draw,
    clear,
    forget,
    resized() {
      if (output.columns !== columns || output.rows <= shown.length) clear();
      else if (output.rows !== height) {
        // A screen that gets lower may lose the rows below its cursor, whatever is in them.
        shown = shown.slice(0, caret.row);
        pending = `\r${CLEAR_BELOW}`;
        height = output.rows;
      }
    },
    useFrames() {
      framed = true;
    },
  };
}
