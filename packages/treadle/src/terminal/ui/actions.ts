import type { SessionInput } from '@treadle/core/events';

import type { Key } from '../panels/panel.ts';
import type { Queued } from '../view/blocks.ts';
import { blockRows, type RowOptions } from '../view/rows.ts';
import { isWaitingForTasks, type ViewState } from '../view/state.ts';
import { commandIn, offerWords, typedText } from '../view/words.ts';
import type { TerminalDevice } from './device.ts';
import type { TerminalHost, TerminalUi } from './host.ts';
import type { InputLine } from './input-line.ts';
import type { Shell } from './shell.ts';
import { createSpeech, kindOf } from './speech.ts';
import { transcriptOf } from './transcript.ts';

/** Milliseconds in which the same key again means another thing. */
const AGAIN_MS = 2000;
const TWICE_MS = 500;

export interface ActionsParts {
  readonly device: TerminalDevice;
  readonly host: TerminalHost;
  readonly ui: TerminalUi;
  readonly input: InputLine;
  readonly shell: Shell;
  options(): RowOptions;
  /** The first session. */
  readonly opening: Promise<unknown>;
  /** Whether there is a session yet. */
  isReady(): boolean;
  /** What messages wait for: the session, or the end of a compaction; null for nothing. */
  ready(): Promise<unknown> | null;
  /** Puts an input into the log. */
  send(input: SessionInput): Promise<void>;
  /** The same; what fails is said. */
  post(input: SessionInput): Promise<unknown>;
  fail(error: unknown): void;
  redraw(): void;
  setHint(text: string | null): void;
  suspend(): void;
  /** Leaves the terminal to another program, until what it returns is called. */
  handOver(): () => void;
  leave(code: number): void;
}

/** What keys do that are not for a panel and not for editing. */
export interface Actions {
  /** Keys that come before the input line. */
  first(key: Key): boolean;
  /** Keys that the input line leaves over. */
  last(key: Key): void;
  paste(text: string): void;
  /** The draft has changed. */
  drafted(): void;
  /** These messages were taken from the queue here. */
  cleared(queued: readonly Queued[]): void;
  offerResume(isCutOff: boolean): void;
  /** What to say of a run that broke off, or of a prompt that nobody answered; null without one. */
  offer(): string | null;
  readonly isCutOff: boolean;
  /** Messages that wait for the session, or for the end of a compaction. */
  readonly early: readonly string[];
  /** Gives them back to the draft: another session is shown, or none. False without one. */
  takeEarly(): boolean;
  /** All of the session, or one result by its number. */
  showTranscript(number?: number): void;
}

export function createActions(parts: ActionsParts): Actions {
  const { device, host, ui, input, post, fail, setHint, shell } = parts;
  const speech = createSpeech({
    host,
    ui,
    send: parts.send,
    shell,
    notice: setHint,
    busy: 'A command runs: Esc ends it.',
    opening: parts.opening,
    ready: () => parts.ready(),
    isCutOff: () => isCutOff(),
  });
  let cutOff = false;
  let stash: ReturnType<InputLine['take']> | null = null;
  const lastAt = new Map<string, number>();
  /** When the run began that the last Ctrl+C has interrupted; null when it was for something else. */
  let interrupted: number | null = null;

  let isTakingBack = false;

  const state = (): ViewState => ui.state;
  const isRunning = (): boolean => state().run !== null;
  /** It may have ended meanwhile, by another process. */
  const isCutOff = (): boolean => cutOff && (isRunning() || state().sent.length > 0);

  /** Whether this key was pressed within so many milliseconds before. */
  function again(name: string, within: number): boolean {
    const before = lastAt.get(name);
    lastAt.set(name, device.now());
    return before !== undefined && device.now() - before <= within;
  }

  /** The queued messages go back to the draft: the log says which were not delivered yet. */
  async function takeBack(): Promise<void> {
    isTakingBack = true;
    try {
      await parts.send({ type: 'clear_queue' });
    } catch (error) {
      isTakingBack = false;
      throw error;
    }
  }

  async function interrupt(): Promise<void> {
    if (state().queued.length > 0) await takeBack().catch(fail);
    await post({ type: 'cancel', reason: 'Interrupted by the user.' });
  }

  function controlC(): void {
    const isTwice = again('ctrl+c', AGAIN_MS);
    const { run } = state();
    if (input.text !== '') {
      stash = input.text;
      input.take();
      lastAt.delete('ctrl+c');
      setHint('The draft is put aside: Up brings it back.');
    } else if (shell.stop()) {
      setHint('The command was stopped.');
    } else if (run !== null && run.startedAt !== interrupted) {
      interrupted = run.startedAt;
      setHint('Ctrl+C again leaves.');
      void interrupt();
    } else if (run !== null || isTwice) {
      // An interruption that hangs is left behind, and one that was quick ends nothing else.
      parts.leave(interrupted === null ? 0 : 130);
    } else {
      interrupted = null;
      setHint('Ctrl+C again leaves.');
    }
  }

  /** Where the draft was saved last; empty for the folder. */
  let savedFor: string | null = null;

  function saveDraft(): void {
    if (!parts.isReady()) return;
    const { id } = ui.session;
    // The session has got its name meanwhile.
    if (savedFor === '' && id !== '') host.saveDraft('', { text: '', pastes: {} });
    savedFor = id;
    host.saveDraft(id, input.draft);
  }

  /** Messages of the log go back to the draft, as they were typed. */
  function toDraft(messages: readonly Pick<Queued, 'content'>[]): void {
    for (const block of messages.flatMap(({ content }) => content)) if (commandIn(block)) shell.keep(block);
    const texts = [...messages.map(({ content }) => typedText(content)), input.text];
    ui.setDraft(texts.filter((text) => text !== '').join('\n'));
    saveDraft();
  }

  /** Messages that wait for the session go back to the draft. False without one. */
  function takeEarly(): boolean {
    const early = speech.takeEarly();
    if (early.length === 0) return false;
    ui.setDraft([...early, input.text].filter((text) => text !== '').join('\n'));
    saveDraft();
    return true;
  }

  function escape(): void {
    if (shell.stop() || takeEarly()) return;
    const { sent } = state();
    if (isCutOff() && !isRunning()) {
      cutOff = false;
      toDraft(sent);
      void post({ type: 'cancel', reason: 'Taken back by the user.' });
      return;
    }
    if (isRunning()) {
      // Nothing else goes on: who only means to leave something with Esc ends no task.
      if (isWaitingForTasks(state()) && !again('escape', AGAIN_MS))
        setHint('Esc again ends what runs in the background.');
      else void interrupt();
      return;
    }
    // A compaction.
    if (state().status !== null) {
      void interrupt();
      return;
    }
    if (!again('escape', TWICE_MS)) return;
    lastAt.delete('escape');
    const back = host.commands().find(({ name }) => name === 'rewind');
    if (input.text === '') void Promise.resolve(back?.run('', ui)).catch(fail);
    else {
      stash = input.text;
      input.take();
      setHint('The draft is put aside: Up brings it back.');
    }
  }

  function submit(kind: 'steering' | 'follow_up'): void {
    if (input.text.trim() === '') {
      const goesOn = isCutOff() && kind === 'steering';
      cutOff = false;
      if (goesOn) ui.session.resume().catch(fail);
      return;
    }
    const shown = input.text;
    const text = input.take();
    const isAnother = isCutOff();
    // Before the session has a name: what was written for the folder goes.
    saveDraft();
    if (kindOf(text) === 'message') cutOff = false;
    stash = null;
    host.remember(shown);
    speech.say(text, isAnother ? 'prompt' : kind).catch(fail);
    parts.redraw();
  }

  async function showTranscript(number?: number): Promise<void> {
    const blocks = await transcriptOf(host, ui.session, number);
    if (number !== undefined && blocks.length === 0) {
      ui.print(`There is no result #${number} on the screen.`, 'warn');
      return;
    }
    const rows = (columns: number): string[] =>
      blocks.flatMap((block, index) =>
        blockRows(block, blocks[index - 1] ?? null, { ...parts.options(), columns, isWhole: true }),
      );
    if (number === undefined) ui.page('Transcript', rows, true);
    else ui.page(`Result #${number}`, rows);
  }

  /** @param isWhole the editor has what was pasted, too; a long text comes back as one paste */
  async function edit(isWhole: boolean): Promise<void> {
    const back = parts.handOver();
    try {
      const before = isWhole ? input.whole : input.text;
      const text = await host.edit(before);
      if (text === null) setHint('The editor ended with an error: the draft is as it was.');
      else if (text !== before) {
        ui.setDraft(isWhole ? '' : text);
        if (isWhole) input.paste(text);
      }
    } finally {
      back();
    }
    saveDraft();
  }

  async function pasteImage(): Promise<void> {
    const mention = await host.clipboard();
    if (mention === null) setHint('The clipboard has no image that wl-paste, xclip or pngpaste prints.');
    else ui.insert(mention);
    saveDraft();
  }

  return {
    showTranscript: (number) => void showTranscript(number).catch(fail),
    offerResume(is) {
      cutOff = is;
    },
    offer: () => (isCutOff() ? offerWords(isRunning()) : null),
    get isCutOff() {
      return isCutOff();
    },
    get early() {
      return speech.early;
    },
    takeEarly,
    drafted() {
      lastAt.delete('ctrl+c');
      saveDraft();
    },
    paste(text) {
      const mention = host.mention(text);
      if (mention === null) input.paste(text);
      else input.insert(mention);
      saveDraft();
    },
    cleared(queued) {
      if (!isTakingBack) return;
      isTakingBack = false;
      if (queued.length === 0) return;
      toDraft(queued);
    },
    first({ name }) {
      switch (name) {
        case 'ctrl+c':
          controlC();
          return true;
        case 'ctrl+d':
          if (input.text !== '') return false;
          parts.leave(0);
          return true;
        case 'ctrl+z':
          parts.suspend();
          return true;
        case 'ctrl+o':
          void showTranscript().catch(fail);
          return true;
        case 'ctrl+v':
          void pasteImage().catch(fail);
          return true;
        case 'ctrl+g':
        case 'ctrl+x':
          void edit(name === 'ctrl+x').catch(fail);
          return true;
        case 'shift+tab':
          void host.nextMode(ui).catch(fail);
          return true;
        case 'up':
          if (input.isCompleting || input.text.includes('\n')) return false;
          if (input.text === '' && stash !== null) {
            input.set(stash);
            stash = null;
          } else if (state().queued.length > 0) void takeBack().catch(fail);
          else return input.text === '' && takeEarly();
          return true;
        case 'alt+up':
          if (state().queued.length > 0) void takeBack().catch(fail);
          return true;
        default:
          return false;
      }
    },
    last({ name }) {
      if (name === 'enter') submit('steering');
      else if (name === 'tab' && isRunning()) submit('follow_up');
      else if (name === 'escape') escape();
    },
  };
}
