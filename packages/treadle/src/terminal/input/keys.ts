import { parseKey } from '@earendil-works/pi-tui/dist/keys.js';
import { StdinBuffer } from '@earendil-works/pi-tui/dist/stdin-buffer.js';

/** What a terminal sends: a key, a pasted text, or an answer to a question of ours. */
export type TerminalInput =
  | { readonly type: 'key'; readonly name: string; readonly sequence: string }
  | { readonly type: 'paste'; readonly text: string }
  /** Whether it takes whole frames (mode 2026). */
  | { readonly type: 'frames'; readonly known: boolean }
  /** It has the keyboard protocol of Kitty. */
  | { readonly type: 'keyboard' }
  | { readonly type: 'background'; readonly isLight: boolean };

const FRAMES = /^\u001b\[\?2026;(\d)\$y$/; // oxlint-disable-line eslint/no-control-regex -- a terminal's answer
const KEYBOARD = /^\u001b\[\?\d+u$/; // oxlint-disable-line eslint/no-control-regex -- a terminal's answer
const BACKGROUND = /^\u001b\]11;rgba?:([\da-f]+)\/([\da-f]+)\/([\da-f]+)/i; // oxlint-disable-line eslint/no-control-regex -- a terminal's answer
/** Answers, and reports of the focus: no keys. */
const REPORT = /^\u001b(?:\[[?>0-9;]*[cnRyIO]$|\]|P|_)/; // oxlint-disable-line eslint/no-control-regex -- a terminal's answer

/** Enter is a carriage return. A line feed is Ctrl+J. */
const nameOf = (sequence: string): string => (sequence === '\n' ? 'ctrl+j' : (parseKey(sequence) ?? ''));

/** Whether a background is nearer to white, as an eye sees it. */
function isLight(answer: string): boolean {
  const parts = (BACKGROUND.exec(answer) ?? []).slice(1);
  const [red = 0, green = 0, blue = 0] = parts.map((hex) => Number.parseInt(hex, 16) / (16 ** hex.length - 1));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5;
}

/** A paste that never ends frees itself after so many milliseconds without input. */
const UNENDED_PASTE_MS = 2000;
const PASTE_END = '\u001b[201~';

export interface KeyDecoder {
  push(bytes: Uint8Array): void;
  close(): void;
}

/** Cuts what a terminal sends into keys and pastes, however it is split on its way. */
export function decodeKeys(take: (input: TerminalInput) => void): KeyDecoder {
  const buffer = new StdinBuffer();
  const decoder = new TextDecoder();
  let isPasting = false;
  let timer: NodeJS.Timeout | undefined;
  buffer.on('data', (sequence) => {
    const frames = FRAMES.exec(sequence);
    if (frames) take({ type: 'frames', known: frames[1] !== '0' && frames[1] !== '4' });
    else if (KEYBOARD.test(sequence)) take({ type: 'keyboard' });
    else if (BACKGROUND.test(sequence)) take({ type: 'background', isLight: isLight(sequence) });
    else if (sequence !== '' && !REPORT.test(sequence)) take({ type: 'key', name: nameOf(sequence), sequence });
  });
  buffer.on('paste', (text) => {
    isPasting = false;
    take({ type: 'paste', text });
  });
  return {
    push(bytes) {
      clearTimeout(timer);
      const text = decoder.decode(bytes, { stream: true });
      isPasting = text.includes('\u001b[200~') || isPasting;
      if (text !== '') buffer.process(text);
      if (isPasting) timer = setTimeout(() => buffer.process(PASTE_END), UNENDED_PASTE_MS);
    },
    close() {
      clearTimeout(timer);
      buffer.destroy();
    },
  };
}
