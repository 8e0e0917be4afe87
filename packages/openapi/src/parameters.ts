import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { safeName } from './names.ts';
import { OpenApiProblem } from './problem.ts';
import type { Follow } from './document/references.ts';
import { cut, type ArgumentSchema } from './document/schema.ts';
import { placed } from './security.ts';
import type { Style } from './serialize.ts';

/** A parameter of an operation, and the argument it is for a model. */
export interface Parameter {
  /** What the argument is called. */
  readonly key: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required: boolean;
  readonly style: Style;
  /** True when the value is sent as JSON, whatever it is. */
  readonly asJson: boolean;
  readonly schema: JsonSchema;
}

/** Headers that are not a model's to set: the document must not offer them, by OpenAPI or for the connection's sake. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'host',
  'proxy-authorization',
  'transfer-encoding',
  'upgrade',
]);

/** What operations and their parameters are read with. */
export interface OperationReading {
  readonly follow: Follow;
  readonly argumentSchema: ArgumentSchema;
  /** Parameters that credentials are. */
  readonly hidden: ReadonlySet<string>;
}

const DEFAULT_STYLES = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' } as const;

/**
 * The parameters of an operation: its path's and its own, which win.
 *
 * @throws OpenApiProblem for parameters that can't be read.
 */
export function parametersOf(
  lists: readonly (JsonValue | undefined)[],
  path: string,
  reading: OperationReading,
): { readonly list: readonly Parameter[]; readonly idempotencyHeader: string | null } {
  const declared = new Map<string, { readonly name: string; readonly parameter: JsonObject }>();
  for (const list of lists) {
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new OpenApiProblem('bad_document', 'Its parameters are no list.');
    for (const each of list as JsonValue[]) {
      const parameter = reading.follow(each);
      const { name, in: place } = parameter;
      if (typeof name !== 'string' || typeof place !== 'string') {
        throw new OpenApiProblem('bad_document', 'A parameter has no name, or no place.');
      }
      declared.set(placed(place, name), { name, parameter });
    }
  }
  let idempotencyHeader: string | null = null;
  const list: Parameter[] = [];
  const keys = new Set<string>();
  for (const [id, { name, parameter }] of declared) {
    if (id === 'header idempotency-key') {
      idempotencyHeader = name;
      continue;
    }
    if (reading.hidden.has(id) || (parameter['in'] === 'header' && OWN_HEADERS.has(name.toLowerCase()))) continue;
    // One that the path has no place for can't be sent.
    if (parameter['in'] === 'path' && !path.includes(`{${name}}`)) continue;
    const read = readParameter(parameter, name, keys, reading);
    keys.add(read.key);
    list.push(read);
  }
  for (const [, name] of path.matchAll(/\{([^{}]+)\}/g)) {
    if (name === undefined || list.some((each) => each.in === 'path' && each.name === name)) continue;
    throw new OpenApiProblem('bad_document', `Its path has {${name}}, and there is no such parameter.`);
  }
  return { list, idempotencyHeader };
}

function readParameter(
  parameter: JsonObject,
  name: string,
  keys: ReadonlySet<string>,
  { follow, argumentSchema }: OperationReading,
): Parameter {
  const { in: place, content, allowReserved, explode, description } = parameter;
  if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') {
    throw new OpenApiProblem('unsupported', `The parameter ${name} is in a place that nobody here knows.`);
  }
  const media = isJsonObject(content) ? Object.values(content)[0] : undefined;
  const asJson = media !== undefined;
  const schema = argumentSchema(asJson ? follow(media)['schema'] : parameter['schema']);
  const style = typeof parameter['style'] === 'string' ? parameter['style'] : DEFAULT_STYLES[place];
  const words = typeof description === 'string' && description !== '' ? { description: cut(description, 400) } : {};
  // As it is where that can be told apart, else with its place.
  const plain = safeName(name, new Set(), '.');
  return {
    key: keys.has(plain) ? safeName(`${name}_in_${place}`, keys, '.') : plain,
    name,
    in: place,
    required: place === 'path' || parameter['required'] === true,
    style: {
      style,
      explode: typeof explode === 'boolean' ? explode : style === 'form' || style === 'deepObject',
      allowReserved: place === 'query' && allowReserved === true,
    },
    asJson,
    schema: { ...schema, ...words },
  };
}
