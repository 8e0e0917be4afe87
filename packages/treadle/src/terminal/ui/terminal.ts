import type { SessionInput } from '@treadle/core/events';

import { basename } from 'node:path';

import { decodeKeys, type TerminalInput } from '../input/keys.ts';
import { createEditor } from '../input/pi-editor.ts';
import { loadHighlighting } from '../markdown/highlight.ts';
import { createPager, type Pager } from '../panels/pager.ts';
import type { Key, Panel } from '../panels/panel.ts';
import { createScreen } from '../screen/screen.ts';
import type { Theme } from '../screen/theme.ts';
import { isPosted, type TerminalSession } from '../session/session.ts';
import type { Block } from '../view/blocks.ts';
import type { RowOptions } from '../view/rows.ts';
import { createView, type View } from '../view/view.ts';
import { createActions } from './actions.ts';
import type { TerminalDevice } from './device.ts';
import type { TerminalHost, TerminalUi } from './host.ts';
import { createFrames } from './frames.ts';
import { createInputLine } from './input-line.ts';
import { changesByItself, liveRows } from './live.ts';
import { createModes } from './modes.ts';
import { createPanels } from './panels.ts';
import { answerGate, createQuestions } from './questions.ts';
import { beginning, createScroll } from './scroll.ts';
import { createShell } from './shell.ts';
import { watchCompaction } from './speech.ts';

const ASIDE = 'Keys go to your draft. Ctrl+C puts it aside; then answer.';

/** An interactive session in a terminal. */
export interface Terminal {
  /** The exit code, when the user has left. */
  readonly left: Promise<number>;
  readonly ui: TerminalUi;
  /** Leaves as if the user had. */
  leave(code: number): void;
  /** Interrupts the open run; false when none is open, or when it was interrupted before. Absent where a key does that. */
  interrupt?(): boolean;
  /** Takes the live rows away and switches all modes off. For the end of the process, whatever its cause. */
  restore(): void;
}

/**
 * Shows sessions in a terminal, and sends what is typed to them. It needs events and a way to post: the session may be driven
 * here, by another process or by a server.
 *
 * @param opening the first session; the input line is there before it is
 */
export function openTerminal(device: TerminalDevice, host: TerminalHost, opening: Promise<TerminalSession>): Terminal {
  const screen = createScreen(device);
  const modes = createModes(device, { useFrames: () => screen.useFrames(), changed: () => frames.schedule() });
  const left = Promise.withResolvers<number>();
  let session: TerminalSession | null = null;
  let view: View = createView(host);
  const scroll = createScroll((block) => {
    if (block.type === 'markdown' && block.piece.type === 'code') loadHighlighting(() => schedule());
  });
  let questionPanel: Panel | null = null;
  const gate = answerGate(() => device.now());
  /** A draft of an earlier session, as long as nobody has typed. */
  let restored = '';
  let heardAt = device.now();
  const compaction = watchCompaction();
  let pager: Pager | null = null;
  let hint: string | null = null;
  let isOver = false;
  let isAway = false;

  const frames = createFrames(device, draw);
  const schedule = (): void => frames.schedule();
  const options = (): RowOptions => ({
    columns: Math.max(10, device.columns - 1),
    theme: modes.theme,
    label: host.label,
  });
  const input = createInputLine(createEditor(), {
    source: {
      commands(changed) {
        const known = host.commands();
        if (known.length === 0) void host.ready.then(changed, () => {});
        return known.map(({ name, about }) => ({ value: `/${name} `, about }));
      },
      files: (changed) => host.files(changed),
    },
    history: host.history,
    changed: () => schedule(),
  });

  function draw(): void {
    if (pager || isOver || isAway) return;
    frames.begin();
    device.measure?.();
    const rows = scroll.rows(view.finished(), options());
    const { state } = view;
    questions.update(state);
    const cleared = view.cleared();
    if (cleared) actions.cleared(cleared);
    modes.title(`${state.question === null ? '' : 'waits · '}treadle · ${state.title ?? basename(host.folder)}`);
    const local = {
      panel: panels.open?.panel ?? questionPanel,
      input: panels.open?.input ?? input,
      hint: hint ?? actions.offer(),
      now: device.now(),
      beat: frames.beat,
      model: host.nextModel ?? state.model ?? host.model,
      folder: host.folder,
      mode: host.mode(state),
      isHere: state.driver === host.self || actions.isCutOff,
      isCutOff: actions.isCutOff,
      silentMs: device.now() - heardAt,
      early: actions.early,
      onSilence: host.onSilence,
      shell: shell.running,
    };
    screen.draw(rows, liveRows(state, local, device.rows, options()));
    gate.drawn();
    frames.keepBeat(changesByItself(state, local));
  }

  const print = (block: Block): void => {
    scroll.add(block);
    schedule();
  };
  const fail = (error: unknown): void =>
    print({ type: 'notice', text: error instanceof Error ? error.message : String(error), tone: 'bad' });

  const send = async (said: SessionInput): Promise<void> => (session ?? (await opening)).post(said);
  const post = (said: SessionInput): Promise<boolean> => isPosted(send(said), fail);

  const panels = createPanels({ device, hasDraft: () => input.text !== '', changed: () => schedule() });
  const { ask, pick } = panels;

  const questions = createQuestions({
    host,
    theme: () => modes.theme,
    post,
    ask,
    pick,
    print: (text) => print({ type: 'rows', text }),
    page,
    changed: schedule,
    show(next) {
      questionPanel = next;
      gate.changed();
      if (next && input.text !== '' && input.text !== restored) hint = ASIDE;
      schedule();
    },
    // A digit in a draft is text.
    mayAnswer: () => gate.isOpen && (input.text === '' || input.text === restored),
  });

  function page(title: string, rowsFor: (columns: number, theme: Theme) => readonly string[], atEnd = false): void {
    pager = createPager(device, modes.theme, title, rowsFor, atEnd);
    pager.open();
  }

  const ui: TerminalUi = {
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
    print: (text, tone) => print(tone === undefined ? { type: 'rows', text } : { type: 'notice', text, tone }),
    list: (items) => print({ type: 'list', items }),
    ran(told) {
      scroll.ran(told);
      schedule();
    },
    page,
    transcript: (number) => actions.showTranscript(number),
    pick,
    ask,
    setDraft(text) {
      input.set(text);
      schedule();
    },
    insert(text) {
      input.insert(text);
      schedule();
    },
    show,
    copy: (text) => device.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`),
    setTheme: (name) => modes.setTheme(name),
    leave: (code = 0) => leave(code),
  };

  const shell = createShell({ host, now: () => device.now(), changed: () => schedule() });
  const actions = createActions({
    shell,
    device,
    host,
    ui,
    input,
    send,
    post,
    fail,
    redraw: schedule,
    opening,
    options,
    isReady: () => session !== null,
    ready,
    setHint(text) {
      hint = text;
      schedule();
    },
    suspend: () => device.suspend(handOver()),
    handOver,
    leave,
  });

  /** Leaves the terminal to another program, until what it returns is called. */
  function handOver(): () => void {
    restore();
    isAway = true;
    return () => {
      isAway = false;
      begin();
      screen.forget();
      draw();
    };
  }

  async function show(next: TerminalSession): Promise<void> {
    const before = session;
    session = next;
    // The same one, opened again: its transcript is on the screen.
    heardAt = device.now();
    const openedAt = heardAt;
    if (before !== null && (next.id === '' || next.id !== before.id)) {
      // They were for the session before.
      actions.takeEarly();
      view = createView(host);
      scroll.restart();
      shell.restart();
      if (before.id !== '') scroll.add(beginning(next));
    }
    if (next.leftOut > 0 && view.state.seq === 0) {
      const text = `… ${next.leftOut} earlier events are left out · Ctrl+O shows all`;
      scroll.add({ type: 'notice', text, tone: 'dim' });
    }
    compaction.note(view.state);
    // Above what follows.
    draw();
    if (before) await before.close();
    void follow(next, openedAt);
    const draft = await host.loadDraft(next.id);
    if (draft && input.text === '') {
      input.restore(draft);
      restored = input.text;
    }
    actions.offerResume(await next.isCutOff());
    schedule();
  }

  async function follow(followed: TerminalSession, openedAt: number): Promise<void> {
    try {
      for await (const event of followed.events) {
        if (session !== followed) return;
        if ('seq' in event && event.seq <= view.state.seq) continue;
        view.take(event);
        heardAt = device.now();
        compaction.note(view.state);
        // Somebody drives it by now.
        if (event.type === 'drive_started' && event.at > openedAt) actions.offerResume(false);
        schedule();
      }
    } catch (error) {
      fail(error);
    }
  }

  /** What a message waits for. Elsewhere it is in the log at once, and whoever drives sees to it. */
  function ready(): Promise<unknown> | null {
    if (session === null) return opening;
    return host.onSilence === undefined ? compaction.ended : null;
  }

  /** Who takes a key: the pager, a panel, the input line, or what keys do everywhere. */
  function pressed(key: Key): void {
    if (pager) {
      if (!pager.key(key)) closePager();
      return;
    }
    hint = null;
    const whose = panels.key(key);
    if (whose === 'panel') {
      // A line that somebody types may be taken away by an answer elsewhere, and a menu come in its place.
      gate.typed(panels.open !== null);
      return;
    }
    if (panels.open) {
      if (whose === 'terminal') actions.first(key);
      else drafting(key);
      return;
    }
    const open = questionPanel;
    const isClosing = key.name === 'escape' || (key.name === 'ctrl+c' && input.text === '');
    if (open && (isClosing ? open.close() : !input.isCompleting && open.key(key))) return;
    if (open && key.name === 'enter' && questions.isOpen) {
      hint = 'A question is open: answer it first. Ctrl+C puts your draft aside.';
      return;
    }
    const { text } = input;
    if (!actions.first(key) && !input.key(key)) actions.last(key);
    if (input.text === text) return;
    if (open && input.text !== '' && questions.isOpen) hint = ASIDE;
    changedDraft();
  }

  /** A draft stays as it is when a question comes. */
  function drafting(key: Key): void {
    hint = 'This goes to your draft. Pause for a moment, then answer.';
    if (key.name === 'enter' || key.name === 'escape' || key.name === 'tab' || key.name === 'ctrl+c') return;
    input.key(key);
    changedDraft();
  }

  function changedDraft(): void {
    restored = '';
    gate.typed();
    actions.drafted();
  }

  function closePager(): void {
    pager?.close();
    pager = null;
    screen.resized();
  }

  function take(said: TerminalInput): void {
    if (modes.answer(said)) return;
    if (said.type === 'paste') {
      if (pager || panels.paste(said.text) === 'panel') return draw();
      restored = '';
      gate.typed();
      actions.paste(said.text);
    } else if (said.type === 'key') pressed(said);
    draw();
  }

  const decoder = decodeKeys(take);
  let endKeys = (): void => {};
  function begin(): void {
    // First the keys: the answer to the question is one of them, and must not be shown.
    endKeys = device.readKeys((bytes) => {
      gate.read(bytes);
      decoder.push(bytes);
    });
    modes.begin();
  }
  const endResize = device.onResize(() => {
    if (isAway) return;
    if (pager) {
      pager.resized();
      return;
    }
    screen.resized();
    schedule();
  });

  function restore(): void {
    if (pager) closePager();
    screen.clear();
    modes.end();
    endKeys();
  }

  function leave(code: number): void {
    if (isOver) return;
    actions.takeEarly();
    // The text of an open reply stays on the screen.
    for (const piece of view.state.reply?.open() ?? []) scroll.add({ type: 'markdown', piece, isFirst: false });
    draw();
    isOver = true;
    frames.stop();
    shell.stop();
    device.after(modes.awaited(), () => {
      restore();
      endResize();
      decoder.close();
      left.resolve(code);
    });
  }

  scroll.add({ type: 'notice', text: `treadle ${host.version} · ${host.model} · ${host.folder} · /help`, tone: 'dim' });
  begin();
  draw();
  opening.then(show, (error: unknown) => {
    fail(error);
    leave(1);
  });
  return { left: left.promise, ui, leave, restore };
}
