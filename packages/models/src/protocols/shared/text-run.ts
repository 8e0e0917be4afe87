import type { DecoderSink } from './protocol.ts';

/** Text that arrives in pieces. */
export interface TextRun {
  /** Adds a piece and shows what may be shown now. Anything but text is passed over. */
  add(piece: unknown): void;
  /** Shows what was held back, when nothing follows. Returns all of it. */
  end(): string;
  /** All that was shown. */
  whole(): string;
}

/**
 * Collects pieces of text so that no piece it shows has half a surrogate pair: a half at the end of a piece is held back
 * until the other half comes, and a half that stays alone becomes U+FFFD. No empty piece is shown.
 */
export function createTextRun(show: (text: string) => void): TextRun {
  let text = '';
  let held = '';
  const give = (piece: string): void => {
    if (piece === '') return;
    const shown = piece.toWellFormed();
    text += shown;
    show(shown);
  };
  return {
    add(piece) {
      if (typeof piece !== 'string' || piece === '') return;
      const all = held + piece;
      const last = all.charCodeAt(all.length - 1);
      held = last >= 0xd800 && last <= 0xdbff ? all.slice(-1) : '';
      give(all.slice(0, all.length - held.length));
    },
    end() {
      give(held);
      held = '';
      return text;
    },
    whole: () => text,
  };
}

type Delta = 'text_delta' | 'thinking_delta' | 'tool_arguments_delta';

/** The text of a block, shown as its deltas. Without a type of delta nothing is shown. */
export const createBlockText = (sink: DecoderSink, type: Delta | undefined, index: number): TextRun =>
  createTextRun((text) => {
    if (type !== undefined) sink.event({ type, index, text });
  });
