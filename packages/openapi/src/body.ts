import { randomUUID } from 'node:crypto';
import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { OpenApiProblem } from './problem.ts';
import type { Follow } from './document/references.ts';
import type { ArgumentSchema } from './document/schema.ts';
import { plainText, queryPairs, type Style } from './serialize.ts';

/** The body that an operation takes. */
export interface RequestBody {
  readonly mediaType: string;
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'bytes';
  readonly required: boolean;
  readonly schema: JsonSchema;
  /** How the fields of a form are written, where the document says. */
  readonly styles: ReadonlyMap<string, Style>;
  /** The media types of a multipart's fields, where the document says. */
  readonly types: ReadonlyMap<string, string>;
}

/** A file, as a model gives one. */
const FILE_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'A file: its content as text, or as base64.',
  properties: {
    name: { type: 'string' },
    mediaType: { type: 'string' },
    text: { type: 'string' },
    base64: { type: 'string' },
  },
  additionalProperties: false,
};

const KINDS: readonly (readonly [RequestBody['kind'], RegExp])[] = [
  ['json', /^application\/(?:json|[\w.+-]+\+json)$/],
  ['form', /^application\/x-www-form-urlencoded$/],
  ['multipart', /^multipart\/form-data$/],
  ['text', /^(?:text\/[\w.+*-]+|application\/(?:xml|[\w.+-]+\+xml))$/],
  ['bytes', /./],
];

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+*-]+$/;

/** @throws OpenApiProblem for a body that can't be read; null when the operation takes none. */
export function bodyOf(
  given: JsonValue | undefined,
  follow: Follow,
  argumentSchema: ArgumentSchema,
): RequestBody | null {
  if (given === undefined) return null;
  const { content, required } = follow(given);
  if (!isJsonObject(content)) throw new OpenApiProblem('bad_document', 'Its body has no content.');
  for (const [kind, pattern] of KINDS) {
    for (const [type, media] of Object.entries(content)) {
      const mediaType = (type.split(';')[0] ?? '').trim().toLowerCase();
      if (!pattern.test(mediaType) || !MEDIA_TYPE.test(mediaType)) continue;
      const described = follow(media);
      const { styles, types } = encodingsOf(described['encoding'], follow);
      const known = argumentSchema(described['schema']);
      const schema = kind === 'multipart' ? withFiles(known) : (SCHEMAS[kind] ?? known);
      return { mediaType: mediaType.replace(/\*/g, 'plain'), kind, required: required === true, schema, styles, types };
    }
  }
  throw new OpenApiProblem('unsupported', 'Its body has no media type that can be sent.');
}

/** Bodies whose schema is not the document's. */
const SCHEMAS: Partial<Record<RequestBody['kind'], JsonSchema>> = { bytes: FILE_SCHEMA, text: { type: 'string' } };

function encodingsOf(given: JsonValue | undefined, follow: Follow): Pick<RequestBody, 'styles' | 'types'> {
  const styles = new Map<string, Style>();
  const types = new Map<string, string>();
  for (const [field, each] of Object.entries(isJsonObject(given) ? given : {})) {
    const { style, explode, contentType } = follow(each);
    if (typeof style === 'string') {
      const whole = style === 'form' || style === 'deepObject';
      styles.set(field, { style, explode: typeof explode === 'boolean' ? explode : whole });
    }
    const [type = ''] = typeof contentType === 'string' ? contentType.split(',') : [];
    if (MEDIA_TYPE.test(type.trim()) && !type.includes('*')) types.set(field, type.trim());
  }
  return { styles, types };
}

/** Fields that hold bytes are given as files. */
function withFiles(schema: JsonSchema): JsonSchema {
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const fields = Object.entries(properties).map(([name, field]): [string, JsonValue] => {
    if (!isJsonObject(field)) return [name, field ?? {}];
    if (isBytes(field)) return [name, FILE_SCHEMA];
    return isBytes(field['items']) ? [name, { ...field, items: FILE_SCHEMA }] : [name, field];
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

const isBytes = (schema: JsonValue | undefined): boolean =>
  isJsonObject(schema) && schema['type'] === 'string' && (schema['format'] === 'binary' || schema['format'] === 'byte');

/** A body as it is sent. */
export interface WrittenBody {
  readonly type: string;
  readonly body: string | Uint8Array;
}

/** @throws OpenApiProblem `bad_argument`. */
export function writeBody(value: JsonValue, body: RequestBody): WrittenBody {
  const { kind, mediaType } = body;
  if (kind === 'json') return { type: mediaType, body: JSON.stringify(value) };
  if (kind === 'text') return { type: `${mediaType}; charset=utf-8`, body: plainText(value) };
  if (kind === 'bytes') return { type: fileType(value) ?? mediaType, body: fileBytes(value) };
  if (!isJsonObject(value)) throw new OpenApiProblem('bad_argument', 'The body must be an object of fields.');
  return kind === 'form' ? { type: mediaType, body: formText(value, body) } : multipart(value, body);
}

const FORM: Style = { style: 'form', explode: true };

function formText(fields: JsonObject, { styles }: RequestBody): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const style = styles.get(name);
    // Where the document says nothing, an object is one field of JSON.
    if (style === undefined && isJsonObject(value)) return queryPairs(name, JSON.stringify(value), FORM);
    return queryPairs(name, value, style ?? FORM);
  });
  return pairs.join('&');
}

function multipart(fields: JsonObject, { types, schema }: RequestBody): WrittenBody {
  const boundary = `treadle-${randomUUID()}`;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const pieces: Uint8Array[] = [];
  const add = (text: string): void => void pieces.push(Buffer.from(text));
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const isList = isJsonObject(field) && field['items'] === FILE_SCHEMA;
    for (const item of Array.isArray(value) ? (value as JsonValue[]) : [value]) {
      const isFile = (isList || field === FILE_SCHEMA) && isJsonObject(item);
      const fileName = isFile ? `; filename="${quoted(typeof item['name'] === 'string' ? item['name'] : 'file')}"` : '';
      const json = typeof item === 'object' && item !== null ? 'application/json' : undefined;
      const type = types.get(name) ?? (isFile ? (fileType(item) ?? 'application/octet-stream') : json);
      add(`--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${fileName}\r\n`);
      add(type === undefined ? '\r\n' : `content-type: ${type}\r\n\r\n`);
      if (isFile) pieces.push(fileBytes(item));
      else add(plainText(item));
      add('\r\n');
    }
  }
  add(`--${boundary}--\r\n`);
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(pieces) };
}

/** A name that can't end its quotes, or its line. */
const quoted = (name: string): string => {
  const whole = name.slice(0, 255).toWellFormed();
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be sent
  return whole.replace(/["\u0000-\u001f\u007f\\]/g, (character) => encodeURIComponent(character));
};

function fileType(file: JsonValue): string | undefined {
  const type = isJsonObject(file) ? file['mediaType'] : undefined;
  return typeof type === 'string' && MEDIA_TYPE.test(type) ? type : undefined;
}

function fileBytes(file: JsonValue): Uint8Array {
  const { text, base64 } = isJsonObject(file) ? file : {};
  if (typeof text === 'string' && base64 === undefined) return Buffer.from(text);
  if (typeof base64 === 'string' && text === undefined && /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(base64)) {
    return Buffer.from(base64, 'base64');
  }
  throw new OpenApiProblem('bad_argument', 'A file needs its content: either text, or base64.');
}
