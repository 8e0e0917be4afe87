import type { JsonSchema, JsonValue } from '@treadle/core';
import { validateGeminiRequest } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { geminiSchema, hasNoParameters } from './schema.ts';

const problemsOf = (parameters: JsonValue): string[] =>
  validateGeminiRequest({
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f', parameters }] }],
  });

describe('a schema in the words of the wire', () => {
  it('says what can be said', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      additionalProperties: false,
      properties: {
        path: { type: 'string', description: 'Where', minLength: 1, pattern: '^/', format: 'uri' },
        when: { type: 'string', format: 'date-time' },
        count: { type: 'integer', exclusiveMinimum: 0, maximum: 9, multipleOf: 2 },
        mode: { const: 'fast' },
        kind: { enum: ['a', 'b', null] },
        maybe: { type: ['string', 'null'] },
        either: { type: ['string', 'number'], description: 'One' },
        union: { anyOf: [{ type: 'string' }, { type: 'null' }, { type: 'array', items: { type: 'boolean' } }] },
        one: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
        level: { type: 'integer', enum: [1, 3] },
        list: { type: 'array' },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 2 },
        nothing: false,
        anything: true,
      },
      required: ['path', 'nothing', 'unknown'],
    };
    const any = { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }, { type: 'BOOLEAN' }, { type: 'OBJECT' }] };
    expect(geminiSchema(schema)).toEqual({
      type: 'OBJECT',
      properties: {
        path: { type: 'STRING', description: 'Where', minLength: 1, pattern: '^/' },
        when: { type: 'STRING', format: 'date-time' },
        count: { type: 'INTEGER', minimum: 1, maximum: 9 },
        mode: { type: 'STRING', format: 'enum', enum: ['fast'] },
        kind: { type: 'STRING', format: 'enum', enum: ['a', 'b'], nullable: true },
        maybe: { type: 'STRING', nullable: true },
        either: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }], description: 'One' },
        union: { anyOf: [{ type: 'STRING' }, { type: 'ARRAY', items: { type: 'BOOLEAN' } }], nullable: true },
        one: { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] },
        level: { type: 'INTEGER', minimum: 1, maximum: 3, description: 'One of: 1, 3.' },
        list: { type: 'ARRAY', items: any },
        pair: { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] }, minItems: 2 },
        anything: any,
      },
      required: ['path'],
    });
    expect(problemsOf(geminiSchema(schema))).toEqual([]);
  });

  it('has references written out', () => {
    const schema = {
      type: 'object',
      properties: {
        from: { $ref: '#/$defs/place', description: 'The start' },
        to: { allOf: [{ $ref: '#/$defs/place' }, { properties: { note: { type: 'string' } }, required: ['note'] }] },
        far: { $ref: 'https://example.com/schema', description: 'Elsewhere' },
      },
      $defs: { place: { type: 'object', properties: { 'x/y': { $ref: '#/definitions/a~1b' } }, required: ['x/y'] } },
      definitions: { 'a/b': { type: 'number' } },
    };
    expect(geminiSchema(schema)).toMatchObject({
      properties: {
        from: {
          type: 'OBJECT',
          description: 'The start',
          properties: { 'x/y': { type: 'NUMBER' } },
          required: ['x/y'],
        },
        to: {
          type: 'OBJECT',
          properties: { 'x/y': { type: 'NUMBER' }, note: { type: 'STRING' } },
          required: ['x/y', 'note'],
        },
        far: { description: 'Elsewhere' },
      },
    });
  });

  it('stops where a reference is inside itself, with its type and description', () => {
    const node = {
      type: 'object',
      description: 'A node',
      properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
    };
    const written = geminiSchema({ type: 'object', properties: { root: { $ref: '#/$defs/node' } }, $defs: { node } });
    expect(JSON.stringify(written)).toContain('{"type":"OBJECT","description":"A node"}');
    expect(JSON.stringify(written).length).toBeLessThan(1000);
    expect(problemsOf(written)).toEqual([]);
  });

  it.each<[string, JsonSchema]>([
    ['itself', { $ref: '#' }],
    ['itself in a circle', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }],
    ['itself among others', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['nothing', { $ref: '#/nowhere/%' }],
  ])('that refers to %s has an end', (_, schema) => {
    expect(problemsOf({ type: 'OBJECT', properties: { a: geminiSchema(schema) } })).toEqual([]);
  });

  it('that doubles at every level is cut off', () => {
    const $defs: Record<string, JsonSchema> = { n40: { type: 'string' } };
    for (let at = 0; at < 40; at++) {
      const next = { $ref: `#/$defs/n${at + 1}` };
      $defs[`n${at}`] = { type: 'object', properties: { a: next, b: next } };
    }
    const written = geminiSchema({ type: 'object', properties: { top: { $ref: '#/$defs/n0' } }, $defs });
    expect(JSON.stringify(written).length).toBeLessThan(2_000_000);
  });

  it('describes an empty word, which can not be listed', () => {
    expect(geminiSchema({ enum: ['', 'a'] })).toEqual({ type: 'STRING', description: 'One of: "", "a".' });
  });

  const keyword = fc.constantFrom(
    'type', 'enum', 'const', 'items', 'prefixItems', 'properties', 'required', 'anyOf', 'oneOf', 'allOf', '$ref', 'format',
    'nullable', 'minimum', 'exclusiveMaximum', 'maxLength', 'pattern', 'description', 'title', 'not', 'if', 'default',
    'additionalProperties', 'patternProperties', '$defs',
  ); // prettier-ignore
  const { schema } = fc.letrec<{ schema: JsonValue; value: JsonValue; object: JsonValue }>((tie) => ({
    value: fc.oneof(
      fc.constantFrom(
        'string',
        'number',
        'integer',
        'array',
        'object',
        'null',
        'date-time',
        'a',
        '',
        '#',
        '#/$defs/a',
        '#/properties/a',
      ),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('schema'), { maxLength: 3 }),
      fc.array(fc.constantFrom('string', 'null', 'a', 'number'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'toString', '__proto__'), tie('schema'), { maxKeys: 3 }),
      tie('schema'),
    ),
    object: fc.dictionary(keyword, tie('value'), { maxKeys: 6 }),
    schema: fc.oneof({ maxDepth: 5 }, fc.boolean(), tie('object'), tie('object')),
  }));

  it('is valid for any schema, also one that makes no sense', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b'), schema, { minKeys: 1 }), (properties) => {
        const root = { type: 'object', properties, $defs: { a: properties['a'] ?? true }, required: ['a'] };
        const written = geminiSchema(root);
        const found = problemsOf(written).filter((problem) => !problem.includes('should be non-empty'));
        expect(found).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });
});

describe('a tool without parameters', () => {
  it('is one whose schema has no properties', () => {
    expect(hasNoParameters({ type: 'object' })).toBe(true);
    expect(hasNoParameters({ type: 'object', properties: {} })).toBe(true);
    expect(hasNoParameters({ type: 'object', properties: { a: {} } })).toBe(false);
    expect(hasNoParameters({ type: 'object', $ref: '#/$defs/a' })).toBe(false);
  });
});
