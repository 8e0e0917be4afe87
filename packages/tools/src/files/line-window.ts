import { cutLine, safeLine } from '../text/safe-text.ts';

export interface WindowOptions {
  /** The first line wanted, from 1. */
  readonly offset: number;
  /** At most so many lines. */
  readonly limit: number;
  /** At most so many characters of text in all; the line that would exceed it is left out. */
  readonly maxCharacters: number;
  /** At most so many bytes of UTF-8, with what is written around each line. */
  readonly maxBytes: number;
  /** Longer lines are cut. */
  readonly maxLineCharacters: number;
}

/** Bytes of a line's number, the tab behind it, and its end. */
const AROUND_LINE = 10;

/** A window on the lines of a text that arrives in pieces. Holds only the window, whatever the text's size. */
export interface LineWindow {
  push(text: string): void;
  /** Call once, after the last piece. */
  end(): void;
  /** The lines of the window, made safe and cut. */
  readonly lines: readonly string[];
  /** Lines seen so far; all of the text's after `end`. */
  readonly total: number;
  /** True when the size limit, not `limit`, ended the window. */
  readonly full: boolean;
  /** True when nothing more can enter the window. */
  readonly done: boolean;
}

export function lineWindow(options: WindowOptions): LineWindow {
  const { offset, limit, maxLineCharacters } = options;
  const lines: string[] = [];
  let size = 0;
  let bytes = 0;
  // The open line: its beginning, as far as it may be shown, and its whole length.
  let open = '';
  let openLength = 0;
  let endsWithReturn = false;

  const window = {
    lines,
    total: 0,
    full: false,
    get done() {
      return window.full || (lines.length >= limit && window.total >= offset);
    },
    push(text: string) {
      const [first = '', ...more] = text.split('\n');
      extend(first);
      for (const piece of more) {
        close();
        extend(piece);
      }
    },
    end() {
      if (openLength > 0) close();
    },
  };
  const wanted = (): boolean => !window.full && window.total + 1 >= offset && lines.length < limit;
  const extend = (piece: string): void => {
    if (piece === '') return;
    if (wanted() && open.length <= maxLineCharacters) open += piece.slice(0, maxLineCharacters + 1 - open.length);
    openLength += piece.length;
    endsWithReturn = piece.endsWith('\r');
  };
  const close = (): void => {
    if (wanted()) {
      const length = openLength - (endsWithReturn ? 1 : 0);
      const whole = openLength === open.length && endsWithReturn ? open.slice(0, -1) : open;
      const line = cutLine(safeLine(whole), maxLineCharacters, length);
      size += line.length;
      bytes += Buffer.byteLength(line) + AROUND_LINE;
      window.full = size > options.maxCharacters || bytes > options.maxBytes;
      if (!window.full) lines.push(line);
    }
    window.total += 1;
    open = '';
    openLength = 0;
    endsWithReturn = false;
  };
  return window;
}
