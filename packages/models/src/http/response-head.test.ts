import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHeadReader } from './response-head.ts';
import type { HeadReader, ResponseHead } from './response-head.ts';

const heard = (read: HeadReader, text: string): ResponseHead | string => {
  try {
    return read(text);
  } catch (error) {
    return (error as Error).message;
  }
};

const line = fc.constantFrom(
  ...['HTTP/1.1 200 OK', 'HTTP/1.1 404 Not Found', 'HTTP/1.0 200', 'HTTP/2 200', 'SSH-2.0'],
  ...['a: 1', 'a: 2', 'a:1', 'A: 1', 'age: 1', 'age: 2', 'date: Sun', 'date: Mon', ': 1', 'a', ''],
  ...['content-length: 5', 'content-length: 6', 'content-length: x', 'transfer-encoding: chunked'],
  ...['connection: close', 'connection: keep-alive', 'keep-alive: timeout=5', 'keep-alive: timeout=9'],
  ...['b: \0', 'b: \r', 'b: \n', 'b: \x7f', `c: ${'x'.repeat(5000)}`],
);
const head = fc
  .tuple(fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.1 200 OK', 'HTTP/1.1 201 OK', ''), fc.array(line, { maxLength: 6 }))
  .map(([first, lines]) => [first, ...lines].map((text) => `${text}\r\n`).join(''));

describe('a head', () => {
  it('is the same whatever heads were read before it, well-formed or not', () => {
    fc.assert(
      fc.property(fc.array(head, { minLength: 2, maxLength: 5 }), (heads) => {
        const read = createHeadReader();
        for (const text of heads) expect(heard(read, text)).toEqual(heard(createHeadReader(), text));
      }),
      { numRuns: 500 },
    );
  });

  it('is the same when one line of it is another, added or missing', () => {
    const lines = ['HTTP/1.1 200 OK', 'content-type: a', 'x-id: 1', 'content-length: 5', 'via: b'];
    const texts = lines.flatMap((_, at) => [
      lines,
      lines.with(at, at === 0 ? 'HTTP/1.1 201 OK' : 'x-other: 2'),
      lines.toSpliced(at, 1),
      lines.toSpliced(at + 1, 0, 'via: c'),
      lines.with(at, 'broken\0'),
    ]);
    const read = createHeadReader();
    for (const text of texts.map((all) => `${all.join('\r\n')}\r\n`))
      expect(heard(read, text)).toEqual(heard(createHeadReader(), text));
  });
});
