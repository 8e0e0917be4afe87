import { plainText } from '../../cli/asking/plain-text.ts';
import { counted } from '../../cli/output/figures.ts';
import { wrap } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';

/** A unified diff, coloured; of a long one the beginning, and how much more there is. */
export function diffRows(diff: string, columns: number, theme: Theme, most: number): string[] {
  const lines = plainText(diff)
    .split('\n')
    .filter((line) => !line.startsWith('--- ') && !line.startsWith('+++ '));
  const rows = lines.flatMap((line) => wrap(line, columns).map((row) => painted(row, line, theme)));
  if (rows.length <= most) return rows;
  const shown = Math.max(1, most - 1);
  return [...rows.slice(0, shown), theme.dim(`… ${counted(rows.length - shown, 'row')} more, Ctrl+F shows all`)];
}

function painted(row: string, line: string, theme: Theme): string {
  if (line.startsWith('+')) return theme.good(row);
  if (line.startsWith('-')) return theme.bad(row);
  return line.startsWith('@@') ? theme.accent(row) : row;
}
