import { completionsOf, type Completion, type CompletionSource } from '../input/completion.ts';
import type { Editor, EditorRows } from '../input/editor.ts';
import { createHistory, type History } from '../input/history.ts';
import { createPastes, type Pastes } from '../input/pastes.ts';
import type { Key } from '../panels/panel.ts';
import { fit } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';

/** A draft as it is kept: with the texts that its markers stand for. */
export interface Draft {
  readonly text: string;
  readonly pastes: Readonly<Record<string, string>>;
}

/** The input line with what is around it: pastes as markers, history, completion. */
export interface InputLine {
  readonly text: string;
  /** The text with the pastes in it. */
  readonly whole: string;
  readonly draft: Draft;
  restore(draft: Draft): void;
  set(text: string): void;
  insert(text: string): void;
  paste(text: string): void;
  /** Empties it, and remembers what was there. */
  take(): string;
  /** True when the key was for it. Enter and Esc are, when they are about the completion or a search. */
  key(key: Key): boolean;
  rows(columns: number, most: number): EditorRows;
  /** Rows below it: the choices, or the search. */
  below(columns: number, theme: Theme): readonly string[];
  readonly isCompleting: boolean;
}

export function createInputLine(
  editor: Editor,
  options: { readonly source: CompletionSource; readonly history: readonly string[]; changed(): void },
): InputLine {
  const history: History = createHistory(options.history);
  const pastes: Pastes = createPastes();
  let completion: Completion | null = null;
  let chosen = 0;
  let closedAt: string | null = null;
  let search: { words: string; skip: number; readonly draft: string } | null = null;

  function complete(): void {
    chosen = 0;
    completion =
      search !== null || closedAt === editor.before
        ? null
        : completionsOf(editor.before, options.source, () => {
            complete();
            options.changed();
          });
  }

  function accept(): void {
    const choice = completion?.choices[chosen];
    if (!completion || !choice) return;
    editor.deleteBefore(completion.replaces);
    editor.insert(choice.value);
    completion = null;
    closedAt = editor.before;
  }

  function walk(text: string | null): void {
    if (text === null) return;
    editor.set(text);
    completion = null;
  }

  function searching({ name, sequence }: Key, open: NonNullable<typeof search>): boolean {
    if (name === 'ctrl+r') open.skip += 1;
    else if (name === 'backspace') Object.assign(open, { words: [...open.words].slice(0, -1).join(''), skip: 0 });
    else if (name === 'escape' || name === 'ctrl+c' || name === 'ctrl+g') {
      editor.set(open.draft);
      search = null;
      return true;
    } else if (sequence >= ' ' && !sequence.startsWith('\u001b') && sequence !== '\u007f')
      Object.assign(open, { words: open.words + sequence, skip: 0 });
    else {
      // Any other key takes what was found, and does what it does there; Enter only takes it.
      search = null;
      return name === 'enter' || name === 'tab';
    }
    const found = history.find(open.words, open.skip);
    if (found === null && name === 'ctrl+r') open.skip = Math.max(0, open.skip - 1);
    else editor.set(found ?? '');
    return true;
  }

  function completing({ name }: Key, { choices }: Completion): boolean {
    if (name === 'up' || name === 'down') {
      chosen = (chosen + (name === 'down' ? 1 : choices.length - 1)) % choices.length;
      return true;
    }
    if (name === 'escape') {
      closedAt = editor.before;
      completion = null;
      return true;
    }
    // A command that is there as a whole is for Enter.
    const isWhole = choices[chosen]?.value.trim() === editor.before.trim();
    if (name === 'tab' || (name === 'enter' && !isWhole)) {
      accept();
      return true;
    }
    return false;
  }

  function key(pressed: Key): boolean {
    const { name, sequence } = pressed;
    if (search) return searching(pressed, search);
    if (name === 'ctrl+r') {
      search = { words: '', skip: 0, draft: editor.text };
      completion = null;
      return true;
    }
    if (completion && completing(pressed, completion)) return true;
    if (name === 'enter' || name === 'escape' || name === 'tab') {
      if (name === 'enter' && editor.before.endsWith('\\')) {
        editor.deleteBefore(1);
        editor.newLine();
        return true;
      }
      return false;
    }
    if (name === 'up' && editor.isAtTop) walk(history.older(editor.text));
    else if (name === 'down' && editor.isAtBottom) walk(history.newer());
    else {
      const marker = name === 'backspace' ? pastes.endingIn(editor.before) : null;
      const isNewLine = name === 'alt+enter' || name === 'shift+enter' || name === 'ctrl+j';
      if (isNewLine) editor.newLine();
      else if (marker === null) editor.key(sequence);
      else editor.deleteBefore(marker.length);
      if (isNewLine) completion = null;
      else complete();
    }
    return true;
  }

  return {
    key,
    get text() {
      return editor.text;
    },
    get whole() {
      return pastes.expand(editor.text);
    },
    get draft() {
      return { text: editor.text, pastes: pastes.of(editor.text) };
    },
    restore({ text, pastes: kept }) {
      pastes.restore(kept);
      editor.set(text);
    },
    set(text) {
      editor.set(text);
      completion = null;
    },
    insert(text) {
      editor.insert(text);
      complete();
    },
    paste(text) {
      editor.insert(pastes.add(text));
      completion = null;
    },
    take() {
      const whole = pastes.expand(editor.text);
      history.add(editor.text);
      editor.set('');
      completion = null;
      return whole;
    },
    rows: (columns, most) => editor.rows(columns, most),
    below(columns, theme) {
      if (search) {
        return [theme.dim(fit(`search: ${search.words}_  Ctrl+R earlier, Enter takes it, Esc leaves`, columns))];
      }
      const widest = Math.max(0, ...(completion?.choices ?? []).map(({ value }) => value.trim().length));
      return (completion?.choices ?? []).map(({ value, about }, index) => {
        const text = about === '' ? value.trim() : `${value.trim().padEnd(widest)}  ${theme.dim(about)}`;
        return fit(index === chosen ? theme.accent(`❯ ${text}`) : `  ${text}`, columns);
      });
    },
    get isCompleting() {
      return completion !== null || search !== null;
    },
  };
}
