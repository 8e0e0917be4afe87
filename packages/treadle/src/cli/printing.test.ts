import { UNKNOWN_USAGE } from '@treadle/core/model';
import fc from 'fast-check';

import { describe, expect, it } from 'vitest';

import { cost, counted, duration, tokens } from './output/figures.ts';
import { outcomeOf } from './output/outcome.ts';
import { exactLine, exactText, plainLine, plainText } from './asking/plain-text.ts';
import { styleFor } from './style.ts';
import { toolLine } from './output/tool-line.ts';

describe('text for a terminal', () => {
  it('keeps all that is only text', () => {
    expect(plainText('Grüße, 世界 👩‍👩‍👧\n\tçok güzel → ✓')).toBe('Grüße, 世界 👩‍👩‍👧\n\tçok güzel → ✓');
  });

  it('never has a control character but line breaks and tabs', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plainText(text)).not.toMatch(/[^\P{Cc}\n\t]/u);
      }),
    );
  });

  it.each([
    ['a carriage return', 'echo safe\rrm -rf', String.raw`echo safe\u{d}rm -rf`],
    ['bidirectional controls', 'a\u202eb\u2066c\u200fd\u061ce', String.raw`a\u{202e}b\u{2066}c\u{200f}d\u{61c}e`],
    ['spaces without width', 'a\u200bb\u2060c\ufeffd', String.raw`a\u{200b}b\u{2060}c\u{feff}d`],
    ['joiners between Latin letters', 'r\u200dm r\u200cm', String.raw`r\u{200d}m r\u{200c}m`],
    ['a soft hyphen', 'r\u00adm', String.raw`r\u{ad}m`],
    ['line and paragraph separators', 'a\u2028b\u2029c', String.raw`a\u{2028}b\u{2029}c`],
    ['tag characters', 'a\u{e0072}\u{e006d}', String.raw`a\u{e0072}\u{e006d}`],
    ['variation selectors of no emoji', 'rm\ufe0f\u{e0100}', String.raw`rm\u{fe0f}\u{e0100}`],
    ['letters and symbols without a glyph', 'a\u3164b\u2800c\uffa0', String.raw`a\u{3164}b\u{2800}c\u{ffa0}`],
  ])('shows %s', (_, text, shown) => {
    expect(plainText(text)).toBe(shown);
    expect(plainLine(text)).toBe(shown);
    expect(exactText(text)).toBe(shown);
  });

  it('leaves ordinary writing as it is', () => {
    const text = 'می‌خواهم, क्‍ष, « été » 1️⃣ ⚠️ ❤️‍🔥 👩🏽‍💻 🇫🇷 日本語　テスト';
    expect(plainText(text)).toBe(text);
    expect(plainText('one\r\ntwo')).toBe('one\ntwo');
  });

  it('may come in pieces that are cut amid an emoji', () => {
    const text = '👩🏽‍💻⚠️ r\u200dm';
    let printed = '';
    let last = '';
    for (const piece of text) {
      printed += plainText(piece, last);
      last = piece;
    }
    expect(printed).toBe(plainText(text));
    expect(printed).toBe(String.raw`👩🏽‍💻⚠️ r\u{200d}m`);
  });

  it('is one line of at most so many characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 40 }), (text, length) => {
        const line = plainLine(text, length);
        expect(line).not.toMatch(/[\n\t]/);
        expect([...line].length).toBeLessThanOrEqual(length);
      }),
    );
  });

  it('says with … that there is more', () => {
    expect(plainLine('one two\nthree', 9)).toBe('one two …');
    expect(plainLine('one two\nthree', 13)).toBe('one two three');
    expect(plainLine(`${' '.repeat(5000)}far`, 10)).toBe('…');
  });
});

describe('a text that somebody decides on', () => {
  it('has nothing but what shows, plain spaces, tabs and line breaks, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(exactText(text)).toMatch(/^[\p{L}\p{M}\p{N}\p{P}\p{S} \t\n]*$/v);
        expect(exactText(text)).not.toMatch(
          /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Variation_Selector}]/v,
        );
        expect(exactLine(text)).not.toMatch(/[\t\n]/);
      }),
    );
  });

  it('loses nothing: each text is shown in its own way, as far as it has no escapes of its own', () => {
    const text = fc.string({ unit: 'binary' }).filter((one) => !one.includes('\\'));
    const read = (shown: string): string =>
      shown.replace(/\\u\{([0-9a-f]+)\}/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
    fc.assert(
      fc.property(text, (one) => {
        expect(read(exactText(one))).toBe(one);
        expect(read(exactLine(one))).toBe(one);
      }),
    );
  });

  it('shows what ordinary writing may have: joiners, other spaces, carriage returns at ends of lines', () => {
    expect(exactText('👩‍💻 ⚠️\u00a0a\r\n\tb')).toBe('👩\\u{200d}💻 ⚠\\u{fe0f}\\u{a0}a\\u{d}\n\tb');
    expect(exactLine('a\n\tb')).toBe(String.raw`a\u{a}\u{9}b`);
    expect(exactText('\u{e123}\u{378}\ud800')).toBe(String.raw`\u{e123}\u{378}\u{d800}`);
  });

  it('keeps letters of every script', () => {
    expect(exactText('Grüße, 世界 ∑ नमस्ते 👍🏽')).toBe('Grüße, 世界 ∑ नमस्ते 👍🏽');
  });
});

describe('figures', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min 0 s'],
    [125_400, '2 min 5 s'],
  ])('%i ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it.each([
    [null, 'cost unknown'],
    [0, '$0'],
    [0.00001, 'under $0.0001'],
    [0.01234, '$0.0123'],
    [12.345, '$12.35'],
  ])('%s dollars are %s', (dollars, text) => {
    expect(cost(dollars)).toBe(text);
  });

  it('counts cached tokens as read, and says when nobody counted', () => {
    expect(tokens({ input: 1000, output: 20, cacheRead: 300, cacheWrite: 4, reasoning: 7 })).toBe(
      '1,324 tokens (1,304 in, 20 out)',
    );
    expect(tokens(UNKNOWN_USAGE)).toBe('tokens unknown');
  });

  it('counts one thing as one', () => {
    expect([counted(1, 'turn'), counted(0, 'turn'), counted(1200, 'turn')]).toEqual([
      '1 turn',
      '0 turns',
      '1,200 turns',
    ]);
  });
});

describe('the line of a tool call', () => {
  const style = styleFor(false, {});
  const text = (said: string) => [{ type: 'text' as const, text: said }];
  const base = { toolName: 'do', label: 'Do', arguments: {}, isError: false, content: text('done'), durationMs: 5 };

  it.each([
    ['says how it went', {}, '• Do · ok: done · 5 ms'],
    ['says that nothing came back', { content: [] }, '• Do · ok · 5 ms'],
    [
      'shows the first line and counts the rest',
      { content: text('one\ntwo\nthree\n') },
      '• Do · ok: one (+2 lines) · 5 ms',
    ],
    [
      'counts what is no text',
      { content: [{ type: 'image', mediaType: 'image/png', data: '' }] },
      '• Do · ok (+1 attachment) · 5 ms',
    ],
    ['leaves the time out when it never ran', { isError: true, durationMs: undefined }, '• Do · error: done'],
    [
      'begins the arguments with what tells most',
      { arguments: { limit: 3, path: 'a b' } },
      '• Do · a b limit=3 · ok: done · 5 ms',
    ],
    [
      'leaves out arguments that are long or have parts',
      { arguments: { path: 'a', content: 'x'.repeat(99), list: [1] } },
      '• Do · a · ok: done · 5 ms',
    ],
    [
      'is one line whatever the arguments are',
      { arguments: { command: 'a\n\u001b[2Jb' } },
      String.raw`• Do · a \u{1b}[2Jb · ok: done · 5 ms`,
    ],
  ] as const)('%s', (_name, change, line) => {
    const { durationMs, ...call } = { ...base, ...change };
    expect(toolLine(durationMs === undefined ? call : { ...call, durationMs }, style)).toBe(line);
  });
});

describe('the outcome of a built-in tool', () => {
  const range = (firstLine: number, lastLine: number, totalLines: number | null) => ({
    path: 'a',
    bytes: 9,
    firstLine,
    lastLine,
    totalLines,
  });

  it.each([
    ['list_files', { entries: [], total: 2400, truncated: true }, '2,400 entries'],
    ['list_files', { entries: [], total: 1 }, '1 entry'],
    ['search', { matches: [{}, {}], truncated: false }, '2 matches'],
    ['search', { matches: [{}], truncated: false }, '1 match'],
    ['search', { matches: [{}, {}], truncated: true }, 'more than 2 matches'],
    ['read_file', range(1, 120, 120), '120 lines'],
    ['read_file', range(0, 0, 0), '0 lines'],
    ['read_file', range(20, 40, 1120), 'lines 20 to 40 of 1,120'],
    ['read_file', range(1, 40, null), 'lines 1 to 40'],
    ['read_file', { ...range(0, 0, 0), mediaType: 'image/png' }, 'image/png, 9 bytes'],
    ['write_file', { path: 'a', bytes: 1, created: true }, 'created, 1 byte'],
    ['write_file', { path: 'a', bytes: 20, created: false }, 'replaced, 20 bytes'],
    ['edit_file', { addedLines: 3, removedLines: 1 }, '+3 -1 lines'],
    ['bash', { exitCode: 0, signal: null, timedOut: false }, 'exit code 0'],
    ['bash', { exitCode: 2, signal: null, timedOut: false }, 'exit code 2'],
    ['bash', { exitCode: null, signal: 'SIGKILL', timedOut: false }, 'ended by SIGKILL'],
    ['bash', { exitCode: null, signal: 'SIGKILL', timedOut: true }, 'timed out'],
  ])('%s %j: %s', (toolName, details, words) => {
    const isBad = toolName === 'bash' && words !== 'exit code 0';
    expect(outcomeOf(toolName, details)).toEqual({ words, isBad });
  });

  it('is not read from details of another shape', () => {
    for (const name of ['list_files', 'search', 'read_file', 'write_file', 'edit_file', 'bash', 'other']) {
      for (const details of [undefined, null, 'text', [1], {}, { total: 'x', matches: 3, exitCode: 'no' }]) {
        expect(outcomeOf(name, details)).toBeNull();
      }
    }
  });
});
