import { plainText } from '../../cli/asking/plain-text.ts';
import { fit, wrap, wrapIndented } from '../screen/text.ts';
import type { Panel } from './panel.ts';

/** A row to choose. Both texts are harmless. */
export interface PickerItem<Value> {
  readonly value: Value;
  readonly text: string;
  readonly about?: string;
}

const ENTER_ANSWERS = 'Enter answers with these words, Down chooses from the list';
/** Characters of the filter that stand before the caret. */
const LABEL = 30;

/**
 * A list to choose from: Up and Down, Enter; typing filters. `done` gets null when nothing was chosen.
 *
 * @param how `isNumbered`: a digit chooses at once, unless letters came before it; `at`: the item that is chosen at first;
 * `words`: what is typed and matches nothing is an answer, too
 */
export function pickerPanel<Value>(
  title: string,
  items: readonly PickerItem<Value>[],
  done: (value: Value | null) => void,
  how: { readonly isNumbered?: boolean; readonly at?: number; words?(text: string): Value } = {},
): Panel {
  const { isNumbered = false, words: valueOf } = how;
  let filter = '';
  let at = Math.max(0, how.at ?? 0);
  /** Since the filter has changed. */
  let hasMoved = false;
  const found = (): readonly PickerItem<Value>[] => {
    const words = filter.toLowerCase().split(/\s+/);
    return items.filter(({ text, about = '' }) =>
      words.every((word) => `${text} ${about}`.toLowerCase().includes(word)),
    );
  };
  /** The typed words are the answer, unless an item was chosen after them, or has them for a name. */
  const answer = (): string | null => {
    const text = filter.trim();
    const isItem = items.some((item) => item.text.toLowerCase() === text.toLowerCase());
    return valueOf && text !== '' && !hasMoved && !isItem ? text : null;
  };
  return {
    get label() {
      const [...shown] = filter;
      const end = shown.length > LABEL ? `…${shown.slice(-LABEL).join('')}` : filter;
      return isNumbered && filter === '' ? '' : `${valueOf ? 'answer' : 'filter'}: ${end}`;
    },
    rows(columns, most, theme) {
      const rows = found();
      const isWords = answer() !== null;
      const head = title.split('\n').flatMap((line) => wrap(theme.bold(line), columns));
      const room = Math.max(1, Math.min(12, most - head.length - 1));
      const first = Math.max(0, Math.min(at - Math.floor(room / 2), rows.length - room));
      const shown = rows.slice(first, first + room).flatMap((item, index) => {
        const { text, about = '' } = item;
        const number = isNumbered ? `${items.indexOf(item) + 1}  ` : '';
        const line = `${number}${text}${about === '' ? '' : theme.dim(`  ${about}`)}`;
        if (isWords || first + index !== at) return [fit(`  ${line}`, columns)];
        // The one that would be chosen is shown whole, where there is room.
        const whole = wrapIndented(theme.accent('❯ '), theme.accent(line), columns);
        return rows.length + whole.length <= room
          ? whole
          : [fit(`${theme.accent('❯ ')}${theme.accent(line)}`, columns)];
      });
      const more = rows.length > room ? ` · ${at + 1} of ${rows.length}` : '';
      const none = rows.length === 0 && !valueOf ? ['  nothing matches'] : [];
      return [
        ...head.slice(-Math.max(1, most - 3)),
        ...shown,
        ...none,
        theme.dim(
          fit(
            `${isWords ? ENTER_ANSWERS : `${isNumbered ? 'A digit or Enter' : 'Enter'} chooses`}, Esc leaves${more}`,
            columns,
          ),
        ),
      ];
    },
    key({ name, sequence }) {
      const { length } = found();
      const before = filter;
      const digit = isNumbered && filter === '' && /^[1-9]$/.test(sequence) ? items[Number(sequence) - 1] : undefined;
      if (name === 'up' || name === 'down') {
        at = length === 0 ? 0 : (at + (name === 'down' ? 1 : length - 1)) % length;
        hasMoved = true;
      } else if (name === 'enter') {
        const words = answer();
        const chosen = found()[at];
        // Where words are no answer, text that matches nothing chooses nothing.
        if (words !== null && valueOf) done(valueOf(words));
        else if (chosen) done(chosen.value);
      } else if (digit) done(digit.value);
      else if (name === 'backspace') filter = [...filter].slice(0, -1).join('');
      else if (sequence >= ' ' && !sequence.startsWith('\u007f') && !sequence.startsWith('\u001b'))
        filter += plainText(sequence).replaceAll(/\s+/g, ' ');
      if (filter !== before) [at, hasMoved] = [0, false];
      return true;
    },
    close() {
      done(null);
      return true;
    },
  };
}
