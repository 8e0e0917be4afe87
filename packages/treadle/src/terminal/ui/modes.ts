import { plainLine } from '../../cli/asking/plain-text.ts';
import type { TerminalInput } from '../input/keys.ts';
import { themeNamed, themeOf, type Theme, type ThemeName } from '../screen/theme.ts';
import { ASK_BACKGROUND, ASK_FRAMES, ASK_KEYS, MODES_OFF, MODES_ON, type TerminalDevice } from './device.ts';

/** What is on in a terminal while a session is shown there, and how it looks. */
export interface Modes {
  /** Switches on, and asks what the terminal can do. */
  begin(): void;
  /** Takes what the terminal has answered; false for keys and pastes. */
  answer(said: TerminalInput): boolean;
  readonly theme: Theme;
  setTheme(name: ThemeName): void;
  title(text: string): void;
  /** Milliseconds for which the terminal's answers may still come. Whoever reads them after us takes them for keys. */
  awaited(): number;
  /** Switches off what is on. */
  end(): void;
}

/** Milliseconds that a terminal has to answer, at the other end of a slow line. */
const ANSWER_MS = 500;

/** Keys as escape codes where the usual bytes are ambiguous, with the key of the base layout. */
const KEYS_ON = '\u001b[>5u';
const KEYS_OFF = '\u001b[<u';
const titled = (text: string): string => `\u001b]0;${plainLine(text, 80)}\u0007`;

/** @param parts `useFrames`: it takes whole frames; `changed`: what is shown next has other colours */
export function createModes(device: TerminalDevice, parts: { useFrames(): void; changed(): void }): Modes {
  let isOn = false;
  let hasKeys = false;
  let answersUntil = 0;
  let shown = '';
  /** Null: by the terminal's background. */
  let chosen = themeOf(device.env);
  let theme = themeNamed(chosen ?? 'dark');
  return {
    get theme() {
      return theme;
    },
    setTheme(name) {
      chosen = name;
      theme = themeNamed(name);
      parts.changed();
    },
    begin() {
      isOn = true;
      answersUntil = device.now() + ANSWER_MS;
      device.write(`${MODES_ON}${ASK_FRAMES}${ASK_KEYS}${chosen === null ? ASK_BACKGROUND : ''}`);
    },
    answer(said) {
      if (said.type === 'key' || said.type === 'paste') return false;
      if (said.type === 'frames' && said.known) parts.useFrames();
      if (said.type === 'keyboard' && isOn && !hasKeys) {
        hasKeys = true;
        device.write(KEYS_ON);
      }
      if (said.type === 'background' && chosen === null) {
        theme = themeNamed(said.isLight ? 'light' : 'dark');
        parts.changed();
      }
      return true;
    },
    title(text) {
      if (!isOn || text === shown) return;
      shown = text;
      device.write(titled(text));
    },
    awaited: () => (isOn ? Math.max(0, answersUntil - device.now()) : 0),
    end() {
      if (!isOn) return;
      device.write(`${hasKeys ? KEYS_OFF : ''}${shown === '' ? '' : titled('')}${MODES_OFF}`);
      isOn = false;
      hasKeys = false;
      shown = '';
    },
  };
}
