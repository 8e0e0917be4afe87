import { describe, expect, it } from 'vitest';

import { decodeKeys, type TerminalInput } from './keys.ts';
import { createPastes } from './pastes.ts';
import { createEditor } from './pi-editor.ts';

const LEFT = '\u001b[D';
const RIGHT = '\u001b[C';
const UP = '\u001b[A';
const DOWN = '\u001b[B';
const BACK = '\u007f';
const DELETE = '\u001b[3~';
const HOME = '\u001b[H';
const END = '\u001b[F';
const WORD_LEFT = '\u001b[1;5D';
const WORD_RIGHT = '\u001b[1;5C';
const UNDO = '\u001f';
const control = (letter: string): string => String.fromCodePoint(letter.charCodeAt(0) - 96);

/** What an editor holds after keys, with `|` at the caret. */
function after(keys: readonly string[], start = ''): string {
  const editor = createEditor();
  if (start !== '') editor.set(start);
  for (const key of keys) editor.key(key);
  const { text, before } = editor;
  return `${before}|${text.slice(before.length)}`;
}

const chars = (text: string): string[] => [...text];

// The contract: whatever edits the input line does these.
const CASES: readonly (readonly [string, readonly string[], string, string])[] = [
  ['inserts what is typed', chars('abc'), '', 'abc|'],
  ['inserts before the caret', [LEFT, 'x'], 'ab', 'ax|b'],
  ['moves left and right', [LEFT, LEFT, RIGHT], 'abc', 'ab|c'],
  ['goes to the beginning', [HOME], 'abc', '|abc'],
  ['goes to the end', [HOME, END], 'abc', 'abc|'],
  ['goes to the beginning with Ctrl+A', [control('a')], 'abc', '|abc'],
  ['goes to the end with Ctrl+E', [control('a'), control('e')], 'abc', 'abc|'],
  ['deletes backwards', [BACK], 'abc', 'ab|'],
  ['deletes forwards', [HOME, DELETE], 'abc', '|bc'],
  ['deletes nothing before the beginning', [HOME, BACK], 'abc', '|abc'],
  ['moves by words to the left', [WORD_LEFT], 'one two', 'one |two'],
  ['moves by words to the right', [HOME, WORD_RIGHT], 'one two', 'one| two'],
  ['cuts a word', [control('w')], 'one two', 'one |'],
  ['cuts to the end', [HOME, control('k')], 'one', '|'],
  ['cuts to the beginning', [control('u')], 'one', '|'],
  ['pastes what was cut', [control('w'), control('y'), control('y')], 'one two', 'one twotwo|'],
  ['takes back the last change', [control('k'), HOME, control('k'), UNDO], 'one', '|one'],
  ['takes Chinese as characters', [LEFT, BACK], '你好吗', '你|吗'],
  ['takes an emoji family as one', [BACK], 'a👩‍👩‍👧', 'a|'],
  ['takes a flag as one', [BACK], 'a🇳🇴', 'a|'],
  ['takes a combining accent with its letter', [BACK], 'ae\u0301', 'a|'],
  ['moves over an emoji at once', [LEFT, LEFT], 'a👍🏽b', 'a|👍🏽b'],
  ['takes a character outside the basic plane', ['👍'], 'a', 'a👍|'],
  ['starts a line', ['\u001b\r', 'b'], 'a', 'a\nb|'],
  ['moves between lines', [UP, 'x'], 'ab\ncd', 'abx|\ncd'],
  ['moves down again', [UP, DOWN, 'x'], 'ab\ncd', 'ab\ncdx|'],
  ['joins lines', [HOME, BACK], 'ab\ncd', 'ab|cd'],
  ['ignores keys that it does not know', ['\u001b[24~', '\u001b[99;5~'], 'ab', 'ab|'],
];

describe('an editor', () => {
  it.each(CASES)('%s', (_, keys, start, expected) => {
    expect(after(keys, start)).toBe(expected);
  });

  it('lays wide text out in rows, with the caret where the terminal has it', () => {
    const editor = createEditor();
    editor.set('hello 你好');
    expect(editor.rows(80, 5)).toEqual({ rows: ['hello 你好'], caret: { row: 0, column: 10 } });
    editor.key(LEFT);
    expect(editor.rows(80, 5).caret).toEqual({ row: 0, column: 8 });
    editor.set('one two three four');
    expect(editor.rows(10, 5).rows.map((row) => row.trim())).toEqual(['one two', 'three', 'four']);
    expect(editor.rows(10, 1)).toMatchObject({ rows: ['four'], caret: { row: 0, column: 4 } });
  });

  it('takes whole characters away before the caret', () => {
    const editor = createEditor();
    editor.set('see @src');
    editor.deleteBefore(4);
    editor.insert('@src/main.ts ');
    expect(editor.text).toBe('see @src/main.ts ');
  });
});

/** What a terminal's bytes are decoded to, cut into pieces of so many bytes. */
function decoded(text: string, size: number): TerminalInput[] {
  const found: TerminalInput[] = [];
  const decoder = decodeKeys((input) => found.push(input));
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) decoder.push(bytes.slice(at, at + size));
  decoder.close();
  return found;
}

describe('keys of a terminal', () => {
  it('are the same however the bytes are cut', () => {
    const text = `a你\u001b[A\u001b[1;5D\u0003\u001b[200~two\nlines\u001b[201~z`;
    const whole = decoded(text, 1000);
    for (const size of [1, 2, 3, 5]) expect(decoded(text, size)).toEqual(whole);
    expect(whole.map((input) => (input.type === 'key' ? input.name || input.sequence : input))).toEqual([
      'a',
      '你',
      'up',
      'ctrl+left',
      'ctrl+c',
      { type: 'paste', text: 'two\nlines' },
      'z',
    ]);
  });

  it('know the answer about whole frames from a key', () => {
    expect(decoded('\u001b[?2026;2$y\u001b[1;2R', 100)).toEqual([{ type: 'frames', known: true }]);
    expect(decoded('\u001b[?2026;0$y', 100)).toEqual([{ type: 'frames', known: false }]);
  });
});

describe('pasted text', () => {
  it('is a marker when it is long, and whole when it is sent', () => {
    const pastes = createPastes();
    const long = Array.from({ length: 2000 }, (_, number) => `\tline ${number}`).join('\n');
    const marker = pastes.add(long);
    expect(marker).toBe('[paste #1 · 2,000 lines]');
    expect(pastes.expand(`a ${marker} b`)).toBe(`a ${long} b`);
    expect(pastes.endingIn(`a ${marker}`)).toBe(marker);
    expect(pastes.add('short')).toBe('short');
    const other = createPastes();
    other.restore(pastes.of(`a ${marker}`));
    expect(other.expand(marker)).toBe(long);
  });

  it('has nothing in it that a terminal would obey', () => {
    expect(createPastes().add('a\u001b[2Jb\r\nc')).toBe('a\\u{1b}[2Jb\nc');
  });
});
