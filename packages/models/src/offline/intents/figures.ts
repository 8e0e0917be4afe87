import { figuresOf, formatDecimal, compareDecimals, parseDecimal, type Figures } from '../data/decimal.ts';
import { columnIndex, columnNumbers, isNumeric, numbersInJson, tableOf, type Table } from '../data/table.ts';
import { countText, declaredNames, firstParagraph, headingsOf, numbersInText } from '../data/text.ts';
import type { Counted, FiguresJob, Statistic, Wanted } from '../jobs.ts';
import { counted, grouped, listed } from '../language/words.ts';
import { readSeveral, readWhole } from '../reading/file.ts';
import {
  failureText,
  JobStopped,
  type Finding,
  type Item,
  type Room,
  type Row,
  type Script,
  type WholeFile,
} from '../script.ts';
import { resolveTarget } from './target.ts';

/** Facts of one file: a heading and one line each. */
interface Facts {
  readonly heading: string;
  readonly lines: readonly string[];
  /** The figures of the file as data. */
  readonly rows?: readonly Row[];
}

/** Reads the files and says what was asked of them. */
export function* figuresScript(job: FiguresJob, room: Room): Script<Finding> {
  const targets = yield* resolveTarget(job.target, room);
  const [only] = targets;
  if (targets.length === 1 && only !== undefined) {
    const file = yield* readWhole(room, only.path);
    const facts = factsOf(file, job.wanted);
    const body =
      job.wanted.content === true
        ? {
            body: rangeOf(file, job.wanted)
              .lines.map((line) => `${line}\n`)
              .join(''),
          }
        : {};
    const files = [{ ...only, path: file.path }];
    return { text: render(facts, file.note), files, items: itemsOf(facts), ...rowsOf([facts]), ...body };
  }
  const { files, failures } = yield* readSeveral(
    room,
    targets.map((target) => target.path),
    `Reading ${counted(targets.filter(({ path }) => !room.read.has(path)).length, 'file')}.`,
  );
  if (files.length === 0 && failures[0] !== undefined) throw new JobStopped(failureText(failures[0]));
  const parts = files.map((file) => ({ file, facts: factsOf(file, job.wanted) }));
  const total = totals(files, job.wanted);
  const texts = [
    ...parts.map(({ file, facts }) => render(facts, file.note)),
    ...total,
    ...failures.map((failure) => failureText(failure)),
  ];
  const items = [...parts.flatMap(({ facts }) => itemsOf(facts)), ...total.map((text) => ({ text }))];
  return {
    text: texts.join('\n'),
    files: targets.filter((target) => files.some((file) => file.path === target.path)),
    items,
    ...rowsOf(parts.map(({ file, facts }) => ({ ...facts, path: file.path }))),
  };
}

/** The rows of all files, with the file's path where there are several. */
function rowsOf(facts: readonly (Facts & { readonly path?: string })[]): { readonly rows?: readonly Row[] } {
  if (facts.length === 0 || facts.some(({ rows }) => rows === undefined)) return {};
  return {
    rows: facts.flatMap(({ path, rows = [] }) => rows.map((row) => (path === undefined ? row : { path, ...row }))),
  };
}

/** A number as data: exactly, or as it is written. */
function datum(text: string): string | number {
  const plain = text.replaceAll(',', '');
  return /^-?\d+(?:\.\d+)?$/.test(plain) && String(Number(plain)) === plain ? Number(plain) : text;
}

function render(facts: Facts, note: string | undefined): string {
  const [line, ...more] = facts.lines;
  const text =
    more.length === 0 && line !== undefined
      ? `${facts.heading}:${line.startsWith('\n') ? '' : ' '}${line}`
      : [`${facts.heading}:`, ...facts.lines.map((one) => `- ${one}`)].join('\n');
  return note === undefined ? text : `${text}\n${note}`;
}

function itemsOf(facts: Facts): readonly Item[] {
  return facts.lines.map((line) => ({ text: `${facts.heading}: ${line}` }));
}

function totals(files: readonly WholeFile[], wanted: Wanted): readonly string[] {
  const counts = wanted.counts.filter((count) => count === 'lines' || count === 'words' || count === 'characters');
  if (counts.length === 0 || files.length < 2) return [];
  const each = files.map((file) => countText(file.lines, file.ended));
  return [
    `All ${files.length} together: ${listed(counts.map((count) => `${grouped(each.reduce((sum, one) => sum + one[count], 0))} ${count}`))}.`,
  ];
}

function factsOf(file: WholeFile, wanted: Wanted): Facts {
  if (file.image !== undefined) throw new JobStopped(`${file.path} is an image (${file.image}); I can only read text.`);
  if (wanted.content === true) return contentFacts(file, wanted);
  if (wanted.counts.length > 0) return countFacts(file, wanted);
  if (wanted.statistics.length > 0) return statisticFacts(file, wanted);
  return summaryFacts(file);
}

const SHOWN_LINES = 40;

/** The lines that are asked for, and how to call them. */
function rangeOf(file: WholeFile, { range }: Wanted): { readonly lines: readonly string[]; readonly heading: string } {
  if (range === undefined) return { lines: file.lines, heading: file.path };
  const total = file.lines.length;
  const from = 'last' in range ? Math.max(1, total - range.last + 1) : range.from;
  const to = 'last' in range ? total : Math.min(range.to, total);
  if (from > total) throw new JobStopped(`${file.path} has only ${counted(total, 'line')}.`);
  const which = from === to ? `line ${grouped(from)}` : `lines ${grouped(from)} to ${grouped(to)}`;
  return { lines: file.lines.slice(from - 1, to), heading: `${file.path}, ${which} of ${grouped(total)}` };
}

function contentFacts(file: WholeFile, wanted: Wanted): Facts {
  if (file.lines.length === 0) return { heading: file.path, lines: ['the file is empty'] };
  const { lines, heading } = rangeOf(file, wanted);
  const shown = lines.slice(0, SHOWN_LINES).join('\n');
  const rest = lines.length - SHOWN_LINES;
  const more = rest > 0 ? `\n(and ${counted(rest, 'more line', 'more lines')})` : '';
  return { heading, lines: [`\n\`\`\`\n${shown}\n\`\`\`${more}`] };
}

function countFacts(file: WholeFile, wanted: Wanted): Facts {
  const text = countText(file.lines, file.ended);
  const table = tableOf(file.path, file.lines);
  const numberOf = (count: Counted): number => {
    if (count === 'lines' || count === 'words' || count === 'characters') return text[count];
    if (table === undefined)
      throw new JobStopped(
        `${file.path} isn't a table I can read (CSV, TSV or JSON records), so it has no ${count} to count.`,
      );
    return count === 'rows' ? table.rows.length : table.columns.length;
  };
  const numbers = wanted.counts.map((count) => [count, numberOf(count)] as const);
  const parts = numbers.map(
    ([count, number]) =>
      counted(number, count.slice(0, -1)) + (count === 'rows' && table?.header === true ? ' (without the header)' : ''),
  );
  return { heading: file.path, lines: [listed(parts)], rows: [Object.fromEntries(numbers)] };
}

const NAMES: Readonly<Record<Statistic, string>> = {
  sum: 'total',
  average: 'average',
  median: 'median',
  min: 'minimum',
  max: 'maximum',
  count: 'count',
  distinct: 'distinct values',
};

function statisticFacts(file: WholeFile, wanted: Wanted): Facts {
  const table = tableOf(file.path, file.lines);
  if (table === undefined) {
    if (wanted.column !== undefined)
      throw new JobStopped(
        `${file.path} isn't a table I can read (CSV, TSV or JSON records), so it has no column "${wanted.column}".`,
      );
    const numbers = isJson(file) ? numbersInJson(file.lines.join('\n')) : numbersInText(file.lines);
    const figures = figuresOf(numbers);
    if (figures === undefined) throw new JobStopped(`There are no numbers in ${file.path}.`);
    return {
      heading: `${file.path}, all ${counted(numbers.length, 'number')}`,
      lines: wanted.statistics.map((one) => `${NAMES[one]} ${statistic(one, figures)}`),
      rows: [statisticRow(wanted, figures)],
    };
  }
  const column = wantedColumn(file, table, wanted.column);
  const name = table.columns[column] ?? '';
  if (wanted.by !== undefined) return groupFacts(file, table, column, wanted);
  if (wanted.statistics.includes('distinct')) {
    const values = new Set(table.rows.map((row) => (row[column] ?? '').trim()).filter((cell) => cell !== ''));
    return {
      heading: `${file.path}, column ${name}`,
      lines: [counted(values.size, 'distinct value')],
      rows: [{ [NAMES.distinct]: values.size }],
    };
  }
  const { values, others, empty } = columnNumbers(table, column);
  const figures = figuresOf(values);
  if (figures === undefined) throw new JobStopped(`The column "${name}" of ${file.path} holds no numbers.`);
  const lines = wanted.statistics.map(
    (one) => `${NAMES[one]} ${statistic(one, figures)}${place(one, table, column, figures)}`,
  );
  const left = [
    ...(others > 0 ? [`${counted(others, 'cell')} that ${others === 1 ? 'is' : 'are'} no number`] : []),
    ...(empty > 0 ? [counted(empty, 'empty cell')] : []),
  ];
  const heading = `${file.path}, column ${name} (${counted(values.length, 'value')}${left.length > 0 ? `; left out: ${listed(left)}` : ''})`;
  return { heading, lines, rows: [statisticRow(wanted, figures)] };
}

function statisticRow(wanted: Wanted, figures: Figures): Row {
  return Object.fromEntries(wanted.statistics.map((one) => [NAMES[one], datum(statistic(one, figures))]));
}

function isJson(file: WholeFile): boolean {
  return /\.json$/i.test(file.path);
}

function statistic(which: Statistic, figures: Figures): string {
  if (which === 'count' || which === 'distinct') return grouped(figures.count);
  return formatDecimal(figures[which]);
}

/** The row of a minimum or maximum, when it is one row. */
function place(which: Statistic, table: Table, column: number, figures: Figures): string {
  if (which !== 'min' && which !== 'max') return '';
  const rows = table.rows.filter((row) => {
    const value = parseDecimal(row[column] ?? '', table.comma);
    return value !== undefined && compareDecimals(value, figures[which]) === 0;
  });
  const [row] = rows;
  if (row === undefined || rows.length > 1 || table.columns.length < 2) return '';
  const cells = table.columns.flatMap((name, i) =>
    i === column || (row[i] ?? '') === '' ? [] : [`${name} ${row[i] ?? ''}`],
  );
  return ` (${cells.slice(0, 4).join(', ')})`;
}

function wantedColumn(file: WholeFile, table: Table, words: string | undefined): number {
  if (words !== undefined) {
    const index = columnIndex(table, words);
    if (index === undefined)
      throw new JobStopped(`${file.path} has no column "${words}". Its columns are ${listed(table.columns)}.`);
    return index;
  }
  const numeric = table.columns.flatMap((_, i) => (isNumeric(table, i) ? [i] : []));
  const [only] = numeric;
  if (only === undefined)
    throw new JobStopped(`No column of ${file.path} holds numbers. Its columns are ${listed(table.columns)}.`);
  if (numeric.length > 1) {
    throw new JobStopped(
      `${file.path} has several columns of numbers: ${listed(numeric.map((i) => table.columns[i] ?? ''))}. Say which one, such as "the total of column ${table.columns[only] ?? ''}".`,
    );
  }
  return only;
}

function groupFacts(file: WholeFile, table: Table, column: number, wanted: Wanted): Facts {
  const by = wantedColumn(file, table, wanted.by);
  const name = table.columns[by] ?? '';
  const groups = [...Map.groupBy(table.rows, (row) => (row[by] ?? '').trim())].map(([key, rows]) => ({
    key,
    figures: figuresOf(columnNumbers(table, column, rows).values),
  }));
  const lines = groups.map(({ key, figures }) => {
    const values =
      figures === undefined
        ? 'no numbers'
        : listed(wanted.statistics.map((one) => `${NAMES[one]} ${statistic(one, figures)}`));
    return `${key === '' ? '(empty)' : key}: ${values}`;
  });
  const rows = groups.map(({ key, figures }) => ({
    [name]: key,
    ...(figures !== undefined && statisticRow(wanted, figures)),
  }));
  return { heading: `${file.path}, column ${table.columns[column] ?? ''} by ${name}`, lines, rows };
}

const MOST_NAMES = 12;

function summaryFacts(file: WholeFile): Facts {
  const counts = countText(file.lines, file.ended);
  const size = `${counted(counts.lines, 'line')}, ${counted(counts.words, 'word')}, ${counted(counts.characters, 'character')}`;
  const table = tableOf(file.path, file.lines);
  if (table !== undefined) return { heading: `${file.path}, a table`, lines: tableSummary(table) };
  if (file.lines.length === 0) return { heading: file.path, lines: ['the file is empty'] };
  const declared = declaredNames(file.path, file.lines);
  const headings = /\.(?:md|markdown|mdx|txt)$/i.test(file.path) ? headingsOf(file.lines) : [];
  const prose =
    /\.(?:md|markdown|mdx|txt)$/i.test(file.path) || /(?:^|\/)(?:readme|license)$/i.test(file.path)
      ? firstParagraph(file.lines)
      : '';
  const numbers = isJson(file)
    ? numbersInJson(file.lines.join('\n'))
    : /\.(?:txt|log|dat|md)$/i.test(file.path)
      ? numbersInText(file.lines)
      : [];
  const figures = figuresOf(numbers);
  const page = /\.html?$/i.test(file.path) ? /<title>([^<]*)<\/title>/i.exec(file.lines.join('\n'))?.[1] : undefined;
  const title = headings[0]?.text ?? page;
  const sections = headings
    .slice(1)
    .filter((heading) => heading.level <= 2)
    .map((heading) => heading.text);
  return {
    heading: file.path,
    lines: [
      size,
      ...(title === undefined ? [] : [`title: ${title}`]),
      ...(sections.length === 0 ? [] : [`sections: ${some(sections)}`]),
      ...(prose === '' ? [] : [`begins: ${prose.length > 300 ? `${prose.slice(0, 300)}…` : prose}`]),
      ...(declared.length === 0 ? [] : [`declares ${some(declared)}`]),
      ...(figures === undefined ? [] : [`${counted(figures.count, 'number')}: ${allFigures(figures)}`]),
    ],
  };
}

function tableSummary(table: Table): readonly string[] {
  const columns = table.columns.map((name, i) => {
    const { values, others, empty } = columnNumbers(table, i);
    const figures = isNumeric(table, i) ? figuresOf(values) : undefined;
    const missing = [
      ...(figures !== undefined && others > 0 ? [`${others} not numbers`] : []),
      ...(empty > 0 ? [`${empty} empty`] : []),
    ];
    const distinct = new Set(table.rows.map((row) => row[i] ?? '').filter((cell) => cell.trim() !== '')).size;
    const what = figures === undefined ? counted(distinct, 'distinct value') : allFigures(figures);
    return `${name}: ${what}${missing.length > 0 ? ` (${missing.join(', ')})` : ''}`;
  });
  return [`${counted(table.rows.length, 'row')}, ${counted(table.columns.length, 'column')}`, ...columns];
}

function allFigures(figures: Figures): string {
  const shown: readonly Statistic[] = ['sum', 'average', 'min', 'max'];
  return shown.map((one) => `${NAMES[one]} ${statistic(one, figures)}`).join(', ');
}

function some(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  return rest > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${grouped(rest)} more` : listed(names);
}
