import { createLineScanner, DEFAULT_LINE_LIMIT } from '../framing/lines.ts';
import type { FrameHandler, FrameScanner, Framing } from '../protocols/shared/protocol.ts';

const splitLines = (text: string): string[] => text.split(text.includes('\r') ? /\r\n|\r|\n/ : '\n');

/** The value of a field that a line sets, or undefined when the line isn't about it. */
const valueOf = (field: string, line: string): string | undefined => {
  if (!line.startsWith(field)) return undefined;
  const colon = field.length;
  if (line.length === colon) return '';
  if (line[colon] !== ':') return undefined;
  return line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
};

/**
 * Cuts a body of server-sent events into events, by the rules of the HTML standard, with one difference: an event
 * that the end of the body cut short is delivered too, marked as not whole. `id` and `retry` belong to reconnecting,
 * which a model's stream can't do, and are passed over like unknown fields.
 *
 * @param limit Characters a line or the data of an event may have; the scanner stops at the first with more.
 */
export function createSseScanner(
  onEvent: FrameHandler,
  onProblem: (message: string) => void,
  limit: number = DEFAULT_LINE_LIMIT,
): FrameScanner {
  let name = '';
  let data: string | undefined;
  let stopped = false;
  /** The last chunk ended with CR, which may be the first half of CRLF. */
  let skipLineFeed = false;

  const stop = (): void => {
    if (!stopped) onProblem(`The stream has a line or an event longer than ${limit} bytes.`);
    stopped = true;
    data = undefined;
  };

  const dispatch = (whole: boolean): void => {
    const [eventName, eventData] = [name, data];
    name = '';
    data = undefined;
    if (eventData !== undefined) onEvent(eventName, eventData, whole);
  };

  const readField = (line: string): void => {
    const value = valueOf('data', line);
    if (value === undefined) name = valueOf('event', line) ?? name;
    else if (data !== undefined && data.length + value.length > limit) stop();
    else data = data === undefined ? value : `${data}\n${value}`;
  };

  const lines = createLineScanner(splitLines, limit, {
    line(text, whole) {
      if (stopped) return;
      if (text === '') dispatch(true);
      else readField(text);
      if (!whole && !stopped) dispatch(false);
    },
    tooLong: stop,
    end() {
      if (!stopped) dispatch(true);
    },
  });
  return {
    push(chunk) {
      if (chunk.length === 0) return;
      const isRest = skipLineFeed && chunk[0] === 10;
      skipLineFeed = chunk.at(-1) === 13;
      lines.push(isRest ? chunk.subarray(1) : chunk);
    },
    end: () => lines.end(),
  };
}

/** Cuts a body of server-sent events: the name of a frame is its `event`, the text its `data`. */
export const sseFraming: Framing = (onFrame, onProblem) => createSseScanner(onFrame, onProblem);
