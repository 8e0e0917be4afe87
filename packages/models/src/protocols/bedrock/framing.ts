import { createEventStreamScanner } from '../../framing/event-stream.ts';
import { createJsonLinesScanner } from '../../framing/json-lines.ts';
import type { FrameHandler, FrameScanner, Framing } from '../shared/protocol.ts';

/**
 * Names of frames that are no events begin with a colon, which no event's name has: an exception with its type after the
 * slash, and a stream that can't be trusted any more.
 */
export const EXCEPTION_FRAME = ':exception/';
export const CORRUPT_FRAME = ':corrupt';

/** What a body of lines begins with: an object, a byte order mark, or a line end. A binary one begins with a zero. */
const LINE_STARTS: ReadonlySet<number | undefined> = new Set([0x7b, 0xef, 0x0a, 0x0d]);

/** Whether a body that doesn't say what it is begins like one of the two forms. */
export const startsBedrockStream = (first: Uint8Array): boolean =>
  first[0] === 0 || (first[0] === 0x7b && (first.length === 1 || first[1] === 0x22));

const createBinaryScanner = (onFrame: FrameHandler, onProblem: (message: string) => void): FrameScanner => {
  const decoder = new TextDecoder();
  return createEventStreamScanner({
    message(headers, payload) {
      const type = headers.get(':message-type');
      if (type === 'error') {
        // An error without a payload says everything in its headers.
        const message = headers.get(':error-message') ?? '';
        return onFrame(EXCEPTION_FRAME + (headers.get(':error-code') ?? ''), JSON.stringify({ message }), true);
      }
      const data = decoder.decode(payload);
      if (type === 'exception') onFrame(EXCEPTION_FRAME + (headers.get(':exception-type') ?? ''), data, true);
      else onFrame(headers.get(':event-type') ?? '', data, true);
    },
    corrupt: (problem) => onFrame(CORRUPT_FRAME, problem, true),
    tooLong: onProblem,
    cut: () => onFrame('', '', false),
  });
};

/** AWS's event stream, or the same events as lines of JSON, `{"messageStop":{…}}`; the first byte tells which. */
export const bedrockFraming: Framing = (onFrame, onProblem) => {
  let scanner: FrameScanner | undefined;
  return {
    push(chunk) {
      if (chunk.length === 0) return;
      scanner ??= (LINE_STARTS.has(chunk[0]) ? createJsonLinesScanner : createBinaryScanner)(onFrame, onProblem);
      scanner.push(chunk);
    },
    end() {
      scanner?.end();
    },
  };
};
