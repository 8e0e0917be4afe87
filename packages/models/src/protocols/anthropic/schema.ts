import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

// What the API's grammar takes of JSON Schema. Source: its guide on structured outputs.

const KEPT: ReadonlySet<string> = new Set(['title', 'description', 'default', 'enum', 'const', '$ref']);

/** Keywords that are left out because other keywords, or this code, say the same. */
const REWRITTEN: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  'examples',
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
  'oneOf',
  '$defs',
  'definitions',
  'nullable',
]);

/** Keywords that narrow a value. The grammar doesn't know them, so the model is told in words. */
const TOLD: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]);

const FORMATS: ReadonlySet<JsonValue | undefined> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Thrown nowhere else and caught below: the schema can't be said. */
class Unsayable extends Error {}

const entriesOf = (value: JsonValue | undefined): [string, JsonValue][] =>
  isJsonObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, inner]]))
    : [];

const isKnownToGrammar = (keyword: string, value: JsonValue | undefined): boolean =>
  keyword === 'format' ? FORMATS.has(value) : keyword === 'minItems' && (value === 0 || value === 1);

/** The description with the checks that the grammar can't make. */
const description = (schema: JsonObject): JsonObject => {
  const told = entriesOf(schema).filter(([keyword, value]) => TOLD.has(keyword) && !isKnownToGrammar(keyword, value));
  if (told.length === 0) return {};
  const words = `(${told.map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`).join(', ')})`;
  return { description: typeof schema['description'] === 'string' ? `${schema['description']} ${words}` : words };
};

const convertObject = (schema: JsonObject): JsonObject => {
  const properties = entriesOf(schema['properties']);
  const { additionalProperties: others, required } = schema;
  // To take fewer properties than it may is no mistake of a reply, but an object of nothing but others would be empty.
  if (isJsonObject(others) || (properties.length === 0 && others !== false)) throw new Unsayable();
  return {
    properties: Object.fromEntries(properties.map(([name, inner]) => [name, convert(inner)])),
    ...(Array.isArray(required) ? { required } : {}),
    additionalProperties: false,
  };
};

const convertType = (schema: JsonObject, type: JsonValue): JsonObject => ({
  type,
  ...(type === 'object' ? convertObject(schema) : {}),
  ...(type === 'array' ? { items: convert(schema['items']) } : {}),
  ...(type === 'array' && isKnownToGrammar('minItems', schema['minItems']) ? { minItems: schema['minItems'] } : {}),
  ...(type === 'string' && FORMATS.has(schema['format']) ? { format: schema['format'] } : {}),
});

const shapeOf = (schema: JsonObject): JsonObject => {
  const { type, enum: choices, const: constant, $ref } = schema;
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(branches)) return { anyOf: (branches as readonly JsonValue[]).map((branch) => convert(branch)) };
  // Lists of types are no part of the grammar; a list of values says it all without them.
  if (Array.isArray(type)) {
    const types = type as readonly JsonValue[];
    return choices === undefined ? { anyOf: types.map((one) => convertType(schema, one)) } : {};
  }
  if (type !== undefined) return convertType(schema, type);
  if (choices === undefined && constant === undefined && $ref === undefined) throw new Unsayable();
  return {};
};

function convert(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Unsayable();
  for (const keyword of Object.keys(value)) {
    if (!KEPT.has(keyword) && !REWRITTEN.has(keyword) && !TOLD.has(keyword)) throw new Unsayable();
  }
  const converted = {
    ...Object.fromEntries(entriesOf(value).filter(([keyword]) => KEPT.has(keyword))),
    ...description(value),
    ...shapeOf(value),
    ...definitions(value, '$defs'),
    ...definitions(value, 'definitions'),
  };
  return value['nullable'] === true ? { anyOf: [converted, { type: 'null' }] } : converted;
}

const definitions = (schema: JsonObject, keyword: '$defs' | 'definitions'): JsonObject => {
  const found = entriesOf(schema[keyword]);
  if (found.length === 0) return {};
  return { [keyword]: Object.fromEntries(found.map(([name, inner]) => [name, convert(inner)])) };
};

/** Throws for a reference that leaves the schema, has no target, or leads back to itself, which no grammar can hold. */
const checkReferences = (value: JsonValue | undefined, root: JsonObject, path: ReadonlySet<string>): void => {
  if (Array.isArray(value)) for (const inner of value as readonly JsonValue[]) checkReferences(inner, root, path);
  if (!isJsonObject(value)) return;
  const { $ref } = value;
  if (typeof $ref === 'string') {
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref) ?? [];
    const group = root[keyword];
    const target = isJsonObject(group) ? group[name] : undefined;
    if (target === undefined || path.has($ref)) throw new Unsayable();
    checkReferences(target, root, new Set([...path, $ref]));
  }
  for (const [keyword, inner] of Object.entries(value)) {
    if (keyword !== '$defs' && keyword !== 'definitions') checkReferences(inner, root, path);
  }
};

/**
 * A schema of replies in the part of JSON Schema that the API guarantees: objects are closed, and checks it doesn't know
 * are told to the model in the description. Undefined for what it can't say, such as maps, recursion or conditions.
 */
export function anthropicSchema(schema: JsonSchema): JsonSchema | undefined {
  try {
    checkReferences(schema, schema, new Set());
    return convert(schema);
  } catch (error) {
    if (error instanceof Unsayable) return undefined;
    throw error;
  }
}
