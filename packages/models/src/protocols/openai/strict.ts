import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';
import { isJsonObject, parseJson, defined } from '@treadle/core/json';

/** Keywords that strict mode takes over as they are. Source: the guide on structured outputs. */
const KEPT: ReadonlySet<string> = new Set([
  'title',
  'description',
  'pattern',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
]);

/** Keywords that say what strict mode can't, and that a schema doesn't mean the same without. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'dependentSchemas',
  'dependentRequired',
  'prefixItems',
  'contains',
  'definitions',
  '$dynamicRef',
]);

const FORMATS: ReadonlySet<JsonValue | undefined> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Thrown for a part that strict mode doesn't know, and caught below. */
class Unsayable extends Error {}

const typesOf = (schema: JsonObject): readonly JsonValue[] => {
  const { type } = schema;
  if (Array.isArray(type)) return type as readonly JsonValue[];
  return type === undefined ? [] : [type];
};

const allowsNull = (schema: JsonObject): boolean => {
  if (schema['nullable'] === true || schema['const'] === null) return true;
  const { enum: choices, anyOf } = schema;
  if (Array.isArray(choices)) return (choices as readonly JsonValue[]).includes(null);
  if (Array.isArray(anyOf)) return anyOf.some((branch: unknown) => isJsonObject(branch) && allowsNull(branch));
  return typesOf(schema).includes('null');
};

/** A converted schema that takes null besides. */
const nullable = (schema: JsonObject): JsonObject => {
  if (allowsNull(schema)) return schema;
  const { anyOf, enum: choices } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...(anyOf as JsonValue[]), { type: 'null' }] };
  const types = typesOf(schema);
  if (types.length === 0 || schema['const'] !== undefined) return { anyOf: [schema, { type: 'null' }] };
  const withNull = Array.isArray(choices) ? { enum: [...(choices as JsonValue[]), null] } : {};
  return { ...schema, type: [...types, 'null'], ...withNull };
};

function convertObject(schema: JsonObject, isRoot: boolean): JsonObject {
  const { properties, required, additionalProperties } = schema;
  const declared = isJsonObject(properties) ? properties : {};
  const names = Object.keys(declared);
  const demanded: readonly unknown[] = Array.isArray(required) ? (required as unknown[]) : [];
  // An object that takes any property would take none.
  const closed = additionalProperties === undefined ? isRoot || names.length > 0 : additionalProperties === false;
  if (!closed || demanded.some((name) => typeof name !== 'string' || !names.includes(name))) throw new Unsayable();
  const converted = names.map((name) => {
    const inner = convert(declared[name]);
    return [name, demanded.includes(name) ? inner : nullable(inner)] as const;
  });
  return { properties: Object.fromEntries(converted), required: names, additionalProperties: false };
}

function convert(value: JsonValue | undefined, isRoot = false): JsonObject {
  if (!isJsonObject(value) || Object.keys(value).some((keyword) => UNSUPPORTED.has(keyword))) throw new Unsayable();
  const { type, items, anyOf, $ref, $defs, format, enum: choices, const: constant } = value;
  if (typeof $ref === 'string') {
    if ($ref !== '#' && !$ref.startsWith('#/$defs/')) throw new Unsayable();
    return { $ref };
  }
  const branches = Array.isArray(anyOf) ? (anyOf as readonly JsonValue[]) : undefined;
  const types = typesOf(value);
  // A schema that says nothing would take anything.
  if (types.length === 0 && choices === undefined && constant === undefined && !branches) throw new Unsayable();
  const result: JsonObject = {
    ...Object.fromEntries(Object.entries(value).filter(([keyword]) => KEPT.has(keyword))),
    ...defined({ type, enum: choices, const: constant }),
    ...(FORMATS.has(format) ? { format } : {}),
    ...(branches ? { anyOf: branches.map((branch) => convert(branch)) } : {}),
    ...(types.includes('array') ? { items: convert(items) } : {}),
    ...(types.includes('object') ? convertObject(value, isRoot) : {}),
    ...(isJsonObject($defs) ? { $defs: convertEach($defs) } : {}),
  };
  return value['nullable'] === true ? nullable(result) : result;
}

const convertEach = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convert(schema)]));

/**
 * A tool's parameters as strict mode wants them: every property required, those that weren't nullable instead, no
 * others allowed. Checks that strict mode doesn't know, such as `minLength`, are left out; they are made when the call
 * arrives. Undefined where a schema can't be said that way.
 */
export function strictSchema(parameters: JsonSchema): JsonSchema | undefined {
  if (parameters['type'] !== 'object') return undefined;
  try {
    return convert(parameters, true);
  } catch (error) {
    if (error instanceof Unsayable) return undefined;
    throw error;
  }
}

const resolve = (schema: JsonObject, root: JsonObject): JsonObject => {
  const { $ref } = schema;
  if ($ref === '#') return root;
  const definitions = root['$defs'];
  const name = typeof $ref === 'string' ? $ref.replace('#/$defs/', '') : undefined;
  const target = name !== undefined && isJsonObject(definitions) ? definitions[name] : undefined;
  return isJsonObject(target) ? target : schema;
};

const hasAll = (option: JsonValue, value: JsonObject, root: JsonObject): boolean => {
  if (!isJsonObject(option)) return false;
  const { properties } = resolve(option, root);
  return isJsonObject(properties) && Object.keys(value).every((name) => Object.hasOwn(properties, name));
};

function strip(value: JsonValue, declared: JsonValue | undefined, root: JsonObject): JsonValue {
  if (!isJsonObject(declared)) return value;
  const schema = resolve(declared, root);
  if (Array.isArray(value)) return (value as JsonValue[]).map((item) => strip(item, schema['items'], root));
  if (!isJsonObject(value)) return value;
  const { properties, required, anyOf } = schema;
  if (!isJsonObject(properties)) {
    if (!Array.isArray(anyOf)) return value;
    // Of several shapes, one that has all the value's properties is meant.
    const branch = (anyOf as readonly JsonValue[]).find((option) => hasAll(option, value, root));
    return branch === undefined ? value : strip(value, branch, root);
  }
  const demanded: readonly unknown[] = Array.isArray(required) ? (required as unknown[]) : [];
  const kept: [string, JsonValue][] = [];
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const optional = isJsonObject(property) && !demanded.includes(name) && !allowsNull(resolve(property, root));
    if (inner !== null || !optional) kept.push([name, strip(inner, property, root)]);
  }
  return Object.fromEntries(kept);
}

/**
 * Arguments of a tool that was declared strict, without the nulls that stand for properties the model left out.
 * Text that isn't JSON stays as it is.
 *
 * @param parameters The tool's own parameters, before {@link strictSchema}.
 */
export function withoutAddedNulls(argumentsText: string, parameters: JsonSchema): string {
  if (!argumentsText.includes('null')) return argumentsText;
  try {
    return JSON.stringify(strip(parseJson(argumentsText) as JsonValue, parameters, parameters));
  } catch {
    // Not JSON, or nested too deep.
    return argumentsText;
  }
}
