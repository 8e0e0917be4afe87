import { plainText } from '../../cli/asking/plain-text.ts';
import { counted } from '../../cli/output/figures.ts';
import { wrap } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';

/** A unified diff, coloured; of a long one the beginning, how much more there is, and the key that shows it. */
export function diffRows(
  diff: string,
  columns: number,
  theme: Theme,
  { most = Infinity, key = 'Ctrl+F' }: { readonly most?: number; readonly key?: string } = {},
): string[] {
  const lines = plainText(diff)
    .split('\n')
    .filter((line) => !line.startsWith('--- ') && !line.startsWith('+++ '));
  const rows = lines.flatMap((line) => wrap(line, columns).map((row) => painted(row, line, theme)));
  if (rows.length <= most) return rows;
  const shown = Math.max(1, most - 1);
  return [...rows.slice(0, shown), theme.dim(`… ${counted(rows.length - shown, 'more row')} · ${key} shows all`)];
}

function painted(row: string, line: string, theme: Theme): string {
  if (line.startsWith('+')) return theme.good(row);
  if (line.startsWith('-')) return theme.bad(row);
  return line.startsWith('@@') ? theme.accent(row) : row;
}
