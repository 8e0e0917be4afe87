import { TreadleError, type JsonObject, type JsonValue } from '@treadle/core';
import { compileSchema } from '@treadle/core/json';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { expect, it } from 'vitest';

import { openApiTools } from './openapi-tools.ts';

const WORDS = [
  'openapi',
  '3.1.0',
  'paths',
  '/a/{b}',
  'get',
  'post',
  'parameters',
  'name',
  'in',
  'query',
  'path',
  'header',
  'schema',
  '$ref',
  '#/components/schemas/A',
  '#/paths',
  '#',
  'type',
  'object',
  'array',
  'items',
  'properties',
  'required',
  'content',
  'application/json',
  'requestBody',
  'security',
  'servers',
  'url',
  '__proto__',
  'constructor',
  'allOf',
  'anyOf',
  'enum',
  'b',
  'pattern',
  '(a+)+$',
  '[',
  'nullable',
  'exclusiveMinimum',
  'minimum',
  'readOnly',
  'style',
  'deepObject',
  'http://x/',
];

const BASE: JsonObject = {
  openapi: '3.0.0',
  servers: [{ url: 'https://{h}.example', variables: { h: { default: 'api' } } }],
  security: [{ key: [] }],
  paths: {
    '/a/{b}': {
      parameters: [{ name: 'b', in: 'path', required: true, schema: { $ref: '#/components/schemas/A' } }],
      get: {
        operationId: 'a',
        parameters: [{ name: 'q', in: 'query', style: 'deepObject', schema: { type: 'object' } }],
      },
      post: {
        requestBody: {
          content: {
            'multipart/form-data': { schema: { $ref: '#/components/schemas/A' }, encoding: { c: { style: 'form' } } },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      A: {
        type: 'object',
        required: ['c'],
        properties: {
          c: { type: 'string', format: 'binary' },
          a: { $ref: '#/components/schemas/A' },
          n: { nullable: true, enum: [1] },
        },
      },
    },
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
  },
};

const word = fc.constantFrom(...WORDS);
const junk: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.constantFrom(null, true, false, 0, -1, 1.5, ''),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(word, tie('value')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries) as JsonObject),
  ),
})).value;

/** The document with something else in one place of it. */
const broken = fc.tuple(fc.nat(), junk).map(([place, value]) => {
  const copy = JSON.parse(JSON.stringify(BASE)) as JsonObject;
  const places: [Record<string, JsonValue>, string][] = [];
  const visit = (holder: Record<string, JsonValue>): void => {
    for (const key of Object.keys(holder)) {
      places.push([holder, key]);
      const child = holder[key];
      if (typeof child === 'object' && child !== null) visit(child as Record<string, JsonValue>);
    }
  };
  visit(copy as Record<string, JsonValue>);
  const [holder, key] = places[place % places.length] ?? [copy as Record<string, JsonValue>, 'paths'];
  holder[key] = value;
  return copy;
});

it('T29: whatever stands in a document, there are tools with schemas that can be checked, or a clear error', () => {
  let made = 0;
  const check = (document: JsonObject): void => {
    for (const given of [document, JSON.stringify(document), stringify(document, { aliasDuplicateObjects: false })]) {
      try {
        for (const { name, inputSchema: parameters } of openApiTools(given, { credentials: { key: 'secret' } }).tools) {
          made += 1;
          expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(compileSchema(parameters).problems).toEqual([]);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(TreadleError);
      }
    }
  };
  fc.assert(fc.property(broken, check), { numRuns: 150 });
  fc.assert(
    fc.property(junk, (value) => check({ openapi: '3.1.0', paths: value })),
    { numRuns: 80 },
  );
  expect(made).toBeGreaterThan(200);
  expect(Object.prototype).not.toHaveProperty('a');
});
