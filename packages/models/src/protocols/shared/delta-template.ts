import { parseJson } from '@treadle/core';
import { parseObject } from './json-text.ts';

/** Fields that differ from one event to the next and say nothing new; each by its name, wherever in the event it is. */
export interface ChangingFields {
  /** Names of fields that hold a string: padding, the time. */
  readonly strings?: readonly string[];
  /** Names of fields that hold a count: a running number, tokens so far. */
  readonly counts?: readonly string[];
}

/** Recognises events that repeat the one before in everything but one text, and in fields that say nothing. */
export interface DeltaTemplate {
  /** Handles `data` if it has the learned form; false when it must be parsed. */
  apply(data: string): boolean;
  /**
   * Learns the form of an event whose only effect was to add `piece`.
   *
   * @param read The text at the piece's place in an event, for checking that the place was found.
   * @param add What the piece was added with.
   */
  learn(data: string, piece: string, read: (data: string) => unknown, add: (piece: string) => void): void;
  /**
   * Whether a form is worth learning now: not in the first events of a response, for a lesson costs more than parsing
   * the few that a short one has, and not once every event turned out to be different.
   */
  isLearning(): boolean;
  /** What the last form was added to is over. */
  forget(): void;
}

/** Events of a response that are parsed before the first lesson. */
const PATIENCE = 8;

/** Forms learned per response. A server whose events all differ costs this many attempts and no more. */
const LESSONS = 12;

/** In place of the piece, when a form is checked. Nothing in it is escaped in JSON. */
const MARKER = 'treadle-marks-the-place';

/** What an event has, in place of something fixed: its piece, a string or a count. */
type Hole = 'piece' | 'string' | 'count';

interface Place {
  readonly start: number;
  readonly end: number;
  readonly hole: Hole;
}

/** The texts around the holes of an event: one more than there are holes. */
interface Form {
  readonly texts: readonly string[];
  readonly holes: readonly Hole[];
}

const QUOTE = 34;
const BACKSLASH = 92;
const ZERO = 48;
const NINE = 57;

/** What can't stand in a JSON string as it is. */
const ESCAPED = /["\\\p{Cc}]/u;

const unescaped = (json: string): string | undefined => {
  try {
    return parseJson(`"${json}"`) as string;
  } catch {
    return undefined;
  }
};

/** Where the string ends that has begun before `from`: the place of its closing quote, or -1. */
const endOfString = (data: string, from: number): number => {
  for (let end = data.indexOf('"', from); end !== -1; end = data.indexOf('"', end + 1)) {
    let slashes = end;
    while (slashes > from && data.charCodeAt(slashes - 1) === BACKSLASH) slashes--;
    if ((end - slashes) % 2 === 0) return end;
  }
  return -1;
};

/** Where the count ends that begins at `from`; `from` itself when there is none. */
const endOfCount = (data: string, from: number): number => {
  let end = from;
  for (let code = data.charCodeAt(end); code >= ZERO && code <= NINE; code = data.charCodeAt(++end));
  return end - from > 1 && data.charCodeAt(from) === ZERO ? from : end;
};

/** The places of all values of a field. */
const placesOf = (data: string, name: string, hole: 'string' | 'count'): Place[] => {
  const places: Place[] = [];
  const key = `${JSON.stringify(name)}:`;
  for (let at = data.indexOf(key); at !== -1; at = data.indexOf(key, at + 1)) {
    let start = at + key.length;
    if (data[start] === ' ') start++;
    if (hole === 'string' && data.charCodeAt(start++) !== QUOTE) continue;
    const end = hole === 'string' ? endOfString(data, start) : endOfCount(data, start);
    if (end > start || (hole === 'string' && end !== -1)) places.push({ start, end, hole });
  }
  return places;
};

interface Template extends Required<ChangingFields> {
  form: Form | undefined;
  /** Events that were left to be parsed. */
  parsed: number;
  lessons: number;
  add: ((piece: string) => void) | undefined;
}

/** The event without what changes, to compare two of them; undefined when it isn't one. */
const essence = (data: string, changing: ReadonlySet<string>): string | undefined =>
  JSON.stringify(parseObject(data), (key, value: unknown) => (changing.has(key) ? 0 : value));

const formOf = (
  data: string,
  piece: string,
  read: (data: string) => unknown,
  { strings, counts }: Required<ChangingFields>,
): Form | undefined => {
  const json = JSON.stringify(piece);
  const at = data.lastIndexOf(json);
  if (at === -1) return undefined;
  const places = [
    { start: at + 1, end: at + json.length - 1, hole: 'piece' as const },
    ...strings.flatMap((name) => placesOf(data, name, 'string')),
    ...counts.flatMap((name) => placesOf(data, name, 'count')),
  ].sort((a, b) => a.start - b.start);
  const texts: string[] = [];
  let proof = '';
  let from = 0;
  for (const { start, end, hole } of places) {
    if (start < from) return undefined;
    texts.push(data.slice(from, start));
    proof += data.slice(from, start) + (hole === 'piece' ? MARKER : hole === 'count' ? '7' : 'padding');
    from = end;
  }
  texts.push(data.slice(from));
  proof += data.slice(from);
  // The same words may stand elsewhere in the event: only with the right places does the proof say what was put in.
  const changing = new Set([...strings, ...counts]);
  const proven = essence(proof, changing)?.replace(`"${MARKER}"`, () => json);
  if (proven === undefined || proven !== essence(data, changing) || read(proof) !== MARKER) return undefined;
  return { texts, holes: places.map(({ hole }) => hole) };
};

/** The piece of an event of the form, as JSON without its quotes. */
const pieceIn = (data: string, { texts, holes }: Form): string | undefined => {
  const last = texts[holes.length] ?? '';
  const end = data.length - last.length;
  // Comparing slices compares memory; `startsWith` and `endsWith` go character by character and cost ten times that.
  if (end < 0 || data.slice(end) !== last) return undefined;
  let piece: string | undefined;
  let position = 0;
  for (let index = 0; index < holes.length; index++) {
    const text = texts[index] ?? '';
    const start = position + text.length;
    if (start > end || data.slice(position, start) !== text) return undefined;
    const hole = holes[index];
    const isLast = index === holes.length - 1;
    // What comes last ends where the rest begins: it needn't be looked for.
    position = hole === 'count' ? endOfCount(data, start) : isLast ? end : endOfString(data, start);
    if (position < start || position > end || (hole === 'count' && position === start)) return undefined;
    const value = hole === 'count' ? '' : data.slice(start, position);
    if (hole === 'piece') piece = value;
    else if (hole === 'string' && ESCAPED.test(value)) return undefined;
  }
  return position === end ? piece : undefined;
};

/**
 * Most events of a stream are the same JSON with another piece of text in it, and with padding, the time or a count that
 * says nothing new. Once an event has been parsed, the texts around those are kept; an event that has the same texts in
 * the same order differs from it in nothing else, so its piece alone is read. That is a fraction of the cost of parsing
 * the event.
 *
 * It is exact: a string that has no quote or backslash is its own JSON, and any other piece is given to `JSON.parse`,
 * which refuses it if a quote in it ends the string early. A padding that isn't its own JSON leaves the event to be parsed.
 */
export function createDeltaTemplate({ strings = [], counts = [] }: ChangingFields = {}): DeltaTemplate {
  return new LearnedTemplate({ strings, counts, form: undefined, parsed: 0, lessons: LESSONS, add: undefined });
}

/** A class, because every response has a template and most are too short to need it: closures would be made for nothing. */
class LearnedTemplate implements DeltaTemplate {
  readonly #template: Template;

  constructor(template: Template) {
    this.#template = template;
  }
  apply(data: string): boolean {
    const { form, add } = this.#template;
    if (form === undefined || add === undefined) {
      this.#template.parsed++;
      return false;
    }
    const json = pieceIn(data, form);
    const piece = json !== undefined && ESCAPED.test(json) ? unescaped(json) : json;
    if (piece === undefined) return false;
    add(piece);
    return true;
  }
  learn(data: string, piece: string, read: (data: string) => unknown, add: (piece: string) => void): void {
    const template = this.#template;
    if (template.lessons <= 0) return;
    template.lessons--;
    template.form = formOf(data, piece, read, template);
    template.add = add;
  }
  isLearning(): boolean {
    return this.#template.lessons > 0 && this.#template.parsed > PATIENCE;
  }
  forget(): void {
    this.#template.form = undefined;
  }
}
