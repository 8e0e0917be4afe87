import { TreadleError, errorText } from '@treadle/core';
import { parseJson } from '@treadle/core/json';
import { CLOSE, isSpace, type Body, type BodyProblem } from './body.ts';

/** What the next character may be. Values are only measured here: what they hold is for `JSON.parse`, at the end. */
type Place = 'start' | 'key_or_end' | 'key' | 'colon' | 'value' | 'comma_or_end' | 'tail' | Piece;
/** Inside a key or a value. */
type Piece = 'in_key' | 'in_string' | 'in_container' | 'in_word';

/** What follows a character that is expected outside of keys and values. */
const NEXT: Readonly<Record<string, Place>> = {
  'start {': 'key_or_end',
  'key_or_end "': 'in_key',
  'key_or_end }': 'tail',
  'key "': 'in_key',
  'colon :': 'value',
  'comma_or_end ,': 'key',
  'comma_or_end }': 'tail',
};

/** The body `{"server_name": …, "tool_name": …, "arguments": {…}}`, with its fields in any order. */
export function jsonBody(): Body {
  let state: Body['state'] = 'open';
  let problem: BodyProblem | null = null;
  let place: Place = 'start';
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
    if (place === 'in_key' || key === 'server_name' || key === 'tool_name') piece += part;
    else if (key === 'arguments') {
      argumentsText += part;
      if (streams) fresh += part;
    }
  }

  /** Reads on in a string. Returns the place behind its end, or -1 when it goes on in the next text. */
  function endOfString(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      const char = text[at] ?? '';
      if (escaped) escaped = false;
      else if (char === '\\') escaped = true;
      else if (char === '"') return at + 1;
      else if (char < ' ') {
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
      const char = text[at] ?? '';
      at += 1;
      if (char === '"') quoted = true;
      else if (char === '{' || char === '[') depth += 1;
      else if (char === '}' || char === ']') {
        depth -= 1;
        if (depth === 0) return at;
      }
    }
    return state === 'open' ? -1 : at;
  }

  function endOfWord(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      const char = text[at] ?? '';
      if (char === ',' || char === '}' || isSpace(char)) return at;
    }
    return -1;
  }

  function endOfPiece(text: string, from: number): number {
    if (place === 'in_container') return endOfContainer(text, from);
    return place === 'in_word' ? endOfWord(text, from) : endOfString(text, from);
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
    if (place === 'in_key') {
      key = stringOf(piece) ?? '';
      if (seen.has(key)) fail(`the field "${key}" is given twice`);
      seen.add(key);
      place = 'colon';
    } else {
      if (key === 'server_name') names.server = stringOf(piece);
      else if (key === 'tool_name') names.tool = stringOf(piece);
      key = '';
      place = 'comma_or_end';
    }
    piece = '';
  }

  /** Its first character decides what a value is. Returns where its reading goes on. */
  function beginValue(text: string, at: number): number {
    const char = text[at] ?? '';
    if (char === '}' || char === ']' || char === ',') {
      unexpected(text, at);
      return at;
    }
    place = char === '"' ? 'in_string' : char === '{' || char === '[' ? 'in_container' : 'in_word';
    depth = 1;
    streams = char === '{';
    take(text, at, at + 1);
    return at + 1;
  }

  function structure(text: string, at: number): number {
    const char = text[at] ?? '';
    if (place === 'tail') {
      tail(char);
      return at + 1;
    }
    if (isSpace(char)) return at + 1;
    if (place === 'value') return beginValue(text, at);
    const next = NEXT[`${place} ${char}`];
    if (next === undefined) {
      unexpected(text, at);
      return at;
    }
    place = next;
    if (next === 'in_key') piece = '"';
    return at + 1;
  }

  /** After the object: white space, and the end of the element. */
  function tail(char: string): void {
    if (closing === 0 && isSpace(char)) return;
    if (char !== CLOSE[closing]) return fail('something follows the object');
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
        at = place.startsWith('in_') ? readPiece(text, at) : structure(text, at);
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
      return place === 'tail' && closing === 0 && check(whole);
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
