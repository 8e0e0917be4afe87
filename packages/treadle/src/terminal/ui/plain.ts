import type { SessionInput } from '@treadle/core/events';

import { plainLine } from '../../cli/asking/plain-text.ts';
import { linePanel } from '../panels/line.ts';
import type { Panel } from '../panels/panel.ts';
import { themeNamed } from '../screen/theme.ts';
import { isPosted, type TerminalSession } from '../session/session.ts';
import { blockRows, openToolRows, type RowOptions } from '../view/rows.ts';
import { offerWords } from '../view/words.ts';
import { transcriptOf } from './transcript.ts';
import { createView, type View } from '../view/view.ts';
import type { TerminalHost, TerminalUi } from './host.ts';
import { createQuestions } from './questions.ts';
import { beginning, createScroll } from './scroll.ts';
import { createShell } from './shell.ts';
import { createSpeech, kindOf } from './speech.ts';
import type { Terminal } from './terminal.ts';

/** Where lines are read and printed: a screen reader's terminal, one that has no cursor, or a pipe. */
export interface PlainDevice {
  write(text: string): void;
  /** What is typed, a line each; it ends when there is no more. */
  readonly lines: AsyncIterable<string>;
  /** Whoever types sees it: a terminal shows it. */
  readonly echoes: boolean;
  now(): number;
  after(ms: number, fn: () => void): void;
}

/** Rows are as long as they are: whoever shows them breaks them. */
const COLUMNS = 2000;
/** Milliseconds in which a line may be for the question before, which somebody else has answered. */
const SEEN_MS = 300;
/** Milliseconds after which nobody may be there to answer a prompt. */
const UNHEARD_MS = 3000;
/** Rows of a question that are shown of a change. */
const MOST = 200;

/**
 * The same session in lines alone: printable text and newlines, nothing that moves or comes back. Choices have numbers. A
 * call says that it has started, and nothing more until it has ended, so that nothing is read aloud while nothing happens.
 */
export function openPlain(device: PlainDevice, host: TerminalHost, opening: Promise<TerminalSession>): Terminal {
  const theme = themeNamed('none');
  const options: RowOptions = { columns: COLUMNS, theme, label: host.label, hasKeys: false };
  const left = Promise.withResolvers<number>();
  let session: TerminalSession | null = null;
  let view: View = createView(host);
  const scroll = createScroll(() => {});
  let panel: Panel | null = null;
  let questionPanel: Panel | null = null;
  let isOver = false;
  let isAtPrompt = false;
  let isAnswering = false;
  let staleUntil = 0;
  const begun = new Set<string>();
  /** Lines that came before the session did; null once they are taken. They answer no question of its opening. */
  let early: string[] | null = [];
  let isInputOver = false;
  /** A message was sent, and its run has not begun. */
  let isSent = false;
  /** When the run began that was interrupted last. */
  let interrupted: number | null = null;
  /** The open run broke off, and nobody has said what is to become of it. */
  let isCutOff = false;
  /** The user was told so. */
  let isOffered = false;

  const print = (text: string): void => {
    device.write(`${isAtPrompt ? '\n' : ''}${text}\n`);
    isAtPrompt = false;
  };
  /** Once nothing goes on any more, or a question stands there. */
  function prompt(label = '> '): void {
    if (isAtPrompt || isOver) return;
    device.write(label);
    isAtPrompt = true;
  }

  function update(): void {
    if (isOver) return;
    const rows = scroll.rows(view.finished(), options);
    if (rows.length > 0) print(rows.join('\n'));
    const { cells } = view.state;
    for (const cell of cells) {
      if (cell.state !== 'running' || begun.has(cell.callId)) continue;
      begun.add(cell.callId);
      print(
        openToolRows({ ...cell, output: '' }, options, null)
          .join('\n')
          .replace(/^• /, 'started: '),
      );
    }
    questions.update(view.state);
    offer();
    if (isLineAwaited()) prompt();
  }

  /** Once it is known what is open. */
  function offer(): void {
    const { run, sent } = view.state;
    if (!isCutOff || isOffered || (run === null && sent.length === 0)) return;
    isOffered = true;
    print(offerWords(run !== null, 'An empty line'));
  }

  /** While something goes on, a line may be typed too; then there is no row for it that the next block would break. */
  function isLineAwaited(): boolean {
    if (session === null || panel !== null || questionPanel !== null || questions.isOpen || isSent) return false;
    const { run, paused } = view.state;
    return run === null || paused !== null || isCutOff;
  }

  const fail = (error: unknown): void => {
    print(plainLine(error instanceof Error ? error.message : String(error), 500));
    update();
  };
  const send = async (said: SessionInput): Promise<void> => (session ?? (await opening)).post(said);
  const post = (said: SessionInput): Promise<boolean> => isPosted(send(said), fail);

  function showPanel(next: Panel): void {
    print(next.rows(COLUMNS, MOST, theme).join('\n'));
    prompt(next.label ?? 'Number: ');
  }

  const ask: TerminalUi['ask'] = (question, { label = '> ', until, isSecret = false } = {}) =>
    new Promise((resolve) => {
      if (isInputOver) {
        resolve(null);
        return;
      }
      if (isSecret) {
        print('A key would be shown while you type it here. Keep it with: treadle login');
        resolve(null);
        return;
      }
      const line = linePanel({ question, label }, (text) => {
        if (panel !== line) return;
        panel = null;
        resolve(text);
        update();
      });
      panel = line;
      showPanel(line);
      void until?.then(() => line.close());
    });

  const page = (title: string, rows: (columns: number, by: typeof theme) => readonly string[]): void =>
    print([title, ...rows(COLUMNS, theme)].join('\n'));

  const questions = createQuestions({
    print,
    host,
    theme: () => theme,
    post,
    ask,
    page,
    changed: () => {
      if (questionPanel) showPanel(questionPanel);
    },
    mayAnswer: () => device.now() >= staleUntil,
    show(next) {
      // A piped line is not meant for something else.
      if (device.echoes && !isAnswering) staleUntil = device.now() + SEEN_MS;
      questionPanel = next;
      if (next) showPanel(next);
    },
  });

  async function transcript(number?: number): Promise<void> {
    for (const block of await transcriptOf(host, ui.session, number))
      print(blockRows(block, null, { ...options, isWhole: true }).join('\n'));
    update();
  }

  const ui: TerminalUi = {
    setTheme: () => print('A session in lines has no colours.'),
    get session() {
      if (session === null) throw new Error('There is no session yet.');
      return session;
    },
    get state() {
      return view.state;
    },
    get mode() {
      return host.mode(view.state);
    },
    print(text) {
      print(text);
      update();
    },
    list(items) {
      scroll.add({ type: 'list', items });
      update();
    },
    ran(told) {
      scroll.ran(told);
      update();
    },
    page,
    transcript: (number) => void transcript(number).catch(fail),
    async pick(title, items, how) {
      const lines = items.map(
        ({ text, about = '' }, index) => `${index + 1}  ${text}${about === '' ? '' : `  ${about}`}`,
      );
      const answer = await ask([title, ...lines].join('\n'), {
        label: 'Number, or nothing: ',
        ...how,
      });
      return items[Number(answer?.trim() || 0) - 1]?.value ?? null;
    },
    ask,
    setDraft: (text) => print(`Your message was: ${text}`),
    insert: (text) => print(text),
    show,
    copy: print,
    leave: (code = 0) => leave(code),
  };
  const shell = createShell({ host, now: () => device.now(), changed: () => {} });
  const speech = createSpeech({
    host,
    ui,
    send,
    shell,
    opening,
    ready: () => null,
    isCutOff: () => isCutOff,
    notice: print,
    busy: 'A command runs: /stop ends it.',
  });

  async function show(next: TerminalSession): Promise<void> {
    const before = session;
    session = sending(next);
    isSent = false;
    if (before !== null && (next.id === '' || next.id !== before.id)) {
      view = createView(host);
      scroll.restart();
      shell.restart();
      if (before.id !== '') scroll.add(beginning(next));
      update();
    }
    if (before) await before.close();
    if (next.leftOut > 0 && view.state.seq === 0) print(`… ${next.leftOut} earlier events are left out.`);
    void follow(next);
    isCutOff = await next.isCutOff();
    isOffered = false;
    update();
  }

  /** A session that says when a message was sent to it. */
  const sending = (to: TerminalSession): TerminalSession => ({
    ...to,
    get id() {
      return to.id;
    },
    async post(said) {
      isSent ||= said.type === 'prompt';
      if (isSent && host.onSilence !== undefined) device.after(UNHEARD_MS, () => sayUnheard(host.onSilence ?? ''));
      try {
        await to.post(said);
      } catch (error) {
        isSent = false;
        throw error;
      }
    },
  });

  /** The next line may be typed: nobody may ever begin to answer. */
  function sayUnheard(what: string): void {
    if (!isSent || isOver) return;
    isSent = false;
    print(`Nothing was heard for a while. ${what}`);
    update();
  }

  async function follow(followed: TerminalSession): Promise<void> {
    try {
      for await (const event of followed.events) {
        if (session?.events !== followed.events) return;
        if ('seq' in event && event.seq <= view.state.seq) continue;
        if (event.type === 'run_started' || event.type === 'input_rejected') isSent = false;
        view.take(event);
        update();
      }
    } catch (error) {
      fail(error);
    }
  }

  function take(line: string): void {
    isAtPrompt = false;
    const open = panel ?? questionPanel;
    const isAnother = isCutOff && view.state.run !== null;
    if (open === null && (line.trim() === '' || kindOf(line) === 'message')) isCutOff = false;
    if (open?.submit) open.submit(line);
    else if (open) {
      const answer = line.trim();
      isAnswering = true;
      const isTaken = open.key({ name: answer === 'ctrl+f' ? answer : '', sequence: answer });
      isAnswering = false;
      // At Enter it says which answers there are. Nothing is selected here.
      if (!isTaken && !open.key({ name: 'enter', sequence: '' })) showPanel(open);
    } else if (line.trim() === '') {
      void ui.session.isCutOff().then((is) => (is ? ui.session.resume() : update()), fail);
    } else {
      host.remember(line);
      if (device.echoes) scroll.said(line);
      speech.say(line, isAnother ? 'prompt' : 'steering').then(update, fail);
    }
  }

  async function read(): Promise<void> {
    for await (const line of device.lines) {
      if (isOver) return;
      if (early !== null && panel === null) early.push(line);
      else take(line);
    }
    isInputOver = true;
    panel?.close?.();
    // What was piped in gets its session.
    if (early !== null && early.length > 0) await opened.catch(() => {});
    leave(0);
  }

  function leave(code: number): void {
    if (isOver) return;
    update();
    if (isAtPrompt) device.write('\n');
    isOver = true;
    shell.stop();
    left.resolve(code);
  }

  function interrupt(): boolean {
    const { run } = view.state;
    if (isOver) return false;
    if (shell.stop()) return true;
    if (run === null || isCutOff || run.startedAt === interrupted) return false;
    interrupted = run.startedAt;
    print('Ctrl+C again leaves.');
    void post({ type: 'cancel', reason: 'Interrupted by the user.' });
    return true;
  }

  print(`treadle ${host.version} · ${host.model} · ${host.folder} · /help`);
  const opened = opening.then(
    async (first) => {
      await show(first);
      const lines = early ?? [];
      early = null;
      for (const line of lines) take(line);
    },
    (error: unknown) => {
      fail(error);
      leave(1);
    },
  );
  void read().catch(fail);
  return { left: left.promise, ui, leave, interrupt, restore: () => {} };
}
