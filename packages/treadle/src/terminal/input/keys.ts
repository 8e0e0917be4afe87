import { parseKey } from '@earendil-works/pi-tui/dist/keys.js';
import { StdinBuffer } from '@earendil-works/pi-tui/dist/stdin-buffer.js';

/** What a terminal sends: a key, a pasted text, or an answer to a question of ours. */
export type TerminalInput =
  | { readonly type: 'key'; readonly name: string; readonly sequence: string }
  | { readonly type: 'paste'; readonly text: string }
  /** Whether it takes whole frames (mode 2026). */
  | { readonly type: 'frames'; readonly known: boolean };

const FRAMES = /^\u001b\[\?2026;(\d)\$y$/; // oxlint-disable-line eslint/no-control-regex -- a terminal's answer
/** Answers, and reports of the focus: no keys. */
const REPORT = /^\u001b(?:\[[?>0-9;]*[cnRyIO]$|\]|P|_)/; // oxlint-disable-line eslint/no-control-regex -- a terminal's answer

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
    else if (sequence !== '' && !REPORT.test(sequence)) take({ type: 'key', name: parseKey(sequence) ?? '', sequence });
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
