import { TreadleError, errorText } from '@treadle/core';
import { parseJson } from '@treadle/core/json';
import { CLOSE, isSpace, type Body, type BodyProblem } from './body.ts';

// What the next character may be. Values are only measured here: what they hold is for `JSON.parse`, at the end.
const START = 0;
const KEY_OR_END = 1;
const KEY = 2;
const IN_KEY = 3;
const COLON = 4;
const VALUE = 5;
const IN_STRING = 6;
const IN_CONTAINER = 7;
const IN_WORD = 8;
const COMMA_OR_END = 9;
const TAIL = 10;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** The body `{"server_name": …, "tool_name": …, "arguments": {…}}`, with its fields in any order. */
export function jsonBody(): Body {
  let state: Body['state'] = 'open';
  let problem: BodyProblem | null = null;
  let place = START;
  /** Containers that are open inside the value, and whether it is inside a string of theirs. */
  let depth = 0;
  let quoted = false;
  let escaped = false;
  let key = '';
  /** The key or value being read. Of other fields than ours only the length matters. */
  let piece = '';
  let whole = '';
  let closing = 0;
  const seen = new Set<string>();
  const names: { server: string | undefined; tool: string | undefined } = { server: undefined, tool: undefined };
  /** Arguments that are an object stream; anything else is told at the end. */
  let streams = false;
  let fresh = '';
  let argumentsText = '';

  function fail(message: string, reason: BodyProblem['reason'] = 'invalid_json'): void {
    state = 'failed';
    problem = { reason, message };
  }

  const unexpected = (text: string, at: number): void => fail(`${JSON.stringify(text[at])} is not expected there`);

  /** The part of a value that this text has, from `start` on; `to` is behind it. */
  function take(text: string, start: number, to: number): void {
    const part = text.slice(start, to);
    if (place === IN_KEY || key === 'server_name' || key === 'tool_name') piece += part;
    else if (key === 'arguments') {
      argumentsText += part;
      if (streams) fresh += part;
    }
  }

  /** Reads on in a string. Returns the place behind its end, or -1 when it goes on in the next text. */
  function endOfString(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (escaped) escaped = false;
      else if (code === BACKSLASH) escaped = true;
      else if (code === QUOTE) return at + 1;
      else if (code < 0x20) {
        fail('a string has a line break or another control character that is not escaped');
        return at;
      }
    }
    return -1;
  }

  function endOfContainer(text: string, from: number): number {
    let at = from;
    while (at < text.length && state === 'open') {
      if (quoted) {
        const end = endOfString(text, at);
        if (end < 0) return -1;
        quoted = false;
        at = end;
        continue;
      }
      const code = text.charCodeAt(at);
      at += 1;
      if (code === QUOTE) quoted = true;
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        depth -= 1;
        if (depth === 0) return at;
      }
    }
    return state === 'open' ? -1 : at;
  }

  function endOfWord(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code === CLOSE_BRACE || isSpace(code)) return at;
    }
    return -1;
  }

  function endOfPiece(text: string, from: number): number {
    if (place === IN_CONTAINER) return endOfContainer(text, from);
    return place === IN_WORD ? endOfWord(text, from) : endOfString(text, from);
  }

  /** Reads on in a key or value. Returns where it stopped. */
  function readPiece(text: string, from: number): number {
    const end = endOfPiece(text, from);
    const stopped = end < 0 ? text.length : end;
    take(text, from, stopped);
    if (end >= 0 && state === 'open') endPiece();
    return stopped;
  }

  function endPiece(): void {
    if (place === IN_KEY) {
      key = stringOf(piece) ?? '';
      if (seen.has(key)) fail(`the field "${key}" is given twice`);
      seen.add(key);
      place = COLON;
    } else {
      if (key === 'server_name') names.server = stringOf(piece);
      else if (key === 'tool_name') names.tool = stringOf(piece);
      key = '';
      place = COMMA_OR_END;
    }
    piece = '';
  }

  /** Its first character decides what a value is. Returns where its reading goes on. */
  function beginValue(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET || code === COMMA) {
      unexpected(text, at);
      return at;
    }
    place = code === QUOTE ? IN_STRING : code === OPEN_BRACE || code === OPEN_BRACKET ? IN_CONTAINER : IN_WORD;
    depth = 1;
    streams = code === OPEN_BRACE;
    take(text, at, at + 1);
    return at + 1;
  }

  function structure(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (place === TAIL) {
      tail(code);
      return at + 1;
    }
    if (isSpace(code)) return at + 1;
    if (place === VALUE) return beginValue(text, at);
    if (place === START && code === OPEN_BRACE) place = KEY_OR_END;
    else if (place === COLON && code === 0x3a) place = VALUE;
    else if (place === COMMA_OR_END && code === COMMA) place = KEY;
    else if ((place === COMMA_OR_END || place === KEY_OR_END) && code === CLOSE_BRACE) place = TAIL;
    else if ((place === KEY || place === KEY_OR_END) && code === QUOTE) {
      place = IN_KEY;
      piece = '"';
    } else {
      unexpected(text, at);
      return at;
    }
    return at + 1;
  }

  /** After the object: white space, and the end of the element. */
  function tail(code: number): void {
    if (closing === 0 && isSpace(code)) return;
    if (code !== CLOSE.charCodeAt(closing)) return fail('something follows the object');
    closing += 1;
    if (closing === CLOSE.length) state = 'closed';
  }

  /** What was measured is parsed: whatever is wrong inside a value comes out here. */
  function check(text: string): boolean {
    try {
      parseJson(text);
      return true;
    } catch (thrown) {
      const reason = thrown instanceof TreadleError ? 'too_deep' : 'invalid_json';
      fail(errorText(thrown).slice(0, 200), reason);
      return false;
    }
  }

  return {
    push(text, from) {
      let at = from;
      while (at < text.length && state === 'open') {
        const reading = place === IN_KEY || place === IN_STRING || place === IN_CONTAINER || place === IN_WORD;
        at = reading ? readPiece(text, at) : structure(text, at);
      }
      whole += text.slice(from, at);
      if (state === 'closed') check(whole.slice(0, -CLOSE.length));
      return at;
    },
    get state() {
      return state;
    },
    names,
    takeArguments() {
      const taken = fresh;
      fresh = '';
      return taken;
    },
    get argumentsText() {
      return argumentsText === 'null' || argumentsText === '""' ? '' : argumentsText;
    },
    get problem() {
      return problem;
    },
    end() {
      return place === TAIL && closing === 0 && check(whole);
    },
  };
}

function stringOf(json: string): string | undefined {
  try {
    const value = parseJson(json);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
