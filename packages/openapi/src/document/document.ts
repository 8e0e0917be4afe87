import { errorText, TreadleError, type JsonObject } from '@treadle/core';
import { isDeep, isJsonObject, parseJson, TOO_DEEP } from '@treadle/core/json';
import { parse } from 'yaml';

/** Bytes of a document as JSON. The largest that are published have about 13 MB. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;

/** Bytes of a document as YAML, which is read some hundred times slower. */
const MAX_YAML_BYTES = 8 * 1024 * 1024;

/** How often YAML may use what it wrote once, counting what that uses itself. */
const MAX_ALIASES = 100;

const refused = (message: string, cause?: unknown): TreadleError =>
  new TreadleError('invalid_definition', `The OpenAPI document ${message}`, { cause });

/**
 * A document as data: given so, or read from JSON or YAML, whichever it is by its first character.
 *
 * @throws TreadleError `invalid_definition` for what is no OpenAPI 3 document, or too big.
 */
export function readDocument(given: JsonObject | string, maxBytes: number | undefined): JsonObject {
  const document: unknown = typeof given === 'string' ? readText(given, maxBytes) : given;
  if (!isJsonObject(document)) throw refused('is no object.');
  const { openapi, swagger } = document;
  if (swagger !== undefined) {
    throw refused(`is of Swagger ${JSON.stringify(swagger).slice(0, 12)}. Convert it to OpenAPI 3 first.`);
  }
  if (typeof openapi !== 'string' || !/^3\.\d/.test(openapi)) {
    throw refused('does not say that it is of OpenAPI 3: the field openapi must be a text such as "3.1.0".');
  }
  return document;
}

function readText(given: string, maxBytes: number | undefined): unknown {
  const text = given.startsWith('\ufeff') ? given.slice(1) : given;
  const isJson = /^\s*[[{]/.test(text.slice(0, 1000));
  const most = maxBytes ?? (isJson ? MAX_JSON_BYTES : MAX_YAML_BYTES);
  if (Buffer.byteLength(text) > most) {
    throw refused(`is larger than ${most} bytes${isJson ? '' : ' of YAML; as JSON it may be larger'}.`);
  }
  try {
    if (isJson) return parseJson(text);
    // Without the check for keys that stand twice, which compares each with each.
    const options = { maxAliasCount: MAX_ALIASES, uniqueKeys: false, prettyErrors: false, logLevel: 'error' } as const;
    const value: unknown = parse(text, options);
    if (isDeep(value)) throw new RangeError();
    return value;
  } catch (error) {
    // The YAML parser recurses.
    const why = error instanceof RangeError ? `it is ${TOO_DEEP}` : errorText(error).slice(0, 200);
    throw refused(`can't be read as ${isJson ? 'JSON' : 'YAML'}: ${why}`, error);
  }
}
