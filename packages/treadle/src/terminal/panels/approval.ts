import type { ApprovalExtras } from '@treadle/core/events';

import { exactLine, exactText, plainLine } from '../../cli/asking/plain-text.ts';
import { counted } from '../../cli/output/figures.ts';
import { fit, wrap, wrapIndented } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';
import { diffRows } from '../view/diff.ts';
import type { OpenQuestion } from '../view/state.ts';
import type { Key, Panel } from './panel.ts';

/** What somebody said to a question. */
export interface Answer extends ApprovalExtras {
  readonly decision: 'approve' | 'reject';
  readonly message?: string;
}

export interface ApprovalOptions {
  readonly question: OpenQuestion;
  readonly label: string;
  /** What is to be known besides, such as what a command could reach; null for nothing. */
  readonly about: string | null;
  /** The change that the call would make, as a unified diff; null where it isn't one. */
  readonly diff: string | null;
  answer(answer: Answer): void;
  /** Asks why not; null goes back to the menu. */
  askWhy(above: Panel['rows']): Promise<string | null>;
  /** Shows all of it. */
  showAll(rows: (columns: number, theme: Theme) => readonly string[]): void;
  /** Whether a key may be an answer now: nobody is in the middle of typing something else. */
  mayAnswer(): boolean;
  changed(): void;
}

/** Rows that the call has at least; on a small screen, long choices are cut for them. */
const CALL_ROWS = 4;

/** Rows of what is to be known besides: Ctrl+F shows the call, and not this. */
const ABOUT_ROWS = 3;

/** The menu of a call that waits for a person. A digit answers; nothing else does by accident. */
export function approvalPanel(options: ApprovalOptions): Panel {
  const { question, label, about, diff, answer, changed } = options;
  const suggestion = question.suggestions?.find((update) => update.type === 'addRules') ?? null;
  const rules = suggestion !== null && 'rules' in suggestion ? suggestion.rules.map(exactLine).join(', ') : '';
  const choices = [
    'yes, once',
    ...(suggestion === null ? [] : [`yes, for this session: ${rules}`, `yes, always in this folder: ${rules}`]),
    'no, and say why',
  ];
  /** None at first: Enter alone answers nothing. */
  let selected = -1;
  let hint = '';

  const body = (columns: number, theme: Theme, most: number): string[] => {
    if (diff !== null) return diffRows(diff, columns, theme, { most });
    const rows = Object.entries(question.arguments).flatMap(([name, value]) => {
      const text = exactText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
      const lines = text.split('\n').flatMap((line) => wrap(line, columns - 2));
      return lines.length === 1 && lines[0] !== undefined && name.length + lines[0].length < columns - 4
        ? [`${theme.dim(`${exactLine(name)}:`)} ${lines[0]}`]
        : [theme.dim(`${exactLine(name)}:`), ...lines.map((line) => `  ${line}`)];
    });
    if (rows.length <= most) return rows;
    // The end of a command tells as much as its beginning.
    const shown = Math.max(0, most - 1);
    const end = Math.floor(shown / 3);
    return [
      ...rows.slice(0, shown - end),
      theme.dim(`… ${counted(rows.length - shown, 'more row')} here, Ctrl+F shows all`),
      ...rows.slice(rows.length - end),
    ];
  };

  const headRows = (columns: number, theme: Theme): string[] => {
    const path = question.arguments['path'];
    const head = [label, ...(diff !== null && typeof path === 'string' ? [exactLine(path)] : [])].join(' · ');
    return wrap(theme.bold(plainLine(head, 1000)), columns);
  };

  /** The call: what it is, and what it would do. */
  const call: Panel['rows'] = (columns, most, theme) => {
    const all = headRows(columns, theme);
    const shown = Math.max(1, Math.floor(most / 2));
    const head = all.length <= shown ? all : [...all.slice(0, shown - 1), theme.dim('… Ctrl+F shows all')];
    return [...head, ...body(columns - 2, theme, Math.max(1, most - head.length)).map((row) => `  ${row}`)];
  };

  function choose(index: number): void {
    const isNo = index === choices.length - 1;
    if (isNo) {
      hint = '';
      void options.askWhy(call).then((why) => {
        if (why === null) return;
        answer({
          decision: 'reject',
          message: why.trim() === '' ? 'The user said no.' : `The user said no: ${why.trim()}`,
        });
      });
      return;
    }
    const destination = index === 1 ? 'session' : 'localSettings';
    const updates =
      index === 0 || suggestion === null ? {} : { updatedPermissions: [{ ...suggestion, destination } as const] };
    answer({ decision: 'approve', ...updates });
  }

  return {
    rows(columns, most, theme) {
      const asked = wrap(theme.warn(exactLine(question.question)), columns);
      const told = [
        ...asked,
        ...(about === null ? [] : wrap(theme.warn(exactLine(about)), columns).slice(0, ABOUT_ROWS)),
      ];
      const marks = choices.map((_, index) =>
        index === selected ? theme.accent(`❯ ${index + 1}  `) : `  ${index + 1}  `,
      );
      const whole = choices.flatMap((text, index) => wrapIndented(marks[index] ?? '', text, columns));
      const menu =
        most - whole.length - told.length >= CALL_ROWS
          ? whole
          : choices.map((text, index) => fit(`${marks[index] ?? ''}${text}`, columns));
      const below = [...menu, ...(hint === '' ? [] : [theme.warn(fit(hint, columns))])];
      return [
        ...call(columns, Math.max(1, most - below.length - told.length), theme),
        ...told.slice(0, Math.max(1, most - below.length - 1)),
        ...below,
      ];
    },
    key({ name, sequence }: Key) {
      if (name === 'ctrl+f') {
        options.showAll((columns, theme) => [
          ...headRows(columns, theme),
          ...body(columns, theme, Infinity),
          '',
          ...[exactLine(question.question), ...choices].flatMap((line) => wrap(line, columns)),
        ]);
        return true;
      }
      if (!options.mayAnswer()) return false;
      const digit = /^[1-9]$/.test(sequence) ? Number(sequence) : 0;
      if (digit > 0 && digit <= choices.length) {
        choose(digit - 1);
        return true;
      }
      if (name === 'up' || name === 'down') {
        selected =
          name === 'down'
            ? (selected + 1) % choices.length
            : (Math.max(selected, 0) + choices.length - 1) % choices.length;
        changed();
        return true;
      }
      if (name === 'enter' && selected !== -1) {
        choose(selected);
        return true;
      }
      if (name !== 'enter') return false;
      hint = `Press 1 to ${choices.length}, or Up and Down, then Enter.`;
      changed();
      return true;
    },
    close: () => false,
  };
}
