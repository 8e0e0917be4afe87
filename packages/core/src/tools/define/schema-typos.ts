import { isJsonObject, type JsonObject } from '../../json.ts';
import { closestName } from '../../names/closest.ts';
import { isStandardSchema } from './standard-schema.ts';

/** Keywords that a hand-written schema has. Others are annotations of somebody's, unless they look like one of these. */
const KEYWORDS = [
  ...['$id', '$schema', '$ref', '$defs', '$comment', '$anchor', 'definitions', 'type', 'const', 'enum', 'default'],
  ...['title', 'description', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'nullable', 'format', 'pattern'],
  ...['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'unevaluatedProperties'],
  ...[
    'minProperties',
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
    'dependencies',
    'items',
    'prefixItems',
  ],
  ...['additionalItems', 'unevaluatedItems', 'contains', 'minContains', 'maxContains', 'minItems', 'maxItems'],
  ...['uniqueItems', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
];

/** Annotations of OpenAPI that look like keywords. */
const ANNOTATIONS: ReadonlySet<string> = new Set([...KEYWORDS, 'example', 'id', 'xml', 'discriminator', 'optional']);

const OF_ONE = ['additionalProperties', 'items', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'];
const OF_MANY = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions'];

/** Refuses a JSON Schema that looks like something else: a shape of another library, bare properties, a misspelt keyword. */
export function refuseTypos(schema: unknown, what: string, refuse: (reason: string) => never): void {
  if (isStandardSchema(schema) || !isJsonObject(schema)) return;
  const keys = Object.keys(schema);
  const shape = keys.find((key) => isStandardSchema(schema[key]) || isInternal(schema[key]));
  if (shape !== undefined) {
    refuse(
      `${what} has a schema of another library under ${JSON.stringify(shape)}, and is none itself. ` +
        `Write: ${what}: z.object({ ${shape}: … })`,
    );
  }
  const isBare = keys.length > 0 && !keys.some((key) => ANNOTATIONS.has(key));
  if (isBare && keys.every((key) => isJsonObject(schema[key]))) {
    const [first = ''] = keys;
    refuse(
      `${what} has properties where a schema belongs. ` +
        `Write: ${what}: { type: 'object', properties: { ${first}: … }, required: ['${first}'] }`,
    );
  }
  refuseKeywords(schema, '#', what, refuse, 0);
}

/** Schemas of zod 3 and older say what they are by `_def`. */
const isInternal = (value: unknown): boolean => typeof value === 'object' && value !== null && '_def' in value;

const DEEPEST = 64;

function refuseKeywords(
  schema: JsonObject,
  path: string,
  what: string,
  refuse: (reason: string) => never,
  depth: number,
): void {
  if (depth > DEEPEST) return;
  for (const key of Object.keys(schema)) {
    if (ANNOTATIONS.has(key) || key.startsWith('x-')) continue;
    const meant = closestName(key, KEYWORDS);
    if (meant === undefined || meant.startsWith(key)) continue;
    refuse(`${what} at ${path} has no keyword ${JSON.stringify(key)}. Write: ${meant}: …`);
  }
  const below = (value: unknown, at: string): void => {
    if (isJsonObject(value)) refuseKeywords(value, `${path}/${at}`, what, refuse, depth + 1);
  };
  for (const key of OF_ONE) below(schema[key], key);
  for (const key of OF_MANY) {
    const options = schema[key];
    if (Array.isArray(options)) options.forEach((option: unknown, index) => below(option, `${key}/${index}`));
  }
  for (const key of BY_NAME) {
    const named = schema[key];
    if (!isJsonObject(named)) continue;
    for (const [name, value] of Object.entries(named)) below(value, `${key}/${name}`);
  }
}
