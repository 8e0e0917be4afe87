import type { JsonSchema } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';

/** An element inside the arguments: text, or elements. */
export interface XmlNode {
  readonly name: string;
  text: string;
  readonly children: XmlNode[];
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const MAX_REFERENCES = 8;

/** A schema with its local `$ref`s followed. */
export function resolveSchema(schema: unknown, root: JsonSchema): JsonSchema {
  let found = schema;
  for (let count = 0; count < MAX_REFERENCES; count += 1) {
    if (!isJsonObject(found)) return {};
    const { $ref: reference } = found;
    if (typeof reference !== 'string') return found;
    found = reference.startsWith('#') ? at(root, reference.slice(1)) : undefined;
  }
  return {};
}

function at(root: JsonSchema, pointer: string): unknown {
  let value: unknown = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** The schema of a property; an empty one when nothing is said of it. */
export function propertySchema(schema: JsonSchema, name: string, root: JsonSchema): JsonSchema {
  const { properties } = schema;
  if (isJsonObject(properties) && Object.hasOwn(properties, name)) return resolveSchema(properties[name], root);
  return resolveSchema(schema['additionalProperties'], root);
}

/** The JSON types a schema allows; empty when it doesn't say. */
function typesOf(schema: JsonSchema, root: JsonSchema): ReadonlySet<string> {
  const types = new Set<string>();
  const add = (type: unknown): void => {
    if (typeof type === 'string') types.add(type);
  };
  for (const type of [schema['type']].flat()) add(type);
  const values = Array.isArray(schema['enum']) ? (schema['enum'] as readonly unknown[]) : [];
  if (types.size === 0) for (const value of values) add(typeName(value));
  if (types.size === 0 && schema['const'] !== undefined) add(typeName(schema['const']));
  for (const option of [schema['anyOf'], schema['oneOf']].flat()) {
    if (!isJsonObject(option)) continue;
    const { type } = resolveSchema(option, root);
    for (const one of [type].flat()) add(one);
  }
  return types;
}

const typeName = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'number' ? 'number' : typeof value;

/** True when an element of this schema holds nothing but text, so that what looks like markup in it is text too. */
export function isText(schema: JsonSchema, root: JsonSchema): boolean {
  const types = typesOf(schema, root);
  return types.size > 0 && types.has('string') && !types.has('object') && !types.has('array');
}

/** True when an element of this name may be repeated, each time with another item. */
export const isList = (schema: JsonSchema, root: JsonSchema): boolean => typesOf(schema, root).has('array');

/**
 * The JSON text of the elements of one name. What XML can't say the schema does: whether `5` is a number and one element
 * a list. What doesn't fit stays a string, and the tool's check says so to the model.
 */
export function valueText(nodes: readonly XmlNode[], schema: JsonSchema, root: JsonSchema): string {
  const [first] = nodes;
  if (!first) return '[]';
  if (!isList(schema, root) && nodes.length === 1) return singleText(first, schema, root);
  const items = resolveSchema(schema['items'], root);
  const listed = nodes.length === 1 ? itemsOf(first) : nodes;
  if (typeof listed === 'string') return listed;
  return `[${listed.map((node) => singleText(node, items, root)).join(',')}]`;
}

/** The items inside one element of a list: its elements, a JSON array, or its text as the only one. */
function itemsOf(node: XmlNode): readonly XmlNode[] | string {
  if (node.children.length > 0) return node.children;
  const text = node.text.trim();
  if (text === '') return [];
  return json(text, '[') ?? [node];
}

function singleText(node: XmlNode, schema: JsonSchema, root: JsonSchema): string {
  if (isList(schema, root)) return valueText([node], schema, root);
  if (node.children.length > 0) return objectText(node.children, schema, root);
  return scalarText(node.text, typesOf(schema, root));
}

function scalarText(written: string, types: ReadonlySet<string>): string {
  const text = written.trim();
  if (types.size === 0 || types.has('string')) return JSON.stringify(written);
  if (text === 'null' && types.has('null')) return text;
  if ((text === 'true' || text === 'false') && types.has('boolean')) return text;
  if ((types.has('number') || types.has('integer')) && NUMBER.test(text)) return text;
  if (types.has('object')) return text === '' ? '{}' : (json(text, '{') ?? JSON.stringify(written));
  return JSON.stringify(written);
}

/** Elements as the properties of an object, in the order of their first appearance. */
export function objectText(children: readonly XmlNode[], schema: JsonSchema, root: JsonSchema): string {
  const byName = new Map<string, XmlNode[]>();
  for (const child of children) {
    const others = byName.get(child.name);
    if (others) others.push(child);
    else byName.set(child.name, [child]);
  }
  const members = [...byName].map(
    ([name, nodes]) => `${JSON.stringify(name)}:${valueText(nodes, propertySchema(schema, name, root), root)}`,
  );
  return `{${members.join(',')}}`;
}

/** The text itself when it is a JSON value that begins like this. */
function json(text: string, begins: '[' | '{'): string | undefined {
  if (!text.startsWith(begins)) return undefined;
  try {
    parseJson(text);
    return text;
  } catch {
    return undefined;
  }
}
