import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseScanner } from './scanner.ts';

interface Seen {
  readonly events: readonly (readonly [name: string, data: string, whole: boolean])[];
  readonly problem: string | undefined;
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function scan(chunks: Iterable<Uint8Array>, limit?: number): Seen {
  const events: [string, string, boolean][] = [];
  let problem: string | undefined;
  const scanner = createSseScanner(
    (name, data, whole) => events.push([name, data, whole]),
    (message) => (problem = message),
    limit,
  );
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return { events, problem };
}

const scanText = (text: string): Seen['events'] => scan([utf8(text)]).events;

function* cut(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  let position = 0;
  for (let turn = 0; position < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.slice(position, position + size);
    position += size;
  }
}

describe('fields', () => {
  it('delivers the name and the data of an event at its blank line', () => {
    expect(scanText('event: ping\ndata: {"a":1}\n\n')).toEqual([['ping', '{"a":1}', true]]);
  });

  it('gives an event without a name the empty name, also after one that had a name', () => {
    expect(scanText('event: a\ndata: 1\n\ndata: 2\n\n')).toEqual([
      ['a', '1', true],
      ['', '2', true],
    ]);
  });

  it('removes one space after the colon and no more', () => {
    expect(scanText('data:none\n\ndata: one\n\ndata:  two\n\n').map((event) => event[1])).toEqual([
      'none',
      'one',
      ' two',
    ]);
  });

  it('joins several data lines with line feeds', () => {
    expect(scanText('data: a\ndata:\ndata: b\n\n')).toEqual([['', 'a\n\nb', true]]);
  });

  it('reads a field without a colon as a field without a value', () => {
    expect(scanText('data\n\ndata\ndata\n\n')).toEqual([
      ['', '', true],
      ['', '\n', true],
    ]);
  });

  it('skips comments, id, retry and fields it does not know', () => {
    expect(scanText(': hello\nid: 7\nretry: 10\nfoo: bar\ndatax: no\n data: no\ndata: yes\n\n')).toEqual([
      ['', 'yes', true],
    ]);
  });

  it('delivers nothing for an event without data', () => {
    expect(scanText('event: a\n\n\n\n: comment\n\n')).toEqual([]);
  });

  it('forgets the name of an event without data', () => {
    expect(scanText('event: a\n\ndata: 1\n\n')).toEqual([['', '1', true]]);
  });

  it('keeps colons of the value', () => {
    expect(scanText('data: a:b: c\n\n')).toEqual([['', 'a:b: c', true]]);
  });
});

describe('line ends', () => {
  it.each([
    ['LF', 'data: 1\ndata: 2\n\ndata: 3\n\n'],
    ['CR', 'data: 1\rdata: 2\r\rdata: 3\r\r'],
    ['CRLF', 'data: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n'],
    ['all three mixed', 'data: 1\r\ndata: 2\r\n\rdata: 3\r\n\n'],
  ])('are %s', (_, text) => {
    const whole = scanText(text);
    expect(whole).toEqual([
      ['', '1\n2', true],
      ['', '3', true],
    ]);
    for (let at = 0; at <= text.length; at++) {
      expect(scan([utf8(text.slice(0, at)), utf8(text.slice(at))]).events).toEqual(whole);
    }
  });

  it('deliver an event whose CR CR ended the chunk without waiting for more', () => {
    const events: string[] = [];
    const scanner = createSseScanner(
      (_, data) => events.push(data),
      () => undefined,
    );
    scanner.push(utf8('data: 1\r\r'));
    expect(events).toEqual(['1']);
    scanner.push(utf8('\ndata: 2\r\n\r\n'));
    expect(events).toEqual(['1', '2']);
  });
});

describe('the byte order mark', () => {
  it('is skipped at the beginning only', () => {
    expect(scanText('\uFEFFdata: 1\n\ndata: \uFEFF2\n\n').map((event) => event[1])).toEqual(['1', '\uFEFF2']);
    expect(scanText('\uFEFFdata: 1')).toEqual([['', '1', false]]);
  });

  it('hides nothing when it comes late', () => {
    expect(scanText('data: 1\n\n\uFEFFdata: 2\n\n')).toEqual([['', '1', true]]);
  });
});

describe('the end of the body', () => {
  it('delivers an event that only its blank line is missing of', () => {
    expect(scanText('data: 1\n')).toEqual([['', '1', true]]);
  });

  it('delivers an event whose last line was cut, and says so', () => {
    expect(scanText('data: 1\ndata: {"a')).toEqual([['', '1\n{"a', false]]);
  });

  it('delivers nothing after a complete event', () => {
    expect(scanText('data: 1\n\n: bye')).toEqual([['', '1', true]]);
  });

  it('delivers nothing twice', () => {
    const events: string[] = [];
    const scanner = createSseScanner(
      (_, data) => events.push(data),
      () => undefined,
    );
    scanner.push(utf8('data: 1'));
    scanner.end();
    scanner.end();
    scanner.push(utf8('\n\ndata: 2\n\n'));
    expect(events).toEqual(['1']);
  });
});

describe('invalid UTF-8', () => {
  it('becomes U+FFFD and spoils nothing beside it', () => {
    const bytes = Buffer.concat([
      Buffer.from('data: a'),
      Buffer.from([0xff, 0xe2, 0x82]),
      Buffer.from('b\n\ndata: ✓\n\n'),
    ]);
    expect(scan([bytes]).events).toEqual([
      ['', 'a\uFFFD\uFFFDb', true],
      ['', '✓', true],
    ]);
  });
});

describe('the limit', () => {
  it('stops at a line that is longer, whether or not it ever ends', () => {
    const unfinished = scan([utf8('data: 1\n\n'), utf8(`data: ${'x'.repeat(100)}`)], 50);
    expect(unfinished.events).toEqual([['', '1', true]]);
    expect(unfinished.problem).toContain('50 bytes');
    expect(scan([utf8(`data: 1\n\ndata: ${'x'.repeat(100)}\n\ndata: 3\n\n`)], 50)).toEqual(unfinished);
  });

  it('lets a line of exactly that length pass, in one chunk and in many', () => {
    const text = `data: ${'x'.repeat(44)}\r\n\r\n`;
    for (const sizes of [[1], [7], [50], [51], [1000]]) {
      expect(scan(cut(utf8(text), sizes), 50)).toEqual({ events: [['', 'x'.repeat(44), true]], problem: undefined });
      expect(scan(cut(utf8(`data: x${'x'.repeat(44)}\r\n\r\n`), sizes), 50).problem).toContain('50 bytes');
    }
  });

  it('counts the data of an event of many lines', () => {
    expect(scan([utf8('data: xxxxxxxxxx\n'.repeat(10))], 50).problem).toContain('50 bytes');
  });

  it('does not count events that are merely many', () => {
    const text = 'data: 1\n\n'.repeat(100);
    for (const sizes of [[1], [3, 500], [1000]]) expect(scan(cut(utf8(text), sizes), 50).events).toHaveLength(100);
  });

  it('is reported once, and nothing is kept after it', () => {
    const problems: string[] = [];
    const scanner = createSseScanner(
      () => undefined,
      (message) => problems.push(message),
      1000,
    );
    const chunk = new Uint8Array(500).fill(120);
    for (let turn = 0; turn < 100_000; turn++) scanner.push(chunk);
    scanner.end();
    expect(problems).toHaveLength(1);
  });
});

describe('any chunking', () => {
  const line = fc.oneof(
    fc.constantFrom('data: x', 'data:', 'data', 'event: a', ': c', '', '', '', 'id: 1', 'data: ✓🦊', 'foo: bar'),
    fc.string({ unit: 'binary', maxLength: 12 }).map((text) => `data: ${text}`),
  );
  const body = fc
    .tuple(
      fc.boolean(),
      fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 30 }),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 128, max: 255 })), { maxLength: 3 }),
    )
    .map(([mark, lines, damage]) => {
      const bytes = utf8((mark ? '\uFEFF' : '') + lines.map(([text, end]) => text + end).join(''));
      for (const [at, value] of damage) if (bytes.length > 0) bytes[at % bytes.length] = value;
      return bytes;
    });

  it('gives what the whole body gives', () => {
    fc.assert(
      fc.property(body, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }), (bytes, sizes) => {
        expect(scan(cut(bytes, sizes))).toEqual(scan([bytes]));
      }),
      { numRuns: 500 },
    );
  });

  it('gives what the whole body gives when a limit is near', () => {
    fc.assert(
      fc.property(
        body,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 5, max: 20 }),
        (bytes, sizes, limit) => {
          expect(scan(cut(bytes, sizes), limit)).toEqual(scan([bytes], limit));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('cost', () => {
  // A scanner that looked at, or copied, what it has seen before at every push would be at it for minutes.
  it.each([
    ['4,096 bytes', 4096, 16_384],
    ['one byte', 1, 2_000_000],
  ])('is linear for one line in chunks of %s: it comes to its end', (_, size, count) => {
    let length = 0;
    const scanner = createSseScanner(
      (_, data) => {
        ({ length } = data);
      },
      () => undefined,
      1e9,
    );
    const chunk = new Uint8Array(size).fill(120);
    scanner.push(utf8('data: '));
    for (let turn = 0; turn < count; turn += 1) scanner.push(chunk);
    scanner.push(utf8('\n\n'));
    expect(length).toBe(size * count);
  });
});
