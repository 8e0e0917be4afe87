import type { ApprovalExtras } from '@treadle/core/events';

import { exactLine } from '../../cli/asking/plain-text.ts';
import { fit, wrapExactly } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';
import { callRows, cut } from './call-rows.ts';
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
  /** A rule can be kept for the folder. */
  readonly keepsRules: boolean;
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
/** Rows of the question. */
const ASKED_ROWS = 4;

/** Rows of what is to be known besides. */
const ABOUT_ROWS = 3;

/** The menu of a call that waits for a person. A digit answers; nothing else does by accident. */
export function approvalPanel(options: ApprovalOptions): Panel {
  const { question, about, answer, changed } = options;
  const suggestion = question.suggestions?.find((update) => update.type === 'addRules') ?? null;
  const rules = suggestion !== null && 'rules' in suggestion ? suggestion.rules.map(exactLine).join(', ') : '';
  const choices = [
    'yes, once',
    ...(suggestion === null ? [] : [`yes, for this session: ${rules}`]),
    ...(suggestion === null || !options.keepsRules ? [] : [`yes, always in this folder: ${rules}`]),
    'no, and say why',
  ];
  /** None at first: Enter alone answers nothing. */
  let selected = -1;
  let hint = '';

  /** The part of the menu that is not on the screen. Only Ctrl+F lets it be allowed. */
  let hidden: 'call' | 'rule' | null = null;
  let hasLooked = false;

  const call: Panel['rows'] = (columns, most, theme) => callRows(options, columns, most, theme);
  const warned = (text: string, columns: number, most: number, theme: Theme): string[] =>
    cut(wrapExactly(exactLine(text), columns), most, theme, 0).map((row) => theme.warn(row));

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
    if (!hasLooked && (hidden === 'call' || (hidden === 'rule' && index > 0))) {
      hint = `The ${hidden} is not all here: Ctrl+F shows it. Then answer.`;
      changed();
      return;
    }
    const destination = index === 1 ? 'session' : 'localSettings';
    const updates =
      index === 0 || suggestion === null ? {} : { updatedPermissions: [{ ...suggestion, destination } as const] };
    answer({ decision: 'approve', ...updates });
  }

  return {
    rows(columns, most, theme) {
      const told = [
        ...warned(question.question, columns, ASKED_ROWS, theme),
        ...(about === null ? [] : warned(about, columns, ABOUT_ROWS, theme)),
      ];
      const whole = choices.map((text) => wrapExactly(text, columns - 5));
      const fits = most - whole.flat().length - told.length - 1 >= CALL_ROWS;
      const menu = whole.flatMap((rows, index) => {
        const mark = index === selected ? theme.accent(`❯ ${index + 1}  `) : `  ${index + 1}  `;
        const first = rows.length === 1 || fits ? (rows[0] ?? '') : `${(rows[0] ?? '').slice(0, -1)}…`;
        return [`${mark}${first}`, ...(fits ? rows.slice(1).map((row) => `     ${row}`) : [])];
      });
      const below = [...menu, ...(hint === '' ? [] : [theme.warn(fit(hint, columns))])];
      const room = most - below.length;
      const shownTold = told.slice(0, Math.max(room < 2 ? 0 : 1, room - 2));
      const left = room - shownTold.length;
      // It is cut where its beginning tells nothing.
      const isTight = left < CALL_ROWS && (left < 2 || call(columns, left + 1, theme).length > left);
      hidden = isTight ? 'call' : !fits && whole.some((rows) => rows.length > 1) ? 'rule' : null;
      return [...(left < 1 ? [] : call(columns, left, theme)), ...shownTold, ...below];
    },
    key({ name, sequence }: Key) {
      if (name === 'ctrl+f') {
        hasLooked = true;
        hint = '';
        const menu = choices.map((text, index) => `${index + 1}  ${text}`);
        const said = [question.question, ...(about === null ? [] : [about]), ...menu];
        options.showAll((columns, theme) => [
          ...call(columns, Infinity, theme),
          '',
          ...said.flatMap((line) => wrapExactly(exactLine(line), columns)),
        ]);
        return true;
      }
      if (!options.mayAnswer()) return false;
      const digit = /^[1-9]$/.test(sequence) ? Number(sequence) : 0;
      if (digit > 0 && digit <= choices.length) {
        choose(digit - 1);
        return true;
      }
      // Up alone is for earlier prompts.
      if (name === 'down' || (name === 'up' && selected !== -1)) {
        const next = name === 'down' ? selected + 1 : selected - 1;
        selected = (next + choices.length) % choices.length;
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
