import { wrap } from '../screen/text.ts';
import type { Panel } from './panel.ts';

export interface LineOptions {
  readonly question: string;
  readonly label: string;
  readonly isSecret?: boolean;
  /** What the question is about: so many rows at most. */
  readonly above?: Panel['rows'];
}

/** A question that a line of text answers. `done` gets null when there is no answer. */
export function linePanel(
  { question, label, isSecret = false, above = () => [] }: LineOptions,
  done: (text: string | null) => void,
): Panel {
  return {
    label,
    isSecret,
    rows(columns, most, theme) {
      const asked = question.split('\n').flatMap((line) => wrap(line, columns));
      return [...above(columns, Math.max(0, most - asked.length), theme), ...asked.slice(-most)];
    },
    key: () => false,
    submit: done,
    close() {
      done(null);
      return true;
    },
  };
}
