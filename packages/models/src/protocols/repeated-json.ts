import { endOfCount, endOfString, ESCAPED, unescaped } from './json-places.ts';
import { parseObject } from './json-text.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What is known beforehand of objects that repeat one another. */
export interface RepeatedFields {
  /** Names of fields whose strings differ from one text to the next, wherever in it they are. */
  readonly strings: readonly string[];
  /** Names of fields whose strings differ and say nothing: an object that is used again keeps what it had there. */
  readonly padding: readonly string[];
  /** Names of the fields that may hold an object or a list: those of which the reader keeps no part. */
  readonly containers: readonly string[];
}

/** Reads objects from texts that repeat one another. */
export interface RepeatedJson {
  /**
   * What `JSON.parse` makes of `text`, but for padding; undefined when that is no object. The next call may write over it,
   * unless it has a container of a name that wasn't given.
   */
  read(text: string): Fields | undefined;
}

/** A value that differs from one text to the next. */
interface Slot {
  readonly kind: 'string' | 'padding' | 'count';
  /** What it was last. */
  value: string | number;
  /** Whether the last string was its own JSON. */
  plain: boolean;
}

/** The texts around slots: one more than there are slots. */
interface Pattern {
  readonly texts: readonly string[];
  readonly slots: readonly Slot[];
}

/** What texts begin with, up to their first list or object. It is the same in all texts of one response. */
interface Head extends Pattern {
  /** The last text of it, and how many there were before that one. */
  text: string;
  version: number;
}

/** Where in an object a value belongs. */
interface Place {
  readonly container: Record<string, unknown>;
  readonly key: string;
}

/** A form of texts: what follows its head, and the object that is written into. */
interface Form extends Pattern {
  readonly head: Head;
  readonly object: Fields;
  /** Of the head's slots, and of its own. */
  readonly headPlaces: readonly Place[];
  readonly places: readonly Place[];
  /** The version of the head that is in the object. */
  version: number;
}

interface Reader {
  readonly kinds: ReadonlyMap<string, Slot['kind']>;
  readonly containers: ReadonlySet<string>;
  heads: Head[];
  forms: Form[];
  /** The form that fitted last is tried first, for its neighbours are likely to follow. */
  latest: number;
  /** What may still be spent on lessons, in texts that fit a form. */
  credit: number;
  /** Texts that are only parsed, after too many lessons for nothing. */
  pause: number;
}

/** Forms that are kept: a few of each of the models that are in use at a time. */
const FORMS = 24;
/** The longest text that a form is made of, and the most that may differ in it. */
const LONGEST = 4096;
const SLOTS = 32;
/** A lesson costs what so many texts save that fit a form. */
const LESSON = 16;
const CREDIT = 64 * LESSON;
const PAUSE = 4096;

/** A string, a number, or the beginning of a list or an object. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[{]/g;
/** What counts are: whole numbers of so few digits that all of them are exact. */
const COUNT = /^(?:0|[1-9]\d{0,14})$/;
const COUNT_DIGITS = 15;
const ZERO = 48;
/** In place of strings and counts, when a form is made. */
const STRING_MARKER = 'treadle-marks-the-place-';
const COUNT_MARKER = 700_000_000_000_000;

const holdCount = (slot: Slot, text: string, start: number): number => {
  const end = endOfCount(text, start);
  if (end === start || end - start > COUNT_DIGITS) return -1;
  let count = 0;
  for (let at = start; at < end; at++) count = 10 * count + text.charCodeAt(at) - ZERO;
  slot.value = count;
  return end;
};

const holdString = (slot: Slot, text: string, start: number): number => {
  const end = endOfString(text, start);
  if (end === -1) return -1;
  const json = text.slice(start, end);
  if (slot.kind === 'padding') return ESCAPED.test(json) ? -1 : end;
  if (slot.plain && json === slot.value) return end;
  // Parsed, it is a text of its own: a slice would keep all of the text it came in.
  const value = unescaped(json);
  if (value === undefined) return -1;
  slot.value = value;
  slot.plain = value.length === json.length;
  return end;
};

/** Where what has the pattern ends, or -1. Its slots have the values then. */
const match = ({ texts, slots }: Pattern, text: string, from: number): number => {
  let position = from;
  for (let index = 0; index < slots.length; index++) {
    const before = texts[index] ?? '';
    const start = position + before.length;
    const slot = slots[index];
    // Comparing slices compares memory; `startsWith` goes character by character.
    if (slot === undefined || text.slice(position, start) !== before) return -1;
    position = slot.kind === 'count' ? holdCount(slot, text, start) : holdString(slot, text, start);
    if (position === -1) return -1;
  }
  const last = texts[slots.length] ?? '';
  const end = position + last.length;
  return text.slice(position, end) === last ? end : -1;
};

const matchHead = (head: Head, text: string): number => {
  const { length } = head.text;
  if (length > 0 && text.slice(0, length) === head.text) return length;
  const end = match(head, text, 0);
  if (end === -1) return -1;
  head.text = text.slice(0, end);
  head.version++;
  return end;
};

const write = (slots: readonly Slot[], places: readonly Place[]): void => {
  for (let index = 0; index < slots.length; index++) {
    const slot = slots[index];
    const place = places[index];
    if (slot !== undefined && place !== undefined && slot.kind !== 'padding') place.container[place.key] = slot.value;
  }
};

/** Whether the text, which has the form's head up to `from`, is of the form. If so, its values are in the object. */
const fits = (form: Form, text: string, from: number): boolean => {
  if (match(form, text, from) !== text.length) return false;
  write(form.slots, form.places);
  if (form.version !== form.head.version) {
    write(form.head.slots, form.headPlaces);
    form.version = form.head.version;
  }
  return true;
};

const find = (reader: Reader, text: string): Fields | undefined => {
  const { heads, forms } = reader;
  for (const head of heads) {
    const from = matchHead(head, text);
    if (from === -1) continue;
    let index = reader.latest;
    for (let tried = 0; tried < forms.length; tried++) {
      const form = forms[index];
      if (form?.head === head && fits(form, text, from)) {
        reader.latest = index;
        return form.object;
      }
      index = index + 1 < forms.length ? index + 1 : 0;
    }
  }
  return undefined;
};

/** A text cut into what is fixed and what may differ, and the same text with marks in place of what may. */
interface Cut {
  readonly head: Pattern;
  readonly body: Pattern;
  readonly proof: string;
  readonly markers: readonly unknown[];
}

const cut = (text: string, kinds: Reader['kinds']): Cut | undefined => {
  const head = { texts: [] as string[], slots: [] as Slot[] };
  const body = { texts: [] as string[], slots: [] as Slot[] };
  const markers: unknown[] = [];
  let part = head;
  let proof = '';
  let from = 0;
  let name = '';
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const end = index + token.length;
    const isString = token.startsWith('"');
    if (token === '[' || token === '{') {
      if (index === 0 || part === body) continue;
      part.texts.push(text.slice(from, index));
      proof += text.slice(from, index);
      from = index;
      part = body;
    } else if (isString && text[end] === ':') name = token.slice(1, -1);
    else {
      const kind = isString ? kinds.get(name) : COUNT.test(token) ? 'count' : undefined;
      if (kind === undefined) continue;
      const marker = isString ? `${STRING_MARKER}${markers.length}` : COUNT_MARKER + markers.length;
      const before = text.slice(from, isString ? index + 1 : index);
      part.texts.push(before);
      part.slots.push({ kind, value: '', plain: false });
      proof += `${before}${marker}`;
      markers.push(marker);
      from = isString ? end - 1 : end;
    }
  }
  body.texts.push(text.slice(from));
  return part === head ? undefined : { head, body, proof: proof + text.slice(from), markers };
};

/** Where in the object each marker is; undefined when one isn't, or is twice, or when not all of it may be used again. */
const placesOf = (
  object: Fields,
  markers: readonly unknown[],
  containers: ReadonlySet<string>,
): Place[] | undefined => {
  const wanted = new Set(markers);
  const found = new Map<unknown, Place>();
  const look = (container: Record<string, unknown>): boolean => {
    const isList = Array.isArray(container);
    for (const key in container) {
      const value = container[key];
      if (wanted.has(value)) {
        if (isList || found.has(value)) return false;
        found.set(value, { container, key });
      } else if (typeof value === 'object' && value !== null) {
        if (!isList && !containers.has(key)) return false;
        if (!look(value as Record<string, unknown>)) return false;
      }
    }
    return true;
  };
  if (!look(object) || found.size < markers.length) return undefined;
  return markers.flatMap((marker) => found.get(marker) ?? []);
};

const isSamePattern = (one: Pattern, other: Pattern): boolean =>
  one.texts.length === other.texts.length &&
  one.texts.every((text, index) => text === other.texts[index]) &&
  one.slots.every(({ kind }, index) => kind === other.slots[index]?.kind);

/** Whether the form makes of the text what parsing does. */
const isProven = (form: Form, text: string, kinds: Reader['kinds']): boolean => {
  const from = matchHead(form.head, text);
  if (from === -1 || !fits(form, text, from)) return false;
  const essence = (value: unknown): string =>
    JSON.stringify(value, (key, part: unknown) =>
      kinds.get(key) === 'padding' && typeof part === 'string' ? '' : part,
    );
  return essence(form.object) === essence(parseObject(text));
};

const learn = (reader: Reader, given: string): void => {
  const { kinds, containers } = reader;
  // A text of its own: its parts would keep all of the text it came in.
  const text = JSON.parse(JSON.stringify(given)) as string;
  const pieces = cut(text, kinds);
  if (pieces === undefined || pieces.markers.length > SLOTS) return;
  const object = parseObject(pieces.proof);
  const places = object === undefined ? undefined : placesOf(object, pieces.markers, containers);
  if (object === undefined || places === undefined) return;
  const known = reader.heads.find((head) => isSamePattern(head, pieces.head));
  const head: Head = known ?? { ...pieces.head, text: '', version: 0 };
  const headPlaces = places.slice(0, head.slots.length);
  const form: Form = {
    ...pieces.body,
    head,
    object,
    headPlaces,
    places: places.slice(head.slots.length),
    version: -1,
  };
  if (!isProven(form, text, kinds)) return;
  if (known === undefined) reader.heads.push(head);
  reader.forms.push(form);
  if (reader.forms.length <= FORMS) return;
  reader.forms.shift();
  reader.heads = reader.heads.filter((head) => reader.forms.some((form) => form.head === head));
};

/** Learns from a text that fitted no form, as long as lessons pay. */
const mayLearn = (reader: Reader, text: string): void => {
  if (reader.pause > 0) {
    reader.pause--;
    return;
  }
  reader.credit -= LESSON;
  if (reader.credit > 0) return learn(reader, text);
  reader.forms = [];
  reader.heads = [];
  reader.latest = 0;
  reader.credit = CREDIT;
  reader.pause = PAUSE;
};

/**
 * Most events of a stream have the form of some that came before, in this stream or in another: the same names and signs,
 * with other strings and counts in a few places. For each form an object is parsed once and used again: of a text of that
 * form those strings and counts are read, and written into the object. That is a fraction of the cost of parsing the
 * text, and makes no objects.
 *
 * It is exact: what isn't the same in both texts is a whole string, which `JSON.parse` reads, or a whole number.
 */
export function createRepeatedJson({ strings, padding, containers }: RepeatedFields): RepeatedJson {
  const kinds = new Map<string, Slot['kind']>();
  for (const name of strings) kinds.set(name, 'string');
  for (const name of padding) kinds.set(name, 'padding');
  const lists = new Set(containers);
  const reader: Reader = { kinds, containers: lists, heads: [], forms: [], latest: 0, credit: CREDIT, pause: 0 };
  return {
    read(text) {
      const known = find(reader, text);
      if (known !== undefined) {
        if (reader.credit < CREDIT) reader.credit++;
        return known;
      }
      const object = parseObject(text);
      if (object !== undefined && text.length <= LONGEST) mayLearn(reader, text);
      return object;
    },
  };
}
