import { isJsonObject, parseJson } from '@treadle/core';
import { decimalOf, parseDecimal, type Decimal } from './decimal.ts';

/** Rows with named columns, all as text. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The names of the columns are the first row of the file. */
  readonly header: boolean;
  /** Numbers are written with a decimal comma. */
  readonly comma: boolean;
}

/** The table in a file: CSV, TSV or JSON records, by its name and by its looks. Nothing when it is none. */
export function tableOf(path: string, lines: readonly string[]): Table | undefined {
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  if (extension === 'json') return jsonTable(parsed(lines.join('\n')));
  if (extension === 'jsonl' || extension === 'ndjson') {
    return jsonTable(lines.filter((line) => line.trim() !== '').map((line) => parseJson(line)));
  }
  if (extension === 'tsv' || extension === 'tab') return delimitedTable(lines, '\t');
  if (extension === 'csv') return delimitedTable(lines, delimiterOf(lines));
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** An array of records, or the one array of records inside an object. */
function jsonTable(value: unknown): Table | undefined {
  const records: readonly unknown[] | undefined = Array.isArray(value) ? value : onlyArrayIn(value);
  if (records === undefined || records.length === 0 || !records.every(isJsonObject)) return undefined;
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record) => columns.map((column) => cellOf(record[column])));
  return { columns, rows, header: false, comma: false };
}

function onlyArrayIn(value: unknown): readonly unknown[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const arrays = Object.values(value).filter((entry) => Array.isArray(entry));
  return arrays.length === 1 ? arrays[0] : undefined;
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function delimiterOf(lines: readonly string[]): string {
  const sample = lines.filter((line) => line.trim() !== '').slice(0, 20);
  const scores = [',', ';', '\t', '|'].map((delimiter) => {
    const counts = sample.map((line) => splitRecords([line], delimiter)[0]?.length ?? 1);
    const same = counts.filter((count) => count === counts[0]).length;
    return { delimiter, score: (counts[0] ?? 1) > 1 ? same * 100 + (counts[0] ?? 1) : 0 };
  });
  return scores.reduce((best, next) => (next.score > best.score ? next : best)).delimiter;
}

function delimitedTable(lines: readonly string[], delimiter: string): Table | undefined {
  const records = splitRecords(lines, delimiter).filter((record) => record.some((cell) => cell.trim() !== ''));
  const [first, ...others] = records;
  if (first === undefined) return undefined;
  const comma = delimiter !== ',' && usesComma(others);
  const isNumber = (cell: string): boolean => parseDecimal(cell, comma) !== undefined;
  // A first row of nothing but numbers is data; then the columns are called by their place.
  const headless = first.every((cell) => cell.trim() === '' || isNumber(cell)) && first.some(isNumber);
  const columns = first.map((cell, i) => (headless ? `column ${i + 1}` : cell.replace(/^\uFEFF/, '').trim()));
  return { columns, rows: headless ? records : others, header: !headless, comma };
}

function usesComma(rows: readonly (readonly string[])[]): boolean {
  let commas = 0;
  let points = 0;
  for (const cell of rows.slice(0, 200).flat()) {
    if (/^\s*[-+]?[\d.]*\d,\d+\s*$/.test(cell)) commas += 1;
    else if (/^\s*[-+]?[\d,]*\d\.\d+\s*$/.test(cell)) points += 1;
  }
  return commas > points;
}

/** Cells may be quoted, and a quoted cell may hold the delimiter, doubled quotes and line ends. */
function splitRecords(lines: readonly string[], delimiter: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  let cell = '';
  let quoted = false;
  for (const line of lines) {
    if (quoted) cell += '\n';
    for (let i = 0; i < line.length; i += 1) {
      const char = line.charAt(i);
      if (quoted) {
        if (char !== '"') cell += char;
        else if (line.charAt(i + 1) === '"') {
          cell += '"';
          i += 1;
        } else quoted = false;
      } else if (char === '"' && cell.trim() === '') {
        cell = '';
        quoted = true;
      } else if (char === delimiter) {
        record.push(cell);
        cell = '';
      } else cell += char;
    }
    if (quoted) continue;
    records.push([...record, cell]);
    record = [];
    cell = '';
  }
  if (quoted) records.push([...record, cell]);
  return records;
}

/** The column a user's words mean: its name, in any case, singular or plural, or `column 3`. */
export function columnIndex(table: Table, words: string): number | undefined {
  const plain = (text: string): string =>
    text
      .toLowerCase()
      .replace(/[\s_-]+/g, ' ')
      .trim();
  const wanted = plain(words);
  const names = table.columns.map(plain);
  const bare = wanted.replace(/s$/, '');
  for (const candidate of [wanted, `${wanted}s`, bare, `${wanted}es`, wanted.replace(/ies$/, 'y')]) {
    const index = names.indexOf(candidate);
    if (index >= 0 && names.lastIndexOf(candidate) === index) return index;
  }
  const byPlace = /^column (\d+)$/.exec(wanted);
  const place = Number(byPlace?.[1] ?? 0) - 1;
  return place >= 0 && place < table.columns.length ? place : undefined;
}

/** The numbers of a column, and how many of its cells are filled but no numbers. */
export function columnNumbers(
  table: Table,
  column: number,
  rows: Table['rows'] = table.rows,
): { readonly values: readonly Decimal[]; readonly others: number; readonly empty: number } {
  const values: Decimal[] = [];
  let others = 0;
  let empty = 0;
  for (const row of rows) {
    const cell = (row[column] ?? '').trim();
    const value = cell === '' ? undefined : parseDecimal(cell, table.comma);
    if (value !== undefined) values.push(value);
    else if (cell === '') empty += 1;
    else others += 1;
  }
  return { values, others, empty };
}

/** A column is one of figures when most of its filled cells are numbers. */
export function isNumeric(table: Table, column: number): boolean {
  const { values, others } = columnNumbers(table, column);
  return values.length > 0 && values.length > others;
}

/** Every number in a JSON value, at any depth. */
export function numbersInJson(text: string): readonly Decimal[] {
  const numbers: Decimal[] = [];
  const open: unknown[] = [parsed(text)];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'number') {
      const decimal = decimalOf(value);
      if (decimal !== undefined) numbers.push(decimal);
    } else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value) as unknown[]) open.push(inner);
    }
  }
  return numbers;
}
