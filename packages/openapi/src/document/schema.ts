import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';
import { compileSchema, copyJson, isJsonObject } from '@treadle/core/json';

import type { Follow } from './references.ts';

/** Levels of a schema that are told at most. Fewer when that would be too long. */
const MAX_DEPTH = 10;

/** Characters of a description. */
const MAX_DESCRIPTION = 400;

/** Keywords whose values are taken as they are. */
const PLAIN: readonly string[] = [
  'format',
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'const',
  'default',
];

/** Thrown when a schema became too long on the way. */
class TooLong extends Error {}

interface Writing {
  readonly follow: Follow;
  /** Characters that are left, about. */
  left: number;
  /** Whether descriptions are told. */
  readonly described: boolean;
  /** Schemas that are being written: one that comes again inside of itself is cut off. */
  readonly open: Set<JsonObject>;
}

/**
 * A schema of a document as one that stands by itself, for a model's arguments: references put in, what contains itself cut
 * off, what only the server sets (`readOnly`) left out, the words of OpenAPI 3.0 put as JSON Schema has them. It is at
 * most about `maxLength` characters long: deep parts give way to "anything" before that.
 *
 * @throws OpenApiProblem for references that can't be followed.
 */
export type ArgumentSchema = (schema: JsonValue | undefined) => JsonSchema;

/** Writes the schemas of one document. What several operations refer to is written once. */
export function argumentSchemas(follow: Follow, maxLength: number): ArgumentSchema {
  const known = new WeakMap<JsonObject, JsonSchema>();
  return (schema) => {
    if (!isJsonObject(schema)) return {};
    const target = Object.keys(schema).length === 1 ? follow(schema) : schema;
    const before = known.get(target);
    if (before !== undefined) return before;
    const written = checkable(bounded(target, follow, maxLength));
    known.set(target, written);
    return written;
  };
}

/** The whole schema when it is short enough; else as many of its levels as are. */
function bounded(schema: JsonObject, follow: Follow, maxLength: number): JsonObject {
  const attempt = (depth: number, described: boolean): JsonObject | null => {
    try {
      return write(schema, depth, { follow, left: maxLength, described, open: new Set() });
    } catch (error) {
      if (error instanceof TooLong) return null;
      throw error;
    }
  };
  const whole = attempt(MAX_DEPTH, true);
  if (whole) return whole;
  let best: JsonObject = {};
  for (let depth = 1; depth < MAX_DEPTH; depth += 1) {
    const written = attempt(depth, true);
    if (!written) break;
    best = written;
  }
  // Names without words are better than words without names.
  return (best['properties'] === undefined && attempt(1, false)) || best;
}

/** @throws TooLong */
function write(schema: JsonValue | undefined, depth: number, writing: Writing): JsonObject {
  if (schema === undefined || typeof schema === 'boolean') return {};
  const target = writing.follow(schema);
  const own = isJsonObject(schema) && typeof schema['description'] === 'string' ? schema['description'] : undefined;
  const written: Record<string, JsonValue> = {};
  const type = typeOf(target);
  if (type !== undefined) written['type'] = type;
  const description = own ?? target['description'];
  if (writing.described && typeof description === 'string' && description !== '') {
    written['description'] = cut(description, MAX_DESCRIPTION);
  }
  const isAgain = writing.open.has(target);
  if (!isAgain) Object.assign(written, plainKeywords(target));
  spend(writing, JSON.stringify(written).length + 10);
  // What it would hold is not told, and anything of its type passes.
  if (isAgain || depth === 0) return written;
  writing.open.add(target);
  const children = writeChildren(target, depth - 1, writing);
  writing.open.delete(target);
  return { ...written, ...children };
}

function spend(writing: Writing, characters: number): void {
  writing.left -= characters;
  if (writing.left < 0) throw new TooLong();
}

/** The keywords that hold no schemas, as JSON Schema has them. */
function plainKeywords(schema: JsonObject): JsonObject {
  const kept: Record<string, JsonValue> = {};
  for (const key of PLAIN) {
    const value = schema[key];
    if (value !== undefined && isShort(value)) kept[key] = value;
  }
  const { enum: choices, nullable } = schema;
  if (Array.isArray(choices) && choices.length > 0 && isShort(choices)) {
    kept['enum'] = nullable === true && !choices.includes(null) ? [...(choices as JsonValue[]), null] : choices;
  }
  for (const [exclusive, inclusive] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    const value = schema[exclusive];
    if (typeof value === 'number') kept[exclusive] = value;
    else if (value === true && typeof kept[inclusive] === 'number') {
      kept[exclusive] = kept[inclusive];
      delete kept[inclusive];
    }
  }
  return kept;
}

const MAX_VALUE = 4000;

/** Whether a value of a document is short; what refers to itself is not. */
function isShort(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return String(value).length <= MAX_VALUE;
  try {
    return JSON.stringify(value).length <= MAX_VALUE;
  } catch {
    return false;
  }
}

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

function typeOf(schema: JsonObject): JsonValue | undefined {
  const { type, nullable } = schema;
  const types = (Array.isArray(type) ? (type as JsonValue[]) : [type]).filter((each) => TYPES.has(each));
  if (types.length === 0) {
    if (isJsonObject(schema['properties'])) return 'object';
    return schema['items'] === undefined ? undefined : 'array';
  }
  const all = [...new Set(nullable === true ? [...types, 'null'] : types)] as string[];
  return all.length === 1 ? all[0] : all;
}

function writeChildren(schema: JsonObject, depth: number, writing: Writing): JsonObject {
  const { properties, items, additionalProperties } = schema;
  const children = isJsonObject(properties) ? writeProperties(schema, properties, depth, writing) : {};
  if (isJsonObject(items)) children['items'] = write(items, depth, writing);
  if (additionalProperties === false) children['additionalProperties'] = false;
  else if (isJsonObject(additionalProperties))
    children['additionalProperties'] = write(additionalProperties, depth, writing);
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    const list = schema[key];
    if (!Array.isArray(list) || list.length === 0) continue;
    // Cut off, alternatives may look the same: then exactly one would never fit.
    const name = key === 'oneOf' ? 'anyOf' : key;
    children[name] = (list as JsonValue[]).map((each) => write(each, depth, writing));
  }
  if (schema['nullable'] === true && typeOf(schema) === undefined && Array.isArray(children['anyOf'])) {
    children['anyOf'] = [...(children['anyOf'] as JsonValue[]), { type: 'null' }];
  }
  return children;
}

function writeProperties(
  { required }: JsonObject,
  properties: JsonObject,
  depth: number,
  writing: Writing,
): Record<string, JsonValue> {
  const written = new Map<string, JsonValue>();
  for (const [name, property] of Object.entries(properties)) {
    if (typeof property !== 'boolean' && writing.follow(property)['readOnly'] === true) continue;
    written.set(name, write(property, depth, writing));
    spend(writing, name.length + 5);
  }
  const all: JsonValue[] = Array.isArray(required) ? (required as JsonValue[]) : [];
  const names = new Set(all.filter((name) => typeof name === 'string' && written.has(name)));
  // By entries: a property may be called __proto__.
  return { properties: Object.fromEntries(written), ...(names.size > 0 && { required: [...names] }) };
}

/** Keywords that can't be checked here, such as a pattern in the syntax of another language, are left to the server. */
function checkable(schema: JsonObject): JsonSchema {
  let checked = schema;
  for (let round = 0; round < 20; round += 1) {
    const { problems } = compileSchema(checked);
    if (problems.length === 0) return checked;
    const copy = copyJson(checked);
    for (const { path } of problems) removeAt(copy, path);
    checked = copy;
  }
  return typeof schema['type'] === 'string' ? { type: schema['type'] } : {};
}

function removeAt(schema: JsonObject, pointer: string): void {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop();
  let holder: unknown = schema;
  for (const key of keys) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return;
    holder = (holder as Record<string, unknown>)[key];
  }
  if (last !== undefined && typeof holder === 'object' && holder !== null) Reflect.deleteProperty(holder, last);
}

/** A text of a document, on as few lines as it can be, and not longer than `most`. */
export function cut(text: string, most: number): string {
  const plain = text
    .slice(0, 4 * most)
    // oxlint-disable-next-line no-control-regex -- a document's text must not steer a terminal
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
    .trim()
    .toWellFormed();
  return plain.length <= most ? plain : `${plain.slice(0, most).toWellFormed()}…`;
}
