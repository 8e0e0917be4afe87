import { createEditor } from '../input/pi-editor.ts';
import { linePanel } from '../panels/line.ts';
import type { Key, Panel } from '../panels/panel.ts';
import { pickerPanel } from '../panels/picker.ts';
import type { TerminalDevice } from './device.ts';
import type { AskOptions, TerminalUi } from './host.ts';
import { createInputLine, type InputLine } from './input-line.ts';

/** Milliseconds without a key after which nobody is in the middle of typing: more where a draft is open. */
const PAUSE_MS = 300;
const DRAFT_PAUSE_MS = 1500;

/** A panel with an input line of its own: the draft stays as it is, and sees nothing of a secret. */
interface OpenPanel {
  readonly panel: Panel;
  readonly input: InputLine;
  readonly since: number;
  /** It follows an answer of the user's: nobody is typing anything else. */
  readonly isNext: boolean;
  /** False while keys may be meant for the draft: the session has opened it, and not the user. */
  isSettled: boolean;
}

/** Lists and lines to answer, one at a time. */
export interface Panels {
  readonly ask: TerminalUi['ask'];
  readonly pick: TerminalUi['pick'];
  readonly open: OpenPanel | null;
  /** Takes a key, or says whose it is: a question that has just come takes none that was meant for the draft. */
  key(key: Key): 'panel' | 'draft' | 'terminal';
  paste(text: string): 'panel' | 'draft';
}

/** @param parts `hasDraft`: something is typed; `changed`: another panel is open, or the same looks different */
export function createPanels(parts: {
  readonly device: Pick<TerminalDevice, 'now' | 'after'>;
  hasDraft(): boolean;
  changed(): void;
}): Panels {
  const { device, changed } = parts;
  let open: OpenPanel | null = null;
  let keyAt = 0;
  let answeredAt = -Infinity;
  let last: Promise<unknown> = Promise.resolve();

  /** It belongs to what the user has just answered: nobody is in the middle of something else. */
  const goesOn = (): boolean => device.now() - answeredAt < PAUSE_MS && keyAt <= answeredAt;

  async function pause(): Promise<void> {
    for (let wait = 1; wait > 0; wait = keyAt + (parts.hasDraft() ? DRAFT_PAUSE_MS : PAUSE_MS) - device.now())
      await new Promise<void>((resolve) => void device.after(wait, resolve));
  }

  /** Opens a panel after those before it. */
  async function answered<Value>(
    panelFor: (done: (value: Value | null) => void) => Panel,
    { until, isAsked = false }: Pick<AskOptions, 'until' | 'isAsked'>,
  ): Promise<Value | null> {
    let isGone = false;
    const isNext = isAsked && goesOn();
    void until?.then(() => {
      isGone = true;
    });
    if (isAsked && !isNext) await pause();
    const show = (): Promise<Value | null> =>
      new Promise((resolve) => {
        if (isGone) {
          resolve(null);
          return;
        }
        const panel = panelFor((value) => {
          if (open?.panel !== panel) return;
          if (value !== null && isAsked) answeredAt = device.now();
          open = null;
          changed();
          resolve(value);
        });
        const input = createInputLine(createEditor(), {
          source: { commands: () => [], files: () => null },
          history: [],
          changed,
        });
        open = {
          panel,
          input,
          since: device.now(),
          isNext,
          isSettled: !isAsked || (isNext && panel.submit !== undefined),
        };
        changed();
        void until?.then(() => panel.close());
      });
    const answer = last.then(show);
    last = answer;
    return answer;
  }

  /** A key comes: whether the panel takes it. */
  function takes(one: OpenPanel): boolean {
    const quietSince = Math.max(one.since, keyAt);
    keyAt = device.now();
    // A secret goes nowhere else.
    one.isSettled ||= one.panel.isSecret === true || keyAt - (one.isNext ? one.since : quietSince) >= PAUSE_MS;
    return one.isSettled;
  }

  return {
    ask: (question, { label = '> ', until, isAsked = false, ...how } = {}) =>
      answered<string>((done) => linePanel({ question, label, ...how }, done), {
        isAsked,
        ...(until && { until }),
      }),
    pick: (title, items, how = {}) => answered((done) => pickerPanel(title, items, done, how), how),
    get open() {
      return open;
    },
    key(key) {
      if (!open) {
        keyAt = device.now();
        return 'terminal';
      }
      // A key that was pressed twice answers no second list.
      if (!takes(open)) return open.isNext ? 'panel' : 'draft';
      const { panel, input } = open;
      const { name } = key;
      if (name === 'ctrl+z' || name === 'ctrl+o' || (name === 'ctrl+d' && input.text === '')) return 'terminal';
      if (name === 'escape' || name === 'ctrl+c') panel.close();
      else if (!panel.key(key)) {
        // An Enter that bounces is no answer.
        const isBounce = open.isNext && input.text === '' && device.now() - open.since < PAUSE_MS;
        if (name === 'enter' && !isBounce) panel.submit?.(input.whole);
        else if (name === 'enter') return 'panel';
        else input.key(key);
      }
      changed();
      return 'panel';
    },
    paste(text) {
      if (!open) return 'draft';
      if (!takes(open)) return open.isNext ? 'panel' : 'draft';
      if (open.panel.submit) open.input.paste(text);
      else open.panel.key({ name: '', sequence: text });
      changed();
      return 'panel';
    },
  };
}
