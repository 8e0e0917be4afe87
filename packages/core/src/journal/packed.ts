import type { JsonValue } from '../json.ts';

/**
 * JSON values as one text that takes little more room than the texts in them. Most values of a log have one of a few
 * shapes: the shape is kept once for the whole process, and of each value what differs.
 */
export interface Packed {
  readonly text: string;
  /** Texts with characters that take an engine two bytes: among the others they would double the room of all of them. */
  readonly apart: readonly string[];
}

/** What all values of a shape have in common. A leaf is what differs, a time the difference to the time before. */
type Shape =
  | { readonly type: 'leaf' | 'free' | 'apart' | 'time' | 'rows' }
  | { readonly type: 'constant'; readonly value: string | boolean | null }
  | { readonly type: 'array'; readonly items: readonly Shape[] }
  | { readonly type: 'object'; readonly fields: readonly (readonly [string, Shape])[] };

/** Texts of these fields are one of few, and belong to the shape. */
const CONSTANT_FIELDS: ReadonlySet<string> = new Set(
  'type role origin kind provider model stopReason rawStopReason end reason trigger runs replay toolName mediaType'.split(
    ' ',
  ),
);
const LONGEST_CONSTANT = 64;
/** What tools and applications make: no two may be alike, and their forms are no part of a shape. */
const FREE_FIELDS: ReadonlySet<string> = new Set('arguments details metadata decision data opaque partial'.split(' '));
/** Arrays up to this length belong to the shape; the objects of longer ones have shapes of their own. */
const LONGEST_ARRAY = 3;
/** A value whose shape is longer, or has no more room, is kept as it is. */
const LONGEST_SHAPE = 1500;
const MOST_SHAPES = 1000;
/** Milliseconds from which on a number is a time. */
const FIRST_TIME = 1e11;
const AS_IT_IS = -1;

const known = new Map<string, number>();
const shapes: Shape[] = [];

/** Something that JSON would not give back as it is. */
const NOT_EXACT = new Error('JSON would not give this back as it is.');

const TWO_BYTES = /[\u0100-\uffff]/;

interface Writing {
  time: number;
  readonly apart: string[];
  /** The shapes of the last values, the latest first: the next is nearly always one of them, and to see that is cheap. */
  readonly recent: number[];
}

const MOST_RECENT = 8;

/** Null when there is a value among them that would not come back as it is. */
export function packed(values: readonly unknown[]): Packed | null {
  const writing: Writing = { time: 0, apart: [], recent: [] };
  try {
    const text = JSON.stringify(values.map((value) => rowOf(value, writing)));
    return { text, apart: writing.apart };
  } catch (error) {
    if (error === NOT_EXACT) return null;
    throw error;
  }
}

export function unpacked({ text, apart }: Packed): JsonValue[] {
  const rows = JSON.parse(text) as JsonValue[][];
  const reading: Reading = { row: [], at: 0, time: 0, apart, taken: 0 };
  return rows.map((row) => valueOf(row, reading));
}

/** The number of its shape, and what is its own; or the value as it is. */
function rowOf(value: unknown, writing: Writing): JsonValue[] {
  const row: JsonValue[] = [AS_IT_IS];
  const { apart, recent } = writing;
  const { time } = writing;
  const { length } = apart;
  const forget = (): void => {
    row.length = 1;
    apart.length = length;
    writing.time = time;
  };
  for (let at = 0; at < recent.length; at++) {
    const number = recent[at] ?? AS_IT_IS;
    const shape = shapes[number];
    if (shape !== undefined && fits(shape, value, row, writing)) {
      if (at > 0) recent.unshift(...recent.splice(at, 1));
      row[0] = number;
      return row;
    }
    forget();
  }
  const signature = walk(value, '', row, writing);
  let number = known.get(signature);
  if (number === undefined && known.size < MOST_SHAPES && signature.length <= LONGEST_SHAPE) {
    number = shapes.push(shapeOf(value, '')) - 1;
    known.set(signature, number);
  }
  if (number !== undefined) {
    recent.unshift(number);
    if (recent.length > MOST_RECENT) recent.pop();
    row[0] = number;
    return row;
  }
  forget();
  return [AS_IT_IS, value as JsonValue];
}

const isTime = (value: number): boolean => value >= FIRST_TIME && Number.isSafeInteger(value);

const isConstant = (key: string, value: string): boolean =>
  value.length <= LONGEST_CONSTANT && CONSTANT_FIELDS.has(key);

const hasRows = (value: readonly unknown[]): boolean => value.length > LONGEST_ARRAY;

/** Puts what is the value's own into the row, as long as it is of the shape; false when it isn't. */
function fits(shape: Shape, value: unknown, row: JsonValue[], writing: Writing): boolean {
  switch (shape.type) {
    case 'constant':
      return value === shape.value;
    case 'leaf':
      if (typeof value === 'string' ? TWO_BYTES.test(value) : !isExactNumber(value) || isTime(value)) return false;
      row.push(value as string | number);
      return true;
    case 'free':
      if (typeof value !== 'object' || value === null) return false;
      row.push(exact(value));
      return true;
    case 'apart':
      if (typeof value !== 'string' || !TWO_BYTES.test(value)) return false;
      writing.apart.push(value);
      return true;
    case 'time':
      if (!isExactNumber(value) || !isTime(value)) return false;
      row.push(value - writing.time);
      writing.time = value;
      return true;
    case 'rows':
      if (!Array.isArray(value) || !hasRows(value)) return false;
      row.push(rowsOf(value, writing));
      return true;
    case 'array': {
      const { items } = shape;
      if (!Array.isArray(value) || value.length !== items.length) return false;
      for (let at = 0; at < items.length; at++) {
        const item = items[at];
        if (item === undefined || !fits(item, value[at], row, writing)) return false;
      }
      return true;
    }
    case 'object': {
      if (!isPlain(value)) return false;
      const { fields } = shape;
      let at = 0;
      for (const key in value) {
        const field = fields[at++];
        if (field === undefined || field[0] !== key || !fits(field[1], value[key], row, writing)) return false;
      }
      return at === fields.length;
    }
  }
}

const isExactNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0);

/** The value, if JSON gives it back as it is. */
function exact(value: unknown): JsonValue {
  if (typeof value === 'number' ? !isExactNumber(value) : typeof value !== 'object') {
    if (typeof value !== 'string' && typeof value !== 'boolean') throw NOT_EXACT;
  } else if (Array.isArray(value)) for (const item of value) exact(item);
  else if (typeof value === 'object' && value !== null) {
    if (!isPlain(value)) throw NOT_EXACT;
    for (const field of Object.keys(value)) {
      // A field of that name would be lost.
      if (field === '__proto__') throw NOT_EXACT;
      exact(value[field]);
    }
  }
  return value as JsonValue;
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function rowsOf(values: readonly unknown[], writing: Writing): JsonValue[] {
  const rows: JsonValue[] = [];
  for (const value of values) rows.push(rowOf(value, writing));
  return rows;
}

/** Puts what is the value's own into the row, and returns what it has in common with others of its shape. */
function walk(value: unknown, key: string, row: JsonValue[], writing: Writing): string {
  if (typeof value === 'string') {
    if (isConstant(key, value)) return JSON.stringify(value);
    const isApart = TWO_BYTES.test(value);
    (isApart ? writing.apart : row).push(value);
    return isApart ? 'a' : 's';
  }
  if (typeof value === 'number') {
    if (!isExactNumber(value)) throw NOT_EXACT;
    if (!isTime(value)) {
      row.push(value);
      return 's';
    }
    row.push(value - writing.time);
    writing.time = value;
    return 'd';
  }
  if (value === null) return 'n';
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (FREE_FIELDS.has(key)) {
    row.push(exact(value));
    return 'o';
  }
  if (Array.isArray(value)) return walkArray(value, key, row, writing);
  if (!isPlain(value)) throw NOT_EXACT;
  let signature = '{';
  for (const field of Object.keys(value)) {
    if (field === '__proto__') throw NOT_EXACT;
    signature += JSON.stringify(field) + walk(value[field], field, row, writing);
  }
  return `${signature}}`;
}

function walkArray(value: readonly unknown[], key: string, row: JsonValue[], writing: Writing): string {
  if (hasRows(value)) {
    row.push(rowsOf(value, writing));
    return 'r';
  }
  let signature = '[';
  for (const item of value) signature += walk(item, key, row, writing);
  return `${signature}]`;
}

/** The shape of a value that `walk` has been through. */
function shapeOf(value: unknown, key: string): Shape {
  if (typeof value === 'string') {
    if (isConstant(key, value)) return { type: 'constant', value };
    return { type: TWO_BYTES.test(value) ? 'apart' : 'leaf' };
  }
  if (typeof value === 'number') return { type: isTime(value) ? 'time' : 'leaf' };
  if (typeof value === 'boolean' || value === null) return { type: 'constant', value };
  if (FREE_FIELDS.has(key)) return { type: 'free' };
  if (Array.isArray(value)) {
    if (hasRows(value)) return { type: 'rows' };
    return { type: 'array', items: value.map((item: unknown) => shapeOf(item, key)) };
  }
  const fields = Object.entries(value as object).map(([field, part]): [string, Shape] => [field, shapeOf(part, field)]);
  return { type: 'object', fields };
}

interface Reading {
  row: readonly JsonValue[];
  at: number;
  time: number;
  readonly apart: readonly string[];
  /** How many of those that are apart have been read. */
  taken: number;
}

function valueOf(row: readonly JsonValue[], reading: Reading): JsonValue {
  const number = row[0] as number;
  const shape = shapes[number];
  if (shape === undefined) return row[1] ?? null;
  const { row: outer, at } = reading;
  reading.row = row;
  reading.at = 1;
  const value = read(shape, reading);
  reading.row = outer;
  reading.at = at;
  return value;
}

function read(shape: Shape, reading: Reading): JsonValue {
  switch (shape.type) {
    case 'leaf':
    case 'free':
      return reading.row[reading.at++] ?? null;
    case 'apart':
      return reading.apart[reading.taken++] ?? '';
    case 'time':
      return (reading.time += reading.row[reading.at++] as number);
    case 'constant':
      return shape.value;
    case 'rows':
      return (reading.row[reading.at++] as JsonValue[][]).map((row) => valueOf(row, reading));
    case 'array':
      return shape.items.map((item) => read(item, reading));
    case 'object': {
      const value: Record<string, JsonValue> = {};
      for (const [field, part] of shape.fields) value[field] = read(part, reading);
      return value;
    }
  }
}
