import { describe, expect, it } from 'vitest';

import { themeNamed } from '../screen/theme.ts';
import { pieceRows } from './render.ts';
import { markdownStream } from './stream.ts';

const TEXT = `# Title

A paragraph with **strong** words, \`code\` and a [link](https://example.com/a).
It goes on here.

- one
- two
  - nested
- three

1. first
2. second

\`\`\`ts
const a = 1; // **not strong**

if (a) {
  run();
}
\`\`\`
After the code.

| a | b |
| - | - |
| 1 | 你好 |

> quoted
> more

---

The end.`;

/** The rows of a text that comes in pieces of so many characters. */
function rowsOf(text: string, size: number, columns = 60): string[] {
  const stream = markdownStream();
  const rows: string[] = [];
  const theme = themeNamed('none');
  for (let at = 0; at < text.length; at += size) {
    stream.push(text.slice(at, at + size));
    rows.push(...stream.finished().flatMap((piece) => pieceRows(piece, columns, theme)));
  }
  return [...rows, ...stream.end().flatMap((piece) => pieceRows(piece, columns, theme))];
}

describe('a stream of Markdown', () => {
  it('shows the same rows however the text is cut on its way', () => {
    const whole = rowsOf(TEXT, TEXT.length);
    for (const size of [1, 2, 3, 7, 20, 100]) expect(rowsOf(TEXT, size)).toEqual(whole);
    expect(whole).toEqual([
      'Title',
      '',
      'A paragraph with strong words, code and a link',
      '(https://example.com/a).',
      'It goes on here.',
      '',
      '• one',
      '• two',
      '  • nested',
      '• three',
      '',
      '1. first',
      '2. second',
      '',
      'const a = 1; // **not strong**',
      '',
      'if (a) {',
      '  run();',
      '}',
      '',
      'After the code.',
      '',
      'a  b',
      '─  ────',
      '1  你好',
      '',
      '│ quoted',
      '│ more',
      '',
      '────────────────────────────────────────',
      '',
      'The end.',
    ]);
  });

  it('finishes lines of code and items of a list before their block is over', () => {
    const stream = markdownStream();
    stream.push('```\none\ntwo\nthr');
    expect(stream.finished().flatMap((piece) => pieceRows(piece, 60, themeNamed('none')))).toEqual(['one', 'two']);
    expect(stream.open().flatMap((piece) => pieceRows(piece, 60, themeNamed('none')))).toEqual(['thr']);
  });

  it('shows a table whose columns do not fit as lists of its cells', () => {
    const table = '| name | text |\n| - | - |\n| first | some longer words here |\n';
    expect(rowsOf(table, 5, 20)).toEqual(['name: first', 'text: some longer', '      words here']);
  });

  it('shows characters that have names, and an address once', () => {
    expect(rowsOf('A &amp; B &lt;c&gt;, `&amp;`, [`a.md`](a.md) and [b](b.md)', 7)).toEqual([
      'A & B <c>, &amp;, a.md and b (b.md)',
    ]);
  });

  it('makes harmless what a terminal would obey', () => {
    const rows = rowsOf('**a\u001b]0;owned\u0007** `\u001b[2J`\n\n```\n\u009b6n\u202e\n```\n', 3).join('\n');
    expect(rows).not.toMatch(/[\u0007\u001b\u009b\u202e]/u); // oxlint-disable-line eslint/no-control-regex -- these are looked for
    expect(rows).toContain(String.raw`a\u{1b}]0;owned\u{7}`);
  });
});
