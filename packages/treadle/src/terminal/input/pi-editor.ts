// The only file that knows pi-tui's editor.
import { Editor as PiEditor } from '@earendil-works/pi-tui/dist/components/editor.js';
import { CURSOR_MARKER, type TUI } from '@earendil-works/pi-tui/dist/tui.js';

import { plainText } from '../../cli/asking/plain-text.ts';
import { widthOf } from '../screen/text.ts';
import type { Editor, EditorRows } from './editor.ts';

const BACKSPACE = '\u007f';
const LINE_FEED = '\u001b\r';
const same = (text: string): string => text;
const NO_LIST = { selectedPrefix: same, selectedText: same, description: same, scrollInfo: same, noMatch: same };

/** What is drawn over the character at the caret: the real cursor stands there instead. */
// oxlint-disable-next-line eslint/no-control-regex -- the library's own styles
const DRAWN_CARET = /\u001b\[7m(.*?)\u001b\[0m/su;

export function createEditor(): Editor {
  // What the editor uses of a screen: how many rows it may take, and that something has changed, which every key says.
  const tui = { requestRender() {}, terminal: { rows: 0 } };
  const inner = new PiEditor(tui as unknown as TUI, { borderColor: same, selectList: NO_LIST });
  inner.focused = true;
  let columns = 80;

  const before = (): string => {
    const { line, col } = inner.getCursor();
    const lines = inner.getLines();
    return [...lines.slice(0, line), (lines[line] ?? '').slice(0, col)].join('\n');
  };

  /** All rows, without frame, padding and drawn caret. */
  function layout(): EditorRows {
    tui.terminal.rows = 1_000_000;
    const rows: string[] = [];
    let caret = { row: 0, column: 0 };
    for (const raw of inner.render(columns).slice(1, -1)) {
      const at = raw.indexOf(CURSOR_MARKER);
      const text = raw.replace(CURSOR_MARKER, '').replace(DRAWN_CARET, '$1');
      if (at !== -1) caret = { row: rows.length, column: widthOf(plainText(text.slice(0, at))) };
      rows.push(plainText(text.trimEnd()));
    }
    return { rows, caret };
  }

  return {
    get text() {
      return inner.getText();
    },
    get before() {
      return before();
    },
    key: (sequence) => inner.handleInput(sequence),
    insert: (text) => inner.insertTextAtCursor(text),
    set: (text) => inner.setText(text),
    deleteBefore(characters) {
      // One cluster goes at a time: as many as there are in these characters.
      const left = before().length - characters;
      while (before().length > Math.max(0, left)) inner.handleInput(BACKSPACE);
    },
    newLine: () => inner.handleInput(LINE_FEED),
    get isAtTop() {
      return layout().caret.row === 0;
    },
    get isAtBottom() {
      const { rows, caret } = layout();
      return caret.row === rows.length - 1;
    },
    rows(width, most) {
      columns = Math.max(4, width);
      const { rows, caret } = layout();
      const first = Math.max(0, Math.min(caret.row - most + 1, rows.length - most));
      const from = Math.min(Math.max(first, 0), caret.row);
      return { rows: rows.slice(from, from + most), caret: { ...caret, row: caret.row - from } };
    },
  };
}
