import type { UserContent } from '@treadle/core';

import type { Theme, ThemeName } from '../screen/theme.ts';
import type { Panel } from '../panels/panel.ts';
import type { PickerItem } from '../panels/picker.ts';
import type { TerminalSession } from '../session/session.ts';
import type { OpenQuestion, ViewState } from '../view/state.ts';
import type { Draft } from './input-line.ts';

/** How something is asked. */
export interface AskOptions {
  /** What stands before the answer. */
  readonly label?: string;
  /** Takes the question away when it resolves. */
  readonly until?: Promise<unknown>;
  /** The session asks, and not a command of the user's: it waits until nobody is in the middle of typing. */
  readonly isAsked?: boolean;
  /** What is typed is not shown, and not kept. */
  readonly isSecret?: boolean;
  /** What it is about: so many rows at most. */
  readonly above?: Panel['rows'];
}

/** How something is chosen. */
export interface PickOptions<Value> extends Pick<AskOptions, 'until' | 'isAsked'> {
  /** A digit chooses at once, unless letters came before it. */
  readonly isNumbered?: boolean;
  /** The item that Enter alone chooses. Default the first. */
  readonly at?: number;
  /** Words that match nothing are an answer: this one. */
  words?(text: string): Value;
}

/** What a command can do with the terminal. */
export interface TerminalUi {
  readonly session: TerminalSession;
  readonly state: ViewState;
  /** The permission mode of the next message. */
  readonly mode: string;
  /** Prints lines below the transcript. They are no part of the session. */
  print(text: string, tone?: 'dim' | 'warn' | 'bad'): void;
  /** Prints what things are: names, and words beside them. */
  list(items: readonly (readonly [name: string, about: string])[]): void;
  /** Prints what a command of the user's has put out. The session tells of it again when the model has heard of it. */
  ran(told: UserContent): void;
  /** Shows something long by itself. */
  page(title: string, rows: (columns: number, theme: Theme) => readonly string[], atEnd?: boolean): void;
  /** All of the session, from its log, or one result by its number. */
  transcript(number?: number): void;
  /** Null when nothing was chosen. */
  pick<Value>(title: string, items: readonly PickerItem<Value>[], how?: PickOptions<Value>): Promise<Value | null>;
  /** Null when there was no answer. */
  ask(question: string, how?: AskOptions): Promise<string | null>;
  setDraft(text: string): void;
  insert(text: string): void;
  /** Shows another session from now on. */
  show(session: TerminalSession): Promise<void>;
  copy(text: string): void;
  /** Shows what comes in other colours. */
  setTheme(name: ThemeName): void;
  /** Ends the terminal. */
  leave(code?: number): void;
}

/** A command that begins with a slash. */
export interface SlashCommand {
  readonly name: string;
  /** Other names for it, as other programs have them. */
  readonly aliases?: readonly string[];
  readonly about: string;
  /** What it takes, such as `[hint]`; absent for nothing. */
  readonly takes?: string;
  run(rest: string, ui: TerminalUi): Promise<void> | void;
}

/** What a terminal needs besides a session: the machine, the folder, and what was typed earlier. */
export interface TerminalHost {
  readonly version: string;
  /** `provider/model`. */
  readonly model: string;
  /** The model that the next run asks, where runs begin here. */
  readonly nextModel?: string;
  /** As it is shown. */
  readonly folder: string;
  /** The permission mode of the next message. */
  mode(state: ViewState): string;
  /** Who drives here, as `drive_started` says it; null when nobody does. */
  readonly self: string | null;
  /** Milliseconds since 1970. Answers before then are the user's own where nobody else is named. */
  readonly since?: number;
  /** False where no rule can be kept for the folder. Default true. */
  readonly keepsRules?: boolean;
  /** What to do when a session that is driven elsewhere says nothing; absent for one that is driven here. */
  readonly onSilence?: string;
  /** A tool's name for people. */
  label(toolName: string): string;
  readonly commands: () => readonly SlashCommand[];
  /** Resolves when the commands are known. */
  readonly ready: Promise<unknown>;
  /** Paths for `@`; null until they are known. */
  files(changed: () => void): readonly string[] | null;
  /** Earlier prompts, oldest first. */
  readonly history: readonly string[];
  /** A prompt was sent: it can be found again. */
  remember(text: string): void;
  loadDraft(sessionId: string): Promise<Draft | null>;
  saveDraft(sessionId: string, draft: Draft): void;
  /** The change that a call would make, as a unified diff; null where it makes none that is known. */
  preview(question: OpenQuestion): Promise<string | null>;
  /** What is to be said beside a question; null for nothing. */
  about(question: OpenQuestion): Promise<string | null>;
  /** Has a text edited in another program; null when that could not be done. */
  edit(text: string): Promise<string | null>;
  /** What to send for a text: itself, and the files that it mentions. */
  content(text: string): Promise<readonly UserContent[]>;
  /** What stands for a pasted text in the draft, where that is a file that is meant; null for the text itself. */
  mention(pasted: string): string | null;
  /** What stands for the image of the clipboard; null when there is none. */
  clipboard(): Promise<string | null>;
  /** Runs a command of the user's, and returns what it has put out. `shown` is called with all of it that there is so far. */
  shell(command: string, signal: AbortSignal, shown: (output: string) => void): Promise<string>;
  /** The next permission mode; what it is called. */
  nextMode(ui: TerminalUi): Promise<void>;
}
