import type { FrameHandler, FrameScanner, Framing } from '../protocols/shared/protocol.ts';
import { DEFAULT_LINE_LIMIT } from '../sse/scanner.ts';

const LF = 10;
const BYTE_ORDER_MARK = 0xfeff;
const NO_BYTES = new Uint8Array(0);

/** It decodes whole lines and keeps nothing between two calls, so that one is enough for all. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Cuts a body of newline-delimited JSON into lines, without looking into them. Blank lines are skipped; a last line
 * without a line end is delivered as not whole, because only its reader can tell whether it is complete.
 *
 * Bytes are decoded only up to the last line end of each chunk, and those of an unfinished line wait in a buffer that
 * doubles, so the cost is linear in the bytes, however they are chunked. Invalid UTF-8 becomes U+FFFD.
 *
 * @param limit Bytes a line may have; the scanner stops at the first with more.
 */
export function createJsonLinesScanner(
  onLine: FrameHandler,
  onProblem: (message: string) => void,
  limit: number = DEFAULT_LINE_LIMIT,
): FrameScanner {
  let waiting = NO_BYTES;
  let waitingLength = 0;
  let started = false;
  let stopped = false;

  const stop = (): void => {
    stopped = true;
    waiting = NO_BYTES;
    waitingLength = 0;
    onProblem(`The stream has a line longer than ${limit} bytes.`);
  };

  const keep = (bytes: Uint8Array): void => {
    const needed = waitingLength + bytes.length;
    if (needed > limit) return stop();
    if (needed > waiting.length) {
      const larger = new Uint8Array(Math.max(needed, waiting.length * 2, 256));
      larger.set(waiting.subarray(0, waitingLength));
      waiting = larger;
    }
    waiting.set(bytes, waitingLength);
    waitingLength = needed;
  };

  const decode = (bytes: Uint8Array): string => {
    const text = decoder.decode(bytes);
    const marked = !started && text.charCodeAt(0) === BYTE_ORDER_MARK;
    started = true;
    return marked ? text.slice(1) : text;
  };

  const deliver = (line: string, whole: boolean): void => {
    if (line.trim() !== '') onLine('', line, whole);
  };

  /** `bytes` holds whole lines, without the last line end. */
  const lines = (bytes: Uint8Array): void => {
    const text = decode(bytes);
    let position = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', position)) {
      deliver(text.slice(position, end), true);
      position = end + 1;
    }
    deliver(position === 0 ? text : text.slice(position), true);
  };

  /** Where the first line of `bytes` begins that is longer than the limit, or -1. */
  const startOfLongLine = (bytes: Uint8Array): number => {
    let start = 0;
    while (bytes.length - start > limit) {
      const end = bytes.indexOf(LF, start);
      if ((end === -1 ? bytes.length : end) - start > limit) return start;
      start = end + 1;
    }
    return -1;
  };

  const wholeLines = (bytes: Uint8Array): void => {
    const tooLong = startOfLongLine(bytes);
    if (tooLong === -1) return lines(bytes);
    if (tooLong > 0) lines(bytes.subarray(0, tooLong - 1));
    stop();
  };

  /** Completes the waiting line, whose end is at `end` in the chunk. */
  const completeLine = (chunk: Uint8Array, end: number): void => {
    keep(chunk.subarray(0, end));
    if (stopped) return;
    const line = waiting.subarray(0, waitingLength);
    waitingLength = 0;
    lines(line);
  };

  return {
    push(chunk) {
      if (stopped) return;
      const last = chunk.lastIndexOf(LF);
      if (last === -1) return keep(chunk);
      let start = 0;
      if (waitingLength > 0) {
        const end = chunk.indexOf(LF);
        completeLine(chunk, end);
        start = end + 1;
      }
      if (!stopped && last > start) wholeLines(chunk.subarray(start, last));
      if (!stopped && last + 1 < chunk.length) keep(chunk.subarray(last + 1));
    },
    end() {
      if (!stopped && waitingLength > 0) deliver(decode(waiting.subarray(0, waitingLength)), false);
      stopped = true;
    },
  };
}

/** Newline-delimited JSON, as {@link Framing}. The frames have no names. */
export const jsonLinesFraming: Framing = (onFrame, onProblem) => createJsonLinesScanner(onFrame, onProblem);
