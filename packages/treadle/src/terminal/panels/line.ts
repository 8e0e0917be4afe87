import { wrap } from '../screen/text.ts';
import type { Panel } from './panel.ts';

/** A question that a line of text answers. `done` gets null when there is no answer. */
export function linePanel(
  {
    question,
    label,
    isSecret = false,
  }: { readonly question: string; readonly label: string; readonly isSecret?: boolean },
  done: (text: string | null) => void,
): Panel {
  return {
    label,
    isSecret,
    rows: (columns, most) =>
      question
        .split('\n')
        .flatMap((line) => wrap(line, columns))
        .slice(-most),
    key: () => false,
    submit: done,
    close() {
      done(null);
      return true;
    },
  };
}
