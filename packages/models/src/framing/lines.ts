import type { FrameScanner } from '../protocols/shared/protocol.ts';

/** Characters a line may have. */
export const DEFAULT_LINE_LIMIT = 32 * 1024 * 1024;

/** Gets the lines of a body without their ends. After `tooLong` nothing follows. */
export interface LineHandler {
  /** `whole` is false for a last line without an end. */
  line(text: string, whole: boolean): void;
  tooLong(): void;
  /** The body ended. */
  end?(): void;
}

/**
 * Cuts a body into lines. An unfinished line waits as text to which each chunk adds, so the cost is linear however the
 * bytes are chunked. A byte order mark at the beginning is skipped. Invalid UTF-8 becomes U+FFFD.
 *
 * @param split Splits a text at the ends of its lines.
 * @param limit Characters a line may have; the scanner stops at the first with more.
 */
export function createLineScanner(
  split: (text: string) => string[],
  limit: number,
  handler: LineHandler,
): FrameScanner {
  const decoder = new TextDecoder();
  let waiting = '';
  let stopped = false;

  const deliver = (line: string, whole: boolean): void => {
    if (stopped) return;
    if (line.length <= limit) return handler.line(line, whole);
    stopped = true;
    handler.tooLong();
  };

  return {
    push(chunk) {
      if (stopped) return;
      const lines = split(decoder.decode(chunk, { stream: true }));
      lines[0] = waiting + (lines[0] ?? '');
      waiting = lines.pop() ?? '';
      for (const line of lines) deliver(line, true);
      // It can only grow.
      if (waiting.length > limit) deliver(waiting, false);
    },
    end() {
      if (stopped) return;
      waiting += decoder.decode();
      if (waiting !== '') deliver(waiting, false);
      if (!stopped) handler.end?.();
      stopped = true;
    },
  };
}
