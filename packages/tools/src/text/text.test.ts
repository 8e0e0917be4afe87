import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeChange } from './diff.ts';
import { compileGlob } from './glob.ts';
import { cutLine, safeLine, safeText } from './safe-text.ts';

const wild = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '\u001b',
      '[',
      ']',
      '3',
      'm',
      '\u0007',
      '\0',
      '\r',
      '\n',
      '\t',
      '\ud800',
      '\udc00',
      '\u009b',
      '\\',
      'P',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 60,
});
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/u;

describe('safe text', () => {
  test('never holds what a terminal acts on or what is not Unicode, and is the same when made safe again', () => {
    fc.assert(
      fc.property(wild, (text) => {
        const safe = safeText(text);
        expect(safe).not.toMatch(unsafe);
        expect(safeLine(text)).not.toMatch(unsafe);
        expect(safeLine(text)).not.toContain('\n');
        expect(JSON.parse(JSON.stringify(safe))).toBe(safe);
        expect(safeText(safe)).toBe(safe);
      }),
    );
  });

  test('leaves ordinary text as it is', () => {
    const text = 'Hello\tworld – “é” 😀\nnext line\n';
    expect(safeText(text)).toBe(text);
  });

  test('takes linear time on hostile sequences', () => {
    for (const part of ['\u001b[', '\u001b]', '\u001b[1;', '\u001b]x', '\u001b ', '\0']) {
      // Anything but linear time would not end within the test's time.
      expect(safeText(part.repeat(500_000))).toBeTypeOf('string');
    }
  });

  test('counts runs of millions of characters', () => {
    const long = '\0'.repeat(5_000_000);
    expect(safeText(`a${long}b${long}`)).toBe('a␀(×5000000)b␀(×5000000)');
    expect(safeLine(long)).toBe('␀(×5000000)');
    expect(safeText('\0'.repeat(7))).toBe('␀'.repeat(7));
    expect(safeText('\0'.repeat(8) + '\u0001'.repeat(9))).toBe('␀(×8)␁(×9)');
  });

  test('a cut line never ends in half a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.integer({ min: 1, max: 20 }), (line, limit) => {
        const cut = cutLine(line, limit);
        expect(cut).not.toMatch(/\p{Surrogate}/u);
        if (line.length <= limit) expect(cut).toBe(line);
        else expect(cut).toContain(`[line cut: ${line.length} characters]`);
      }),
    );
  });
});

describe('globs', () => {
  test.each([
    ['*.ts', 'a/b/c.ts', true],
    ['*.ts', 'a.tsx', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/**/a.ts', 'src/a.ts', true],
    ['src/**/a.ts', 'src/x/y/a.ts', true],
    ['**', 'a/b', true],
    ['src/**', 'src/a/b', true],
    ['./src/*', 'src/a', true],
    ['/src/*', 'src/a', true],
    ['a?c', 'abc', true],
    ['a?c', 'a😀c', true],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]x', '[]x', true],
    ['{a,b{c,d}}.x', 'bd.x', true],
    ['{a,b}/{c,d}', 'b/c', true],
    ['a}b{c,d}', 'a}bd', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['a.c', 'abc', false],
    ['A.ts', 'a.ts', false],
  ])('%s on %s: %s', (glob, path, expected) => {
    expect(compileGlob(glob)(path)).toBe(expected);
  });

  test('agree with the regular expression they stand for', () => {
    const unit = fc.constantFrom('a', 'b', '*', '?');
    const meaning: Readonly<Record<string, string>> = { '*': '.*', '?': '.' };
    fc.assert(
      fc.property(
        fc.string({ unit, minLength: 1, maxLength: 8 }),
        fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }),
        (glob, name) => {
          fc.pre(glob !== '**');
          const expected = new RegExp(`^${[...glob].map((one) => meaning[one] ?? one).join('')}$`);
          expect(compileGlob(glob)(name)).toBe(expected.test(name));
        },
      ),
    );
  });

  test('stars do not multiply the time', () => {
    const matches = compileGlob(`${'*a'.repeat(200)}b`);
    const deep = compileGlob(`${'**/a/'.repeat(80)}b`);
    // Anything that multiplies would not end within the test's time.
    expect(matches('a'.repeat(5000))).toBe(false);
    expect(deep('a/'.repeat(2000) + 'c')).toBe(false);
  });
});

test('a diff, applied to the old lines, gives the new ones', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (old, now) => {
      const { diff, addedLines, removedLines } = describeChange(
        'f',
        old.map((one) => `${one}\n`).join(''),
        now.map((one) => `${one}\n`).join(''),
      );
      if (diff === '') {
        expect(now).toEqual(old);
        return;
      }
      const [, , hunk = '', ...body] = diff.split('\n');
      const [from = 0, oldCount = 0, , newCount = 0] = [...hunk.matchAll(/\d+/g)].map(Number);
      const start = oldCount === 0 ? from : from - 1;
      const kept = (mark: string): string[] =>
        body.filter((line) => line[0] === mark || line[0] === ' ').map((line) => line.slice(1));
      expect(old.slice(start, start + oldCount)).toEqual(kept('-'));
      expect([...old.slice(0, start), ...kept('+'), ...old.slice(start + oldCount)]).toEqual(now);
      expect(kept('+')).toHaveLength(newCount);
      expect(addedLines - removedLines).toBe(now.length - old.length);
    }),
  );
});
