import type { JsonObject, JsonValue } from '@treadle/core';

/** How a parameter is written. */
export interface Style {
  readonly style: string;
  readonly explode: boolean;
  /** Whether characters that mean something in a URL stay as they are; only in queries. */
  readonly allowReserved?: boolean;
}

/** Everything but letters, digits and `-._~` as percent-encoded bytes: no value can end its segment, or its pair. */
export const encodeText = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Leaves `:/?#[]@!$&'()*+,;=` alone, but for those that would end the query or begin another pair. */
const encodeReserved = (text: string): string =>
  encodeText(text).replace(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B)/g, decodeURIComponent);

/** A value as one text: what has parts is JSON. */
export const plainText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

const entriesOf = (value: JsonObject): [string, JsonValue][] =>
  Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, item]]));

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parts of a value in one list: items, or names and values in turn, or `name=value` when exploded. */
function partsOf(value: JsonValue, explode: boolean, encode: (text: string) => string): string[] {
  if (Array.isArray(value)) return (value as JsonValue[]).map((item) => encode(plainText(item)));
  if (!isObject(value)) return [encode(plainText(value))];
  return entriesOf(value).flatMap(([key, item]) => {
    const pair = [encode(key), encode(plainText(item))];
    return explode ? [pair.join('=')] : pair;
  });
}

/** A parameter in a path. */
export function pathText(name: string, value: JsonValue, { style, explode }: Style): string {
  const parts = partsOf(value, explode, encodeText);
  if (style === 'label') return `.${parts.join(explode ? '.' : ',')}`;
  if (style !== 'matrix') return parts.join(',');
  const key = encodeText(name);
  if (!explode || (!Array.isArray(value) && !isObject(value))) return `;${key}=${parts.join(',')}`;
  return parts.map((part) => (isObject(value) ? `;${part}` : `;${key}=${part}`)).join('');
}

/** A parameter in a header, or in a cookie's value without its name. */
export const headerText = (value: JsonValue, { explode }: Style): string =>
  partsOf(value, explode, (text) => text).join(',');

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/** A parameter as pairs of a query, or of a form. */
export function queryPairs(name: string, value: JsonValue, { style, explode, allowReserved }: Style): string[] {
  const encode = allowReserved === true ? encodeReserved : encodeText;
  const key = encodeText(name);
  if (style === 'deepObject') return deepPairs(key, value, encode);
  if (explode && Array.isArray(value)) return (value as JsonValue[]).map((item) => `${key}=${encode(plainText(item))}`);
  if (explode && isObject(value)) return partsOf(value, true, encode);
  return [`${key}=${partsOf(value, false, encode).join(DELIMITERS[style] ?? ',')}`];
}

/** `a[b][c]=…`. Items of lists have their number, so that lists of objects come apart again. */
function deepPairs(key: string, value: JsonValue, encode: (text: string) => string): string[] {
  if (Array.isArray(value)) {
    return (value as JsonValue[]).flatMap((item, index) => deepPairs(`${key}[${index}]`, item, encode));
  }
  if (!isObject(value)) return [`${key}=${encode(plainText(value))}`];
  return entriesOf(value).flatMap(([name, item]) => deepPairs(`${key}[${encodeText(name)}]`, item, encode));
}
