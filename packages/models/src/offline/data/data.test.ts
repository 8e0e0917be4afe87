import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDecimals, compareDecimals, figuresOf, formatDecimal, parseDecimal, type Decimal } from './decimal.ts';
import { editsFor, occurrencesOf, replaceAt } from './edits.ts';
import { columnIndex, columnNumbers, tableOf } from './table.ts';
import { countText, numbersInText } from './text.ts';

const cents = fc.integer({ min: -10_000_000, max: 10_000_000 });
const money = (value: number): string =>
  `${value < 0 ? '-' : ''}${Math.floor(Math.abs(value) / 100)}.${String(Math.abs(value) % 100).padStart(2, '0')}`;
const decimal = (text: string, comma = false): Decimal => {
  const value = parseDecimal(text, comma);
  if (value === undefined) throw new Error(`${text} is no number`);
  return value;
};

describe('decimals', () => {
  it('add up as on paper, without the dust of floating point', () => {
    fc.assert(
      fc.property(fc.array(cents, { minLength: 1 }), (values) => {
        const sum = addDecimals(values.map((value) => decimal(money(value))));
        const expected = decimal(money(values.reduce((a, b) => a + b, 0)));
        expect(compareDecimals(sum, expected)).toBe(0);
        expect(formatDecimal(sum)).toBe(formatDecimal(expected));
      }),
    );
  });

  it('give minimum, maximum, average and median', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 1 }), (values) => {
        const figures = figuresOf(values.map((value) => decimal(String(value))));
        const sorted = values.toSorted((a, b) => a - b);
        const middle =
          (sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.floor(sorted.length / 2)] ?? 0);
        expect(figures && formatDecimal(figures.min)).toBe(String(sorted[0]));
        expect(figures && formatDecimal(figures.max)).toBe(String(sorted.at(-1)));
        expect(Number(figures && formatDecimal(figures.median))).toBeCloseTo(middle / 2, 5);
        expect(Number(figures && formatDecimal(figures.average))).toBeCloseTo(
          values.reduce((a, b) => a + b, 0) / values.length,
          5,
        );
      }),
    );
  });

  it.each([
    ['1,234.50', false, '1234.5'],
    ['$3.20', false, '3.2'],
    ['15 %', false, '15'],
    ['-$7', false, '-7'],
    ['1.5e3', false, '1500'],
    ['25e-4', false, '0.0025'],
    ['1.234,5', true, '1234.5'],
    ['.5', false, '0.5'],
  ])('reads %s (decimal comma: %s) as %s', (text, comma, expected) => {
    expect(formatDecimal(decimal(text, comma))).toBe(expected);
  });

  it.each(['', 'n/a', '12a', '1.2.3', '2024-01-05', '12:30', '1,23', '--3', 'e5'])(
    'does not read %j as a number',
    (text) => {
      expect(parseDecimal(text)).toBeUndefined();
    },
  );

  it('has no figures of nothing', () => {
    expect(figuresOf([])).toBeUndefined();
  });
});

const cell = fc.string({ maxLength: 12 }).map((text) => text.replace(/\r/g, ''));
const quoted = (text: string, delimiter: string): string =>
  /["\n]/.test(text) || text.includes(delimiter) || /^\s*$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

describe('tables', () => {
  it('read back every cell of a CSV, with quotes, delimiters and line ends inside', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, fc.integer()), { minLength: 1, maxLength: 20 }), (rows) => {
        const text = [['name', 'note', 'amount'], ...rows.map((row) => row.map(String))]
          .map((row) => row.map((one) => quoted(one, ',')).join(','))
          .join('\n');
        const table = tableOf('x.csv', text.split('\n'));
        expect(table?.columns).toEqual(['name', 'note', 'amount']);
        expect(table?.rows).toEqual(rows.map((row) => row.map(String)));
      }),
    );
  });

  it.each([
    ['semicolons and decimal commas', 'a.csv', 'item;price\nx;1,50\ny;1.002,25', '1003.75'],
    ['tabs', 'a.tsv', 'item\tprice\nx\t1.5\ny\t2', '3.5'],
    ['JSON records', 'a.json', '[{"item":"x","price":1.5},{"item":"y","price":2}]', '3.5'],
    ['one array of records in an object', 'a.json', '{"data":[{"item":"x","price":1.5},{"price":2}],"n":1}', '3.5'],
    ['JSON lines', 'a.jsonl', '{"item":"x","price":1.5}\n{"item":"y","price":2}\n', '3.5'],
  ])('understand %s', (_, path, text, sum) => {
    const table = tableOf(path, text.split('\n'));
    const column = table === undefined ? undefined : columnIndex(table, 'Prices');
    expect(column).toBe(table?.columns.indexOf('price'));
    const values = table === undefined || column === undefined ? [] : columnNumbers(table, column).values;
    expect(formatDecimal(addDecimals(values))).toBe(sum);
  });

  it('call the columns of a table without a header by their place', () => {
    const table = tableOf('a.csv', ['1,2', '3,4']);
    expect(table?.columns).toEqual(['column 1', 'column 2']);
    expect(table?.rows).toHaveLength(2);
  });

  it('count what is filled but no number apart from what is empty', () => {
    const table = tableOf('a.csv', ['a,b', '1,x', ',y', 'n/a,z']);
    expect(table && columnNumbers(table, 0)).toMatchObject({ others: 1, empty: 1 });
  });

  it('are not seen in a text, nor in JSON of another shape', () => {
    expect(tableOf('a.txt', ['a,b', '1,2'])).toBeUndefined();
    expect(tableOf('a.json', ['{"a":1}'])).toBeUndefined();
    expect(tableOf('a.json', ['not json'])).toBeUndefined();
  });
});

describe('texts', () => {
  it('count lines, words and characters', () => {
    expect(countText(['a bc', '', ' d😀 '])).toEqual({ lines: 3, words: 3, characters: 4 + 0 + 4 + 2 });
    expect(countText(['a bc', ''], true).characters).toBe(4 + 1 + 1);
  });

  it('hold the numbers that stand by themselves, and no dates, versions, times or list numbers', () => {
    const numbers = numbersInText(['1. apples: 12, pears=7.5 (3)', 'v1.2.3 on 2024-01-05 at 12:30 x86', '$4 and -2']);
    expect(numbers.map(formatDecimal)).toEqual(['12', '7.5', '3', '4', '-2']);
  });
});

/** What an edit tool does: exactly one match, overlaps counted, or nothing. */
function applyOnce(text: string, oldText: string, newText: string): string {
  const at = text.indexOf(oldText);
  if (oldText === '' || at < 0 || text.indexOf(oldText, at + 1) >= 0)
    throw new Error(`not unique: ${JSON.stringify(oldText)}`);
  return text.slice(0, at) + newText + text.slice(at + oldText.length);
}

const repetitive = fc.array(fc.constantFrom('a', 'b', 'ab', 'a a', '', 'aa\nb', 'x'), { minLength: 1, maxLength: 60 });

describe('edits', () => {
  it('make every replacement through unique old texts, however repetitive the text is', () => {
    fc.assert(
      fc.property(
        repetitive,
        fc.constantFrom('a', 'ab', 'b', 'a a', 'aa\nb'),
        fc.constantFrom('a', 'aa', '', 'xab', 'a\nb'),
        fc.integer({ min: 1, max: 12 }),
        (lines, from, to, most) => {
          fc.pre(from !== to);
          const text = lines.join('\n');
          const replacements = occurrencesOf(text, from, false).map((start) => ({
            start,
            end: start + from.length,
            to,
          }));
          const edits = editsFor(text, replacements, most);
          expect(edits.length).toBeLessThanOrEqual(most);
          const result = edits.reduce((now, edit) => applyOnce(now, edit.oldText, edit.newText), text);
          expect(result).toBe(replaceAt(text, replacements));
          expect(result).toBe(text.split(from).join(to));
        },
      ),
    );
  });

  it('leave words alone that only contain the word', () => {
    expect(occurrencesOf('foo foobar _foo foo', 'foo', true)).toEqual([0, 16]);
  });
});
