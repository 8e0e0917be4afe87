import { MAX_JSON_DEPTH, type JsonValue } from '../json.ts';

/** A JSON document that is still arriving. Made by {@link createPartialJson}. */
export interface PartialJson {
  /** Takes the next piece of the text, cut anywhere, even inside an escape. Never throws; after a failure it does nothing. */
  push(text: string): void;
  /** Says that the text is over. Ends a number at the top level; anything else unfinished is a failure. */
  end(): void;
  /**
   * The value so far, undefined before its first character. Objects and arrays are the same ones from push to push and
   * grow in place: copy what must not change. A string grows with every push. A number appears when the character after
   * it has arrived, `true`, `false` and `null` with their last letter, a property with the first part of its value.
   */
  readonly value: JsonValue | undefined;
  /** True when the value is whole: nothing but white space may follow. */
  readonly complete: boolean;
  /** True when the text is not JSON. The value stays as it was before the offending character. */
  readonly failed: boolean;
  /** Characters looked at and values stored, in all: what the work has cost, independent of the machine. */
  readonly work: number;
}

/**
 * A scanner of JSON that arrives in pieces, for tool arguments while a model writes them. Each character is looked at
 * once, and a push costs the same however much came before: no text is kept, no value is copied, and a long string grows
 * by concatenation, which JavaScript engines do without copying.
 *
 * Accepts what `JSON.parse` accepts, up to 512 levels deep ({@link MAX_JSON_DEPTH}), with the same result; of equal keys the last one wins. A
 * character outside the basic plane is held back until both its halves have arrived.
 *
 * @example
 * ```ts
 * import { createPartialJson } from '@treadle/core/model';
 *
 * const json = createPartialJson();
 * json.push('{"path":"a.txt","content":"Hel');
 * console.log(json.value); // { path: 'a.txt', content: 'Hel' }
 * json.push('lo"}');
 * console.log(json.value, json.complete); // { path: 'a.txt', content: 'Hello' } true
 * ```
 */
export function createPartialJson(): PartialJson {
  const scanner: Scanner = {
    mode: VALUE,
    root: undefined,
    containers: [],
    top: undefined,
    key: '',
    slot: 0,
    isKey: false,
    text: '',
    held: '',
    code: 0,
    codeDigits: 0,
    word: '',
    wordMatched: 0,
    work: 0,
  };
  return new ScannedJson(scanner);
}

class ScannedJson implements PartialJson {
  readonly #scanner: Scanner;

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }
  push(text: string): void {
    push(this.#scanner, text);
  }
  end(): void {
    end(this.#scanner);
  }
  get value(): JsonValue | undefined {
    return this.#scanner.root;
  }
  get complete(): boolean {
    return this.#scanner.mode === DONE;
  }
  get failed(): boolean {
    return this.#scanner.mode === FAILED;
  }
  get work(): number {
    return this.#scanner.work;
  }
}

// What the next character may be.
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_KEY = 2;
const KEY = 3;
const COLON = 4;
const COMMA_OR_CLOSE = 5;
const IN_STRING = 6;
const IN_ESCAPE = 7;
const IN_CODE = 8;
const IN_NUMBER = 9;
const IN_WORD = 10;
const DONE = 11;
const FAILED = 12;

type Container = JsonValue[] | Record<string, JsonValue>;

interface Scanner {
  mode: number;
  root: JsonValue | undefined;
  /** The open containers, outermost first; `top` is the last. */
  readonly containers: Container[];
  top: Container | undefined;
  /** Where the value being read goes: under `key` of an object, at `slot` of an array. */
  key: string;
  slot: number;
  /** Whether the string being read is a key. */
  isKey: boolean;
  /** The string or number being read, as far as it is decoded. */
  text: string;
  /** First half of a surrogate pair whose second half hasn't arrived. */
  held: string;
  /** A `\u` escape: its value so far and the digits still to come. */
  code: number;
  codeDigits: number;
  /** `true`, `false` or `null`, and how much of it has arrived. */
  word: string;
  wordMatched: number;
  work: number;
}

function push(scanner: Scanner, text: string): void {
  let at = 0;
  while (at < text.length && scanner.mode !== FAILED) {
    if (scanner.mode === IN_STRING) at = scanString(scanner, text, at);
    else if (scanner.mode === IN_NUMBER) at = scanNumber(scanner, text, at);
    else {
      scanCharacter(scanner, text, at);
      at += 1;
    }
  }
  showString(scanner);
}

function end(scanner: Scanner): void {
  if (scanner.mode === IN_NUMBER) finishNumber(scanner);
  if (scanner.mode !== DONE) fail(scanner);
}

function fail(scanner: Scanner): void {
  showString(scanner);
  scanner.mode = FAILED;
}

/** Puts the string being read, as far as it goes, where it belongs. */
function showString(scanner: Scanner): void {
  const { mode } = scanner;
  if ((mode === IN_STRING || mode === IN_ESCAPE || mode === IN_CODE) && !scanner.isKey) store(scanner, scanner.text);
}

function store(scanner: Scanner, value: JsonValue): void {
  scanner.work += 1;
  const { top, key } = scanner;
  if (top === undefined) scanner.root = value;
  else if (Array.isArray(top)) top[scanner.slot] = value;
  else if (key !== '__proto__') top[key] = value;
  else Object.defineProperty(top, key, { value, enumerable: true, configurable: true, writable: true });
}

function finishValue(scanner: Scanner, value: JsonValue): void {
  store(scanner, value);
  scanner.mode = scanner.top === undefined ? DONE : COMMA_OR_CLOSE;
}

function open(scanner: Scanner, container: Container): void {
  if (scanner.containers.length >= MAX_JSON_DEPTH) return fail(scanner);
  store(scanner, container);
  scanner.containers.push(container);
  scanner.top = container;
  scanner.slot = 0;
  scanner.mode = Array.isArray(container) ? FIRST_ITEM : FIRST_KEY;
}

function close(scanner: Scanner): void {
  scanner.containers.pop();
  const top = scanner.containers.at(-1);
  scanner.top = top;
  scanner.mode = top === undefined ? DONE : COMMA_OR_CLOSE;
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** One character outside of string and number bodies. */
function scanCharacter(scanner: Scanner, text: string, at: number): void {
  const code = text.charCodeAt(at);
  scanner.work += 1;
  switch (scanner.mode) {
    case IN_ESCAPE:
      return scanEscape(scanner, code);
    case IN_CODE:
      return scanCode(scanner, code);
    case IN_WORD:
      return scanWord(scanner, code);
  }
  if (isSpace(code)) return;
  switch (scanner.mode) {
    case FIRST_ITEM:
      if (code === 0x5d /* ] */) return close(scanner);
      return startValue(scanner, text, at);
    case VALUE:
      return startValue(scanner, text, at);
    case FIRST_KEY:
      if (code === 0x7d /* } */) return close(scanner);
      return startKey(scanner, code);
    case KEY:
      return startKey(scanner, code);
    case COLON:
      if (code !== 0x3a /* : */) return fail(scanner);
      scanner.mode = VALUE;
      return;
    case COMMA_OR_CLOSE:
      return afterValue(scanner, code);
    default:
      return fail(scanner);
  }
}

function startKey(scanner: Scanner, code: number): void {
  if (code !== 0x22 /* " */) return fail(scanner);
  startString(scanner, true);
}

function startString(scanner: Scanner, isKey: boolean): void {
  scanner.isKey = isKey;
  scanner.text = '';
  scanner.mode = IN_STRING;
}

function afterValue(scanner: Scanner, code: number): void {
  const { top } = scanner;
  const isArray = Array.isArray(top);
  if (code === 0x2c /* , */) {
    if (isArray) scanner.slot = top.length;
    scanner.mode = isArray ? VALUE : KEY;
  } else if (code === (isArray ? 0x5d : 0x7d)) close(scanner);
  else fail(scanner);
}

function startValue(scanner: Scanner, text: string, at: number): void {
  const character = text[at];
  switch (character) {
    case '"':
      return startString(scanner, false);
    case '{':
      return open(scanner, {});
    case '[':
      return open(scanner, []);
    case 't':
      return startWord(scanner, 'true');
    case 'f':
      return startWord(scanner, 'false');
    case 'n':
      return startWord(scanner, 'null');
    case undefined:
      return;
    default:
      if (!isNumberPart(character.charCodeAt(0))) return fail(scanner);
      scanner.text = character;
      scanner.mode = IN_NUMBER;
  }
}

function startWord(scanner: Scanner, word: string): void {
  scanner.word = word;
  scanner.wordMatched = 1;
  scanner.mode = IN_WORD;
}

function scanWord(scanner: Scanner, code: number): void {
  if (code !== scanner.word.charCodeAt(scanner.wordMatched)) return fail(scanner);
  scanner.wordMatched += 1;
  if (scanner.wordMatched < scanner.word.length) return;
  finishValue(scanner, scanner.word === 'null' ? null : scanner.word === 'true');
}

/** Takes a run of plain characters in one piece. Returns where it stopped. */
function scanString(scanner: Scanner, text: string, start: number): number {
  let at = start;
  let code = 0;
  for (; at < text.length; at += 1) {
    code = text.charCodeAt(at);
    if (code === 0x22 /* " */ || code === 0x5c /* \ */ || code < 0x20) break;
  }
  scanner.work += at - start;
  if (at > start) append(scanner, start === 0 && at === text.length ? text : text.slice(start, at));
  if (at === text.length) return at;
  scanner.work += 1;
  if (code === 0x22) finishString(scanner);
  else if (code === 0x5c) scanner.mode = IN_ESCAPE;
  else fail(scanner);
  return at + 1;
}

/** Adds to the string being read, except for half a surrogate pair at its end. */
function append(scanner: Scanner, piece: string): void {
  let whole = piece;
  if (scanner.held !== '') {
    whole = scanner.held + piece;
    scanner.held = '';
  }
  const last = whole.charCodeAt(whole.length - 1);
  if (last >= 0xd800 && last <= 0xdbff) {
    scanner.held = whole.slice(-1);
    whole = whole.slice(0, -1);
  }
  scanner.text += whole;
}

function finishString(scanner: Scanner): void {
  const string = scanner.text + scanner.held;
  scanner.text = '';
  scanner.held = '';
  if (!scanner.isKey) return finishValue(scanner, string);
  scanner.key = string;
  scanner.mode = COLON;
}

const ESCAPES = new Map<number, string>(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, character]) => [letter.charCodeAt(0), character],
  ),
);

function scanEscape(scanner: Scanner, code: number): void {
  if (code === 0x75 /* u */) {
    scanner.code = 0;
    scanner.codeDigits = 4;
    scanner.mode = IN_CODE;
    return;
  }
  const character = ESCAPES.get(code);
  if (character === undefined) return fail(scanner);
  append(scanner, character);
  scanner.mode = IN_STRING;
}

function scanCode(scanner: Scanner, code: number): void {
  const digit = hexDigit(code);
  if (digit < 0) return fail(scanner);
  scanner.code = scanner.code * 16 + digit;
  scanner.codeDigits -= 1;
  if (scanner.codeDigits > 0) return;
  append(scanner, String.fromCharCode(scanner.code));
  scanner.mode = IN_STRING;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isNumberPart(code: number): boolean {
  // Digits, minus, plus, point, e and E.
  if (code >= 0x30 && code <= 0x39) return true;
  return code === 0x2d || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45;
}

function scanNumber(scanner: Scanner, text: string, start: number): number {
  let at = start;
  while (at < text.length && isNumberPart(text.charCodeAt(at))) at += 1;
  scanner.work += at - start;
  if (at > start) scanner.text += text.slice(start, at);
  if (at < text.length) finishNumber(scanner);
  return at;
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

function finishNumber(scanner: Scanner): void {
  const { text } = scanner;
  scanner.text = '';
  if (!NUMBER.test(text)) return fail(scanner);
  finishValue(scanner, Number(text));
}
