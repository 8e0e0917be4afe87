import type { TodoItem } from '@treadle/core/projections';

import { plainLine } from '../asking/plain-text.ts';
import type { Style } from '../style.ts';

const MARKS: Readonly<Record<TodoItem['status'], string>> = { completed: '[x]', in_progress: '[>]', pending: '[ ]' };

/** The todo list, a line per item; what is being done in its own words. */
export function todoLines(items: readonly TodoItem[], style: Style): string {
  return items
    .map(({ content, status, activeForm }) => {
      const line = `  ${MARKS[status]} ${plainLine(status === 'in_progress' ? activeForm : content, 120)}`;
      return `${status === 'in_progress' ? line : style.dim(line)}\n`;
    })
    .join('');
}
