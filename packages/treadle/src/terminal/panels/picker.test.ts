import { describe, expect, it } from 'vitest';

import { themeNamed } from '../screen/theme.ts';
import { pickerPanel } from './picker.ts';

/** A list of two databases, and what was chosen of it. */
function list(how: { isNumbered?: boolean; at?: number; takesWords?: boolean } = {}) {
  const chosen: (string | null)[] = [];
  const items = [
    { value: 'first', text: 'SQLite', about: 'One file, no server.' },
    { value: 'second', text: 'Postgres', about: 'A server.' },
  ];
  const { takesWords = false, ...rest } = how;
  const words = takesWords ? { words: (text: string) => `said ${text}` } : {};
  const panel = pickerPanel('Which?', items, (value) => void chosen.push(value), { ...rest, ...words });
  const type = (text: string): void => {
    for (const sequence of text) panel.key({ name: sequence === '\r' ? 'enter' : '', sequence });
  };
  const press = (name: string): boolean => panel.key({ name, sequence: '' });
  return { panel, chosen, type, press, rows: () => panel.rows(60, 20, themeNamed('none')).join('\n') };
}

describe('a list', () => {
  it('is filtered by what is typed, and chooses nothing where nothing matches', () => {
    const { chosen, type, rows } = list();
    type('server');
    expect(rows()).toMatch(/❯ SQLite[^]*Postgres/);
    type('x\r');
    expect(rows()).toContain('nothing matches');
    expect(chosen).toEqual([]);
  });

  it('begins at the item that counts now, whatever else is pressed', () => {
    const { chosen, press, type } = list({ at: 1 });
    for (const name of ['left', 'home', 'backspace']) press(name);
    type('\r');
    expect(chosen).toEqual(['second']);
  });

  it('takes words for an answer, also where they are in what is said of an item', () => {
    const { chosen, type, rows } = list({ isNumbered: true, takesWords: true });
    type('no');
    expect(rows()).toContain('Enter answers with these words');
    type('\r');
    expect(chosen).toEqual(['said no']);
  });

  it('takes a number that no item has for words, and a name or Down for the item', () => {
    const words = list({ isNumbered: true, takesWords: true });
    words.type('8080\r');
    const named = list({ isNumbered: true, takesWords: true });
    named.type('postgres\r');
    const moved = list({ isNumbered: true, takesWords: true });
    moved.type('server');
    moved.press('down');
    moved.type('\r');
    const digit = list({ isNumbered: true, takesWords: true });
    digit.type('2');
    expect([words.chosen, named.chosen, moved.chosen, digit.chosen].flat()).toEqual([
      'said 8080',
      'second',
      'second',
      'second',
    ]);
  });

  it('shows nothing of a paste that a terminal would obey, and the end of a long one', () => {
    const { panel } = list({ takesWords: true });
    panel.key({ name: '', sequence: `${'long '.repeat(40)}a\nb\u001b[31mX` });
    expect(panel.label).toMatch(/^answer: ….{30}$/);
    expect(panel.label).toContain('a b\\u{1b}[31mX');
  });
});
