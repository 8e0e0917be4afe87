import type { FrameHandler, FrameScanner, Framing } from '../protocols/shared/protocol.ts';
import { createLineScanner, DEFAULT_LINE_LIMIT } from './lines.ts';

/**
 * Cuts a body of newline-delimited JSON into lines, without looking into them. Blank lines are skipped; a last line
 * without a line end is delivered as not whole, because only its reader can tell whether it is complete.
 *
 * @param limit Characters a line may have; the scanner stops at the first with more.
 */
export function createJsonLinesScanner(
  onLine: FrameHandler,
  onProblem: (message: string) => void,
  limit: number = DEFAULT_LINE_LIMIT,
): FrameScanner {
  return createLineScanner((text) => text.split('\n'), limit, {
    line(text, whole) {
      if (text.trim() !== '') onLine('', text, whole);
    },
    tooLong: () => onProblem(`The stream has a line longer than ${limit} bytes.`),
  });
}

/** Cuts a body of newline-delimited JSON: each line is a frame without a name. */
export const jsonLinesFraming: Framing = (onFrame, onProblem) => createJsonLinesScanner(onFrame, onProblem);
