import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';

/** Keywords that mean the same on this wire and are copied. Source: the API's reference of `Schema`. */
const NUMBER_KEYWORDS = ['minItems', 'maxItems', 'minProperties', 'maxProperties', 'minLength', 'maxLength'] as const;

/** The formats the API takes, by type; any other is refused. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

const TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'STRING'],
  ['number', 'NUMBER'],
  ['integer', 'INTEGER'],
  ['boolean', 'BOOLEAN'],
  ['array', 'ARRAY'],
  ['object', 'OBJECT'],
]);

/** The API refuses deeper schemas, and a schema that refers to itself has no end. */
const DEEPEST = 24;

/** Schemas written at most: references to references can multiply without being recursive. */
const MOST = 5000;

/** How often a reference may be inside itself. */
const RECURSION = 1;

type Written = Record<string, JsonValue>;

interface Walk {
  readonly root: JsonSchema;
  depth: number;
  written: number;
  /** The references being written, with how often. */
  readonly inside: Map<string, number>;
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly JsonValue[] => (Array.isArray(value) ? (value as JsonValue[]) : []);

/** What a value of any type is written as: the wire has no word for it. */
const anything = (): Written => ({
  anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }, { type: 'BOOLEAN' }, { type: 'OBJECT' }],
});

/** The schema a local reference points to, or undefined. */
const resolve = (root: JsonSchema, reference: string): JsonSchema | undefined => {
  if (!reference.startsWith('#')) return undefined;
  let here: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const key = safeDecode(step).replace(/~1/g, '/').replace(/~0/g, '~');
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return isSchema(here) ? here : undefined;
};

const safeDecode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** `a` and `b` together, as far as the wire can say it: a schema that demands what both demand. */
const merged = (a: JsonSchema, b: JsonSchema): JsonSchema => {
  const properties = isSchema(a['properties']) && isSchema(b['properties']);
  return {
    ...a,
    ...b,
    ...(properties
      ? { properties: { ...(a['properties'] as JsonObject), ...(b['properties'] as JsonObject) } }
      : undefined),
    ...(a['required'] === undefined && b['required'] === undefined
      ? {}
      : { required: [...new Set([...listOf(a['required']), ...listOf(b['required'])])] }),
  };
};

/** `schema` without references and `allOf`, or undefined where that has no end. `entered` gets the references followed. */
const opened = (schema: JsonSchema, walk: Walk, entered: string[], depth = 0): JsonSchema | undefined => {
  if (depth > DEEPEST || ++walk.written > MOST) return undefined;
  const reference = schema['$ref'];
  let plain = schema;
  if (typeof reference === 'string') {
    const { $ref: _, ...rest } = schema;
    const times = walk.inside.get(reference) ?? 0;
    const target = times > RECURSION ? undefined : resolve(walk.root, reference);
    if (target === undefined) return undefined;
    walk.inside.set(reference, times + 1);
    entered.push(reference);
    const inner = opened(target, walk, entered, depth + 1);
    if (inner === undefined) return undefined;
    plain = merged(inner, rest);
  }
  const { allOf, ...own } = plain;
  let result: JsonSchema = own;
  for (const part of listOf(allOf)) {
    const inner = isSchema(part) ? opened(part, walk, entered, depth + 1) : undefined;
    if (inner !== undefined) result = merged(result, inner);
  }
  return result;
};

const typesOf = (schema: JsonSchema): readonly string[] => {
  const { type } = schema;
  if (typeof type === 'string') return [type.toLowerCase()];
  const several = listOf(type).flatMap((word) => (typeof word === 'string' ? [word.toLowerCase()] : []));
  if (several.length > 0) return [...new Set(several)];
  if (isSchema(schema['properties'])) return ['object'];
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return ['array'];
  const values = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
  const found = values.map((value) =>
    value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'object' ? 'object' : typeof value,
  );
  return [...new Set(found)];
};

const describe = (schema: JsonSchema, written: Written, note?: string): void => {
  const own = typeof schema['description'] === 'string' ? schema['description'] : '';
  const text = note === undefined ? own : own === '' ? note : `${own} ${note}`;
  if (text !== '') written['description'] = text;
  if (typeof schema['title'] === 'string') written['title'] = schema['title'];
};

/** Allowed values: only strings can be listed on this wire, so others are described, and numbers bounded. */
const writeValues = (schema: JsonSchema, written: Written): string | undefined => {
  const values = ('const' in schema ? [schema['const'] ?? null] : listOf(schema['enum'])).filter((v) => v !== null);
  if (values.length === 0) return undefined;
  if (written['type'] === 'STRING') {
    const words = values.filter((value) => typeof value === 'string');
    // The wire refuses an empty word.
    if (words.length > 0 && !words.includes('')) {
      written['enum'] = [...new Set(words)];
      written['format'] = 'enum';
      return undefined;
    }
  }
  if (written['type'] === 'NUMBER' || written['type'] === 'INTEGER') {
    const numbers = values.filter((value) => typeof value === 'number');
    if (numbers.length > 0) {
      written['minimum'] = Math.min(...numbers);
      written['maximum'] = Math.max(...numbers);
    }
  }
  return `One of: ${values.map((value) => JSON.stringify(value)).join(', ')}.`;
};

const writeNumbers = (schema: JsonSchema, written: Written): void => {
  const { type } = written;
  if (type !== 'NUMBER' && type !== 'INTEGER') return;
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  const step = type === 'INTEGER' ? 1 : 0;
  const lowest = typeof above === 'number' ? above + step : minimum;
  const highest = typeof below === 'number' ? below - step : maximum;
  if (typeof lowest === 'number') written['minimum'] = lowest;
  if (typeof highest === 'number') written['maximum'] = highest;
};

const writeObject = (schema: JsonSchema, written: Written, walk: Walk): void => {
  if (!isSchema(schema['properties'])) return;
  const properties: [string, JsonValue][] = [];
  for (const [name, property] of Object.entries(schema['properties'])) {
    // `false` allows nothing there.
    if (property === false || property === undefined) continue;
    properties.push([name, writeSchema(property, walk)]);
  }
  if (properties.length === 0) return;
  // Not by assignment: a property may be called `__proto__`.
  written['properties'] = Object.fromEntries(properties);
  const names = new Set(properties.map(([name]) => name));
  const required = [...new Set(listOf(schema['required']))].filter((n) => typeof n === 'string' && names.has(n));
  if (required.length > 0) written['required'] = required;
};

const writeItems = (schema: JsonSchema, written: Written, walk: Walk): void => {
  const tuple = [...listOf(schema['prefixItems']), ...listOf(schema['items'])];
  if (tuple.length > 0) {
    const forms = tuple.map((item) => writeSchema(item, walk));
    written['items'] = forms.length === 1 && forms[0] !== undefined ? forms[0] : { anyOf: forms };
  } else written['items'] = writeSchema(schema['items'] ?? true, walk);
};

const writeTyped = (schema: JsonSchema, type: string, walk: Walk): Written => {
  const written: Written = { type };
  const { format, pattern } = schema;
  if (typeof format === 'string' && FORMATS[type]?.includes(format) === true) written['format'] = format;
  if (type === 'STRING' && typeof pattern === 'string') written['pattern'] = pattern;
  for (const keyword of NUMBER_KEYWORDS) {
    const value = schema[keyword];
    if (typeof value === 'number') written[keyword] = value;
  }
  writeNumbers(schema, written);
  const note = writeValues(schema, written);
  if (type === 'OBJECT') writeObject(schema, written, walk);
  if (type === 'ARRAY') writeItems(schema, written, walk);
  describe(schema, written, note);
  return written;
};

/** Whether a schema allows `null` and nothing else. */
const isNull = (schema: JsonValue): boolean =>
  isSchema(schema) && (schema['type'] === 'null' || ('const' in schema && schema['const'] === null));

const writePlain = (schema: JsonSchema, walk: Walk): Written => {
  const forms = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])];
  const types = typesOf(schema);
  const nullable =
    schema['nullable'] === true || types.includes('null') || forms.some((form) => isNull(form)) ? true : undefined;
  const known = types.flatMap((word) => TYPES.get(word) ?? []);
  let written: Written;
  const others = forms.filter((form) => !isNull(form) && form !== false);
  if (others.length > 0 && !isSchema(schema['properties'])) {
    const made = others.map((form) => writeSchema(form, walk));
    written = made.length === 1 && made[0] !== undefined ? { ...made[0] } : { anyOf: made };
    describe(schema, written);
  } else if (known.length === 1 && known[0] !== undefined) {
    written = writeTyped(schema, known[0], walk);
  } else if (known.length > 1) {
    const { description: _description, title: _title, ...rest } = schema;
    written = { anyOf: known.map((type) => writeTyped(withValuesOf(rest, type), type, walk)) };
    describe(schema, written);
  } else {
    written = types.includes('null') ? { type: 'STRING' } : anything();
    describe(schema, written);
  }
  if (nullable === true) written['nullable'] = true;
  return written;
};

/** Of the values a schema lists, those of one type. */
const withValuesOf = (schema: JsonSchema, type: string): JsonSchema => {
  if (!Array.isArray(schema['enum'])) return schema;
  const word = type === 'INTEGER' ? 'number' : type.toLowerCase();
  return { ...schema, enum: listOf(schema['enum']).filter((value) => typeof value === word) };
};

const writeSchema = (schema: JsonValue, walk: Walk): Written => {
  if (!isSchema(schema)) return anything();
  if (walk.depth >= DEEPEST || walk.written >= MOST) return stub(schema, walk);
  walk.depth++;
  const entered: string[] = [];
  const plain = opened(schema, walk, entered);
  const written = plain === undefined ? stub(schema, walk) : writePlain(plain, walk);
  for (const reference of entered) walk.inside.set(reference, (walk.inside.get(reference) ?? 1) - 1);
  walk.depth--;
  return written;
};

/** In place of what goes too deep, or leads nowhere: its type and its description. */
const stub = (schema: JsonSchema, walk: Walk): Written => {
  const reference = schema['$ref'];
  const target = typeof reference === 'string' ? resolve(walk.root, reference) : undefined;
  const shown = target === undefined ? schema : merged(target, schema);
  const [type] = typesOf(shown).flatMap((word) => TYPES.get(word) ?? []);
  const written: Written = type === undefined ? anything() : { type };
  if (type === 'ARRAY') written['items'] = anything();
  describe(shown, written);
  return written;
};

/**
 * A JSON Schema in the words of this wire's own subset of OpenAPI. What the wire can't say is left out or put into the
 * description, so the result may allow more than the schema does: references are written out, a few levels deep where they
 * are recursive; `const` becomes `enum`; a list of types becomes `nullable` or `anyOf`; `allOf` is merged.
 */
export function geminiSchema(schema: JsonSchema): JsonObject {
  return writeSchema(schema, { root: schema, depth: 0, written: 0, inside: new Map() });
}

/** Whether a tool's schema asks for nothing: the wire refuses parameters without properties. */
export function hasNoParameters(schema: JsonSchema): boolean {
  return (
    isSchema(schema['properties'] ?? {}) &&
    Object.keys((schema['properties'] as JsonObject | undefined) ?? {}).length === 0 &&
    ['$ref', 'allOf', 'anyOf', 'oneOf'].every((keyword) => schema[keyword] === undefined)
  );
}
