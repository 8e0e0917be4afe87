import type { Frame } from '../encoders/encoder.ts';

/** Why a connection is let go of. */
export type CloseReason =
  /** All was told that was asked for. */
  | 'finished'
  /** It reads more slowly than there is to tell: it may come back with the last id it has. */
  | 'slow'
  | 'removed'
  | 'draining'
  | 'failed';

/** The end of a connection that a stream writes to: a response, or a socket. */
export interface Sink {
  /** Writes frames; the last one has the id that the reader can come back with. */
  send(frames: readonly Frame[], id: string | null): void;
  /** Says that the connection lives. */
  beat(): void;
  /** Bytes, about, that were written and that the reader hasn't taken. */
  readonly buffered: number;
  /** Resolves once the reader has taken most of what was written, or is gone. */
  drained(): Promise<void>;
  /** Ends it. A slow reader is cut off, with what it hasn't taken; the others get everything first. */
  close(reason: CloseReason): void;
  /** Calls `listener` once when the reader is gone, or was let go of. */
  onClose(listener: () => void): void;
}

/** Frames as server-sent events. The last one has the id: who breaks off before it gets all of its event again. */
export const sseText = (frames: readonly Frame[], id: string | null): string =>
  frames
    .map(({ event, data }, at) => {
      const place = id !== null && at === frames.length - 1 ? `id: ${id}\n` : '';
      const name = event === undefined ? '' : `event: ${event}\n`;
      return `${place}${name}data: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
    })
    .join('');

/** A comment: clients pass over it. */
export const SSE_BEAT = ':\n\n';
