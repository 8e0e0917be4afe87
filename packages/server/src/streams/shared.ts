import { NOTHING, type Encoder, type Frame, type StreamEvent, type StreamFormat } from '../encoders/encoder.ts';
import type { Batch } from './batch.ts';

/**
 * What readers who are told the same at the same moment share: an event is written once for all who follow it in a format that
 * keeps nothing, and so is the text that goes to their sockets.
 */
export interface Shared {
  /** The frames of an event. The encoder is the reader's own, and asked for what isn't there yet. */
  frames(format: StreamFormat, encoder: Encoder, event: StreamEvent): readonly Frame[];
  /** What `write` makes of frames and an id: made once, where the frames are shared and the id is the same. */
  written<Text>(write: Write<Text>, frames: readonly Frame[], id: string | null): Text;
}

/** One function for each kind of connection; it is the key under which its texts are kept. */
export type Write<Text> = (frames: readonly Frame[], id: string | null) => Text;

/** The last event is all that is kept, and no longer than until the end of this turn of the event loop. */
export function createShared(batch: Batch): Shared {
  let format: StreamFormat | null = null;
  let event: StreamEvent | null = null;
  let frames = NOTHING;
  let isKept = false;
  /** By what wrote them. */
  const texts = new Map<Write<unknown>, { readonly id: string | null; readonly text: unknown }>();

  function forget(): void {
    isKept = false;
    format = null;
    event = null;
    frames = NOTHING;
    texts.clear();
  }

  return {
    frames(wanted, encoder, told) {
      if (wanted.stateless !== true) return encoder.event(told);
      if (told === event && wanted === format) return frames;
      const made = encoder.event(told);
      format = wanted;
      event = told;
      frames = made;
      texts.clear();
      if (!isKept) batch.add(forget);
      isKept = true;
      return made;
    },
    written<Text>(write: Write<Text>, told: readonly Frame[], id: string | null): Text {
      if (told !== frames) return write(told, id);
      const known = texts.get(write);
      if (known?.id === id) return known.text as Text;
      const text = write(told, id);
      texts.set(write, { id, text });
      return text;
    },
  };
}
