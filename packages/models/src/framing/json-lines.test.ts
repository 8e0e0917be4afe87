import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, utf8 } from '../test-support/streams.ts';
import { createJsonLinesScanner } from './json-lines.ts';

interface Seen {
  readonly lines: readonly (readonly [line: string, whole: boolean])[];
  readonly problem: string | undefined;
}

function scan(chunks: Iterable<Uint8Array>, limit?: number): Seen {
  const lines: [string, boolean][] = [];
  let problem: string | undefined;
  const scanner = createJsonLinesScanner(
    (_name, line, whole) => lines.push([line, whole]),
    (message) => (problem = message),
    limit,
  );
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return { lines, problem };
}

const linesOf = (text: string): Seen['lines'] => scan([utf8(text)]).lines;

describe('lines', () => {
  it('are delivered without their ends, and blank ones not at all', () => {
    expect(linesOf('{"a":1}\n\n \n{"b":2}\n')).toEqual([
      ['{"a":1}', true],
      ['{"b":2}', true],
    ]);
  });

  it('may end in CRLF, which JSON takes for white space', () => {
    expect(linesOf('{"a":1}\r\n').map(([line]) => JSON.parse(line) as unknown)).toEqual([{ a: 1 }]);
  });

  it('lose a byte order mark before the first of them', () => {
    expect(linesOf('\uFEFF{}\n{}\n')).toEqual([
      ['{}', true],
      ['{}', true],
    ]);
  });

  it('without an end are delivered last, as not whole', () => {
    expect(linesOf('{}\n{"a"')).toEqual([
      ['{}', true],
      ['{"a"', false],
    ]);
  });

  it('are the same however the bytes are cut', () => {
    const line = fc.string({ unit: fc.constantFrom('a', ' ', '\r', 'ü', '🦊', '"', '{', '\u2028'), maxLength: 20 });
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (parts, sizes, closed) => {
          const text = parts.join('\n') + (closed ? '\n' : '');
          expect(scan(cut(utf8(text), sizes))).toEqual(scan([utf8(text)]));
          const expected = text.split('\n').filter((part) => part.trim() !== '');
          expect(linesOf(text).map(([part]) => part)).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('the limit', () => {
  it.each([[[1000]], [[1]], [[3]], [[12, 1]]])('holds for pieces of %j bytes', (sizes) => {
    const text = '1234567890\n12345678901\n{}\n';
    expect(scan(cut(utf8(text), sizes), 10)).toEqual({
      lines: [['1234567890', true]],
      problem: 'The stream has a line longer than 10 bytes.',
    });
    expect(scan(cut(utf8(text), sizes), 11).lines).toHaveLength(3);
  });

  it('holds for a line that never ends', () => {
    const seen = scan(cut(utf8('x'.repeat(100)), [7]), 50);
    expect(seen).toMatchObject({ lines: [], problem: expect.any(String) as string });
  });
});
