import { errorText } from '../errors.ts';
import { MAX_JSON_DEPTH, TOO_DEEP, type JsonValue } from '../json.ts';

/** Values that are read of one result: what is beyond them is counted and left out. */
const MOST_VALUES = 1_000_000;

/** A bigint with more digits takes longer to write than anybody waits. */
const LARGEST_BIGINT = 10n ** 1000n;

/** A value as JSON data. */
export interface PlainData {
  /** Undefined only for `undefined`, and for an object whose `toJSON` returns it. */
  readonly value: JsonValue | undefined;
  /** Characters of all texts in it: a text that is referred to many times counts each time. */
  readonly characters: number;
}

/**
 * Reads any JavaScript value as JSON data. Never throws, always ends, and reads each part once, so that what a getter
 * says later changes nothing. `toJSON` is respected. What JSON has no form for is described in a short text: functions,
 * binary data, an object that contains itself, a part that throws when it is read.
 */
export function plainData(value: unknown): PlainData {
  const reading: Reading = { left: MOST_VALUES, characters: 0, above: new Set() };
  return { value: read(value, reading), characters: reading.characters };
}

interface Reading {
  left: number;
  characters: number;
  /** The objects that the value being read is inside of. */
  readonly above: Set<object>;
}

function read(value: unknown, reading: Reading): JsonValue | undefined {
  reading.left -= 1;
  if (typeof value === 'object' && value !== null) return readObject(value, reading);
  const plain = readPrimitive(value);
  if (typeof plain === 'string') reading.characters += plain.length;
  return plain;
}

function readPrimitive(value: unknown): JsonValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no -0.
      return Number.isFinite(value) ? value + 0 : String(value);
    case 'bigint':
      return -LARGEST_BIGINT < value && value < LARGEST_BIGINT ? String(value) : '[a bigint of over 1,000 digits]';
    case 'symbol':
      return String(value);
    case 'function':
      return '[a function]';
    case 'undefined':
      return undefined;
    default:
      return null;
  }
}

function readObject(value: object, reading: Reading): JsonValue | undefined {
  const { above } = reading;
  if (above.has(value)) return '[an object that contains itself]';
  if (above.size === MAX_JSON_DEPTH) return `[${TOO_DEEP}]`;
  above.add(value);
  try {
    return readParts(value, reading);
  } catch (thrown) {
    return `[could not be read: ${errorText(thrown)}]`;
  } finally {
    above.delete(value);
  }
}

function readParts(value: object, reading: Reading): JsonValue | undefined {
  if (ArrayBuffer.isView(value)) return `[${nameOf(value)} of ${value.byteLength} bytes]`;
  if (value instanceof ArrayBuffer) return `[ArrayBuffer of ${value.byteLength} bytes]`;
  const { toJSON } = value as { readonly toJSON?: unknown };
  const shown: unknown = typeof toJSON === 'function' ? toJSON.call(value, '') : value;
  if (typeof shown !== 'object' || shown === null) return read(shown, reading);
  if (Array.isArray(shown)) return readItems(shown, reading, shown.length);
  // A map is its pairs: its keys may be anything.
  if (shown instanceof Map || shown instanceof Set) return readItems(shown, reading);
  if (shown instanceof Error) return `${shown.name}: ${errorText(shown)}`;
  return readFields(shown, reading);
}

function readItems(items: Iterable<unknown>, reading: Reading, count?: number): JsonValue {
  const all: JsonValue[] = [];
  for (const item of items) {
    if (reading.left <= 0) {
      all.push(count === undefined ? '[more]' : `[${count - all.length} more]`);
      break;
    }
    all.push(read(item, reading) ?? null);
  }
  return all;
}

function readFields(value: object, reading: Reading): JsonValue {
  const keys = Object.keys(value);
  if (keys.length === 0 && nameOf(value) !== 'Object') return `[${nameOf(value)}]`;
  const fields: [string, JsonValue][] = [];
  for (const [index, key] of keys.entries()) {
    if (reading.left <= 0) {
      fields.push(['…', `[${keys.length - index} more]`]);
      break;
    }
    reading.characters += key.length;
    const item = read((value as Readonly<Record<string, unknown>>)[key], reading);
    if (item !== undefined) fields.push([key, item]);
  }
  // Keys are data: `__proto__` must become a field like any other.
  return Object.fromEntries(fields);
}

/** The kind of an object, such as `RegExp` or `Promise`. */
const nameOf = (value: object): string => Object.prototype.toString.call(value).slice('[object '.length, -1);
