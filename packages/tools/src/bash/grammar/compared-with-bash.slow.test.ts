// @module-tag slow

import fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { plainWords } from './lexer.ts';

// What we take for plain words must be what bash makes of them.
describe('compared with bash itself', () => {
  /** The commands that bash runs, each as its words; its own commands do nothing here. */
  function wordsInBash(text: string): string[][] {
    const script = `command_not_found_handle() { :; }; PATH=; show() { for one; do printf '%s\\0' "$one"; done; printf '\\1'; }; ${text}`;
    const { stdout } = spawnSync('/bin/bash', ['-c', script], { encoding: 'utf8', env: {} });
    return stdout
      .split('\u0001')
      .slice(0, -1)
      .map((one) => one.split('\0').slice(0, -1));
  }
  const piece = fc.constantFrom(
    ...[
      'a',
      'b2',
      '-x',
      '.',
      '/',
      '"',
      "'",
      '\\',
      ' ',
      '  ',
      '#',
      '=',
      ':',
      '~',
      '{',
      '}',
      ',',
      '!',
      '%',
      '@',
      '^',
      '+',
      'ü',
    ],
    ...[
      '$',
      '`',
      '*',
      '?',
      '[',
      ']',
      '<',
      '>',
      '&',
      '(',
      ')',
      '\t',
      '\\\n',
      '2>&1',
      '>/dev/null',
      "'q r'",
      '"q r"',
      '\\ ',
    ],
  );

  function expectAgreement(numRuns: number): void {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = `show ${pieces.join('')}`;
        const ours = plainWords(text)?.commands;
        // Without their streams, or with several commands, there is nothing to compare.
        if (ours?.length !== 1 || text.includes('>')) return;
        expect({ text, words: ours }).toEqual({ text, words: [['show', ...(wordsInBash(text)[0] ?? [])]] });
      }),
      { numRuns },
    );
  }

  test('property: words agree', () => {
    expectAgreement(400);
  });

  test('words agree in the first few cases', { tags: ['share'] }, () => {
    expectAgreement(20);
  });
});
