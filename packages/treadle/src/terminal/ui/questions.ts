import type { SessionInput } from '@treadle/core/events';

import type { Asking } from '../../cli/asking/ask-user.ts';
import type { Choice } from '../../cli/asking/terminal.ts';
import { approvalPanel } from '../panels/approval.ts';
import type { Panel } from '../panels/panel.ts';
import type { PickerItem } from '../panels/picker.ts';
import type { Theme } from '../screen/theme.ts';
import type { OpenQuestion, ViewState } from '../view/state.ts';
import type { TerminalHost, TerminalUi } from './host.ts';

/** What questions need of the terminal. */
export interface QuestionsParts {
  readonly host: TerminalHost;
  theme(): Theme;
  /** Shows a panel, or none. */
  show(panel: Panel | null): void;
  /** False when it failed, which is said. */
  post(input: SessionInput): Promise<boolean>;
  page(title: string, rows: (columns: number, theme: Theme) => readonly string[]): void;
  readonly ask: TerminalUi['ask'];
  /** Absent where only lines are typed. */
  readonly pick?: TerminalUi['pick'];
  print(text: string): void;
  mayAnswer(): boolean;
  changed(): void;
}

/** Milliseconds that a menu must be on the screen before a digit answers it; more after a line that was being typed. */
const SETTLED_MS = 300;
const SENTENCE_MS = 1500;
/** The first byte of a key that has several. */
const ESCAPE = 0x1b;

/** Whether a digit may be an answer: the menu was there to be read, and the key is meant for it. */
export interface AnswerGate {
  readonly isOpen: boolean;
  /** Another menu is to be drawn. */
  changed(): void;
  /** It is on the screen. */
  drawn(): void;
  /** A key was for something else. @param isSentence a line whose end may be taken for an answer */
  typed(isSentence?: boolean): void;
  /** Several keys that are read at once are a text. */
  read(bytes: Uint8Array): void;
}

export function answerGate(now: () => number): AnswerGate {
  /** Infinity while the menu has not been drawn. */
  let from = 0;
  /** A line was being typed that may go on. */
  let sentenceUntil = 0;
  let isOneKey = true;
  return {
    get isOpen() {
      return isOneKey && now() >= from;
    },
    changed() {
      from = Infinity;
    },
    drawn() {
      if (from === Infinity) from = Math.max(now() + SETTLED_MS, sentenceUntil);
    },
    typed(isSentence = false) {
      sentenceUntil = isSentence ? now() + SENTENCE_MS : 0;
      if (from !== Infinity) from = now() + (isSentence ? SENTENCE_MS : SETTLED_MS);
    },
    read(bytes) {
      isOneKey = bytes.length === 1 || bytes[0] === ESCAPE;
    },
  };
}

/** Puts to the user what the session waits for, and takes it away when somebody else has answered. */
export interface Questions {
  /** The session is where `state` says. */
  update(state: ViewState): void;
  /** When the question that is shown appeared; null without one. */
  readonly isOpen: boolean;
}

export function createQuestions(parts: QuestionsParts): Questions {
  const { host, show, post, changed, pick } = parts;
  let current: string | null = null;
  let stop = Promise.withResolvers<void>();
  /** The question is answered elsewhere. */
  let isElsewhere = false;

  const reset = (): void => {
    current = null;
    stop.resolve();
    stop = Promise.withResolvers();
    show(null);
  };

  /** Questions that are asked line by line. */
  function asking(): Asking {
    let printed = '';
    const { promise } = stop;
    const askLine = (question: string, until: Promise<unknown>, isSecret: boolean): Promise<string | null> => {
      const text = `${printed}${question}`;
      printed = '';
      const lines = text.split('\n');
      const label = lines.pop() ?? '';
      return parts.ask(lines.join('\n').trim(), {
        label,
        until: Promise.race([until, promise]),
        isSecret,
        isAsked: true,
      });
    };
    let isStopped = false;
    void promise.then(() => {
      isStopped = true;
    });
    return {
      terminal: {
        isThere: true,
        ask: (question, until) => askLine(question, until, false),
        askSecret: (question, until) => askLine(question, until, true),
        ...(pick && {
          pick(title, items, until, takesWords = false) {
            // The list has room for the beginning only.
            if (title.length > LONG_TITLE) parts.print(title);
            return pick<number | string>(title, numbered(items), {
              ...(takesWords && { words: (text) => text }),
              until: Promise.race([until, promise]),
              isAsked: true,
              isNumbered: true,
            });
          },
        }),
      },
      out: {
        print(text) {
          printed += text;
        },
        endLine() {},
      },
      style: parts.theme(),
      stopped: promise,
      isStopped: () => isStopped,
    };
  }

  async function approval(question: OpenQuestion): Promise<void> {
    const { approvalId } = question;
    if (question.key !== undefined) {
      const { callId, toolName, arguments: args, key } = question;
      const call = {
        type: 'question',
        approvalId,
        callId,
        toolName,
        arguments: args,
        question: question.question,
        key,
      } as const;
      const { askForm } = await import('../../cli/asking/ask-form.ts');
      const said = await askForm(call, question, asking());
      if (said && current === approvalId)
        await post({ type: 'approval_answer', approvalId, decision: said.decision, ...said.said });
      return;
    }
    const diff = await host.preview(question);
    // A change that can be shown has no problem: its file is read once.
    const about = diff === null ? await host.about(question) : null;
    if (current !== approvalId) return;
    show(
      approvalPanel({
        question,
        label: host.label(question.toolName),
        about,
        diff,
        keepsRules: host.keepsRules ?? true,
        mayAnswer: parts.mayAnswer,
        changed,
        askWhy: (above) =>
          parts.ask('Why not? Enter sends it, also empty. Esc goes back.', {
            label: 'No, because: ',
            until: stop.promise,
            above,
          }),
        showAll: (rows) => parts.page('The call', rows),
        answer(answer) {
          show(null);
          void post({ type: 'approval_answer', approvalId, ...answer }).then((isPosted) => {
            if (isPosted || current !== approvalId) return;
            // It is asked again, unless the log says that somebody else was first.
            reset();
            changed();
          });
        },
      }),
    );
  }

  async function clientTools(state: ViewState, key: string): Promise<void> {
    if (host.onSilence !== undefined) {
      parts.print('The terminal that drives the session answers this question.');
      return;
    }
    // Loaded on use: the input line is there before the rest is.
    const { answersFor } = await import('../../cli/asking/ask-user.ts');
    const results = await answersFor(state.paused ?? [], asking());
    if (results && current === key) await post({ type: 'client_tool_results', results });
  }

  return {
    get isOpen() {
      return current !== null && !isElsewhere;
    },
    update(state) {
      const { question, paused } = state;
      const waits =
        question === null && paused !== null && paused.length > 0 && paused.every(({ type }) => type === 'client_tool');
      const key = question?.approvalId ?? (waits ? paused.map(({ callId }) => callId).join(' ') : null);
      if (key === current) return;
      reset();
      current = key;
      isElsewhere = waits && host.onSilence !== undefined;
      if (question) void approval(question);
      else if (waits && key !== null) void clientTools(state, key);
    },
  };
}

/** Characters of a question that stand above its answers. */
const LONG_TITLE = 240;

/** A list to choose a place from. */
export const numbered = (items: readonly Choice[]): readonly PickerItem<number>[] =>
  items.map((item, value) => ({ ...item, value }));
