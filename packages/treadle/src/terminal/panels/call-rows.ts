import { exactLine, exactText, plainLine } from '../../cli/asking/plain-text.ts';
import { counted } from '../../cli/output/figures.ts';
import { wrapExactly } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';
import { diffRows } from '../view/diff.ts';
import type { OpenQuestion } from '../view/state.ts';

/** Characters of a tool's name for people. */
const LABEL = 60;

export interface ShownCall {
  readonly question: OpenQuestion;
  readonly label: string;
  /** The change that the call would make; null where it isn't one. */
  readonly diff: string | null;
}

/** A call for somebody who decides on it, in so many rows at most: what it is, and what it would do. */
export function callRows(call: ShownCall, columns: number, most: number, theme: Theme): string[] {
  const head = cut(headRows(call, columns), Math.max(1, Math.floor(most / 2)), theme, 0);
  const room = most - head.length;
  const body = room < 1 ? [] : bodyRows(call, columns - 2, room, theme);
  return [...head.map((row) => theme.bold(row)), ...body.map((row) => `  ${row}`)];
}

/** A name that a server has chosen for its tool stands beside the one that rules have. */
function headRows({ question: { toolName, arguments: args }, label, diff }: ShownCall, columns: number): string[] {
  const name = plainLine(label, LABEL);
  const { path } = args;
  const head = [
    toolName.includes('__') && name !== toolName ? `${name} (${exactLine(toolName)})` : name,
    ...(diff !== null && typeof path === 'string' ? [exactLine(path)] : []),
  ];
  return wrapExactly(head.join(' · '), columns);
}

function bodyRows({ question, diff }: ShownCall, columns: number, most: number, theme: Theme): string[] {
  if (diff !== null) return diffRows(diff, columns, theme, { most, isExact: true });
  const entries = Object.entries(question.arguments);
  // More would not be shown, and would take its time at every key.
  const shown = entries.length <= 2 * most ? entries : [...entries.slice(0, most), ...entries.slice(-most)];
  const rows = shown.flatMap(([name, value]) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return argumentRows(name, text, columns, most, theme);
  });
  // The end of a command tells as much as its beginning.
  return cut(rows, most, theme, Math.floor((most - 1) / 3));
}

function argumentRows(name: string, text: string, columns: number, most: number, theme: Theme): string[] {
  const names = wrapExactly(`${exactLine(ends(name, columns * most))}:`, columns);
  const lines = exactText(ends(text, columns * most))
    .split('\n')
    .flatMap((line) => wrapExactly(line, columns - 2));
  const [first = ''] = names;
  const [only = ''] = lines;
  const isOne = names.length === 1 && lines.length === 1 && wrapExactly(`${first} ${only}`, columns).length === 1;
  return isOne
    ? [`${theme.dim(first)} ${only}`]
    : [...names.map((row) => theme.dim(row)), ...lines.map((row) => `  ${row}`)];
}

/** The beginning and the end of a text: what is between them has no room. */
const ends = (text: string, most: number): string =>
  text.length <= 2 * most ? text : `${text.slice(0, most)}\n…\n${text.slice(-most)}`;

/** Rows that fit: of too many the beginning, so many of the end, and a row between them that says so. */
export function cut(rows: readonly string[], most: number, theme: Theme, end: number): string[] {
  if (rows.length <= most) return [...rows];
  const shown = Math.max(0, most - 1);
  const more = theme.dim(`… ${counted(rows.length - shown, 'more row')} here, Ctrl+F shows all`);
  return [...rows.slice(0, shown - end), more, ...rows.slice(rows.length - end)].slice(0, Math.max(1, most));
}
