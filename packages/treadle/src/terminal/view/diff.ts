import { exactText, plainText } from '../../cli/asking/plain-text.ts';
import { counted } from '../../cli/output/figures.ts';
import { wrap, wrapExactly } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';

export interface DiffOptions {
  /** Rows at most. */
  readonly most?: number;
  /** The key that shows the rest. */
  readonly key?: string;
  /** Somebody decides on it: whatever doesn't show is an escape. */
  readonly isExact?: boolean;
}

/** A unified diff, coloured; of a long one the beginning, how much more there is, and the key that shows it. */
export function diffRows(diff: string, columns: number, theme: Theme, options: DiffOptions = {}): string[] {
  const { most = Infinity, key = 'Ctrl+F', isExact = false } = options;
  const all = diff.replace(/\n$/, '').split('\n');
  // Only the first two lines name the files: a changed line may look the same.
  const lines = all[0]?.startsWith('--- ') && all[1]?.startsWith('+++ ') ? all.slice(2) : all;
  // Where not all fits, the change counts for more than what is around it.
  const kept = lines.length <= most ? lines : lines.filter((line) => !line.startsWith(' '));
  const rows: { readonly row: string; readonly index: number }[] = [];
  for (const [index, line] of kept.entries()) {
    if (rows.length > most) break;
    // The rest has no room, and takes no time: at most two units make a column.
    const text = line.slice(0, 2 * most * columns + 2);
    const broken = isExact ? wrapExactly(exactText(text), columns) : wrap(plainText(text), columns);
    rows.push(...broken.map((row) => ({ row: painted(row, line, theme), index })));
  }
  if (rows.length <= most && kept === lines) return rows.map(({ row }) => row);
  const shown = rows.slice(0, Math.max(1, most - 1));
  const isWhole = rows[shown.length]?.index !== shown.at(-1)?.index;
  const left = lines.length - (shown.at(-1)?.index ?? 0) - (isWhole ? 1 : 0);
  return [...shown.map(({ row }) => row), theme.dim(`… ${counted(left, 'more line')} · ${key} shows all`)];
}

function painted(row: string, line: string, theme: Theme): string {
  if (line.startsWith('+')) return theme.good(row);
  if (line.startsWith('-')) return theme.bad(row);
  return line.startsWith('@@') ? theme.accent(row) : row;
}
