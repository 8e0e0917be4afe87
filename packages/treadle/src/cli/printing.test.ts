import { UNKNOWN_USAGE } from '@treadle/core';
import fc from 'fast-check';

import { describe, expect, it } from 'vitest';

import { cost, counted, duration, tokens } from './figures.ts';
import { plainLine, plainText } from './plain-text.ts';
import { styleFor } from './style.ts';
import { toolLine } from './tool-line.ts';
import { closest } from './usage-error.ts';

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
  const base = { label: 'Do', arguments: {}, isError: false, content: text('done'), durationMs: 5 };

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
      '• Do · a ␛[2Jb · ok: done · 5 ms',
    ],
  ] as const)('%s', (_name, change, line) => {
    const { durationMs, ...call } = { ...base, ...change };
    expect(toolLine(durationMs === undefined ? call : { ...call, durationMs }, style)).toBe(line);
  });
});

describe('what a word was meant to be', () => {
  it.each([
    ['sesions', 'sessions'],
    ['session', 'sessions'],
    ['rnu', 'run'],
    ['sess', 'sessions'],
    ['RUN', 'run'],
    ['x', undefined],
    ['frobnicate', undefined],
  ])('%s: %s', (word, meant) => {
    expect(closest(word, ['run', 'sessions', 'help'])).toBe(meant);
  });
});
