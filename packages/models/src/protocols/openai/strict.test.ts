import type { JsonObject, JsonValue } from '@treadle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { strictSchema, withoutAddedNulls } from './strict.ts';

const object = (properties: JsonObject, fields: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...fields,
});
const strict = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

describe('a strict schema', () => {
  it('demands every property, and lets those be null that could be missing', () => {
    const schema = object({ a: { type: 'string', description: 'A.' }, b: { type: 'number' } }, { required: ['a'] });
    expect(strictSchema(schema)).toEqual(
      strict({ a: { type: 'string', description: 'A.' }, b: { type: ['number', 'null'] } }),
    );
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['a type', { type: 'string' }, { type: ['string', 'null'] }],
    ['several types', { type: ['string', 'number'] }, { type: ['string', 'number', 'null'] }],
    ['a type with null', { type: ['string', 'null'] }, { type: ['string', 'null'] }],
    ['a choice', { type: 'string', enum: ['a'] }, { type: ['string', 'null'], enum: ['a', null] }],
    ['a choice with null', { enum: ['a', null] }, { enum: ['a', null] }],
    ['a choice without a type', { enum: ['a'] }, { anyOf: [{ enum: ['a'] }, { type: 'null' }] }],
    ['a constant', { const: 'a' }, { anyOf: [{ const: 'a' }, { type: 'null' }] }],
    ['alternatives', { anyOf: [{ type: 'string' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['alternatives with null', { anyOf: [{ type: 'null' }] }, { anyOf: [{ type: 'null' }] }],
    ['a reference', { $ref: '#/$defs/x' }, { anyOf: [{ $ref: '#/$defs/x' }, { type: 'null' }] }],
    ['`nullable`', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['a list', { type: 'array', items: { type: 'string' } }, { type: ['array', 'null'], items: { type: 'string' } }],
  ])('makes %s nullable', (_name, schema, expected) => {
    expect(strictSchema(object({ a: schema }))).toEqual(strict({ a: expected }));
  });

  it('goes into lists, alternatives and definitions', () => {
    const inner = object({ x: { type: 'string' } });
    const converted = strict({ x: { type: ['string', 'null'] } });
    const schema = object(
      { list: { type: 'array', items: inner }, either: { anyOf: [inner, { type: 'string' }] }, tree: { $ref: '#' } },
      { required: ['list', 'either', 'tree'], $defs: { inner } },
    );
    expect(strictSchema(schema)).toEqual({
      ...strict({
        list: { type: 'array', items: converted },
        either: { anyOf: [converted, { type: 'string' }] },
        tree: { $ref: '#' },
      }),
      $defs: { inner: converted },
    });
  });

  it('leaves out what strict mode doesn’t know and the call is checked for anyway', () => {
    const text = { type: 'string', minLength: 1, default: 'x', format: 'color', pattern: '^a', examples: ['a'] };
    const schema = object({ a: text, b: { type: 'string', format: 'date' } }, { required: ['a', 'b'], $schema: 'x' });
    expect(strictSchema(schema)).toEqual(
      strict({ a: { type: 'string', pattern: '^a' }, b: { type: 'string', format: 'date' } }),
    );
  });

  it('may be that of a tool without parameters', () => {
    expect(strictSchema({ type: 'object' })).toEqual(strict({}));
    expect(strictSchema(object({}, { additionalProperties: false }))).toEqual(strict({}));
  });

  it.each<[string, JsonObject]>([
    ['any property at all', { type: 'object', additionalProperties: true }],
    ['properties of a kind', object({}, { additionalProperties: { type: 'string' } })],
    ['an open object inside', object({ a: { type: 'object' } })],
    ['anything inside', object({ a: {} })],
    ['a boolean schema inside', object({ a: true })],
    ['a list of anything', object({ a: { type: 'array' } })],
    ['one of several', object({ a: { oneOf: [{ type: 'string' }] } })],
    ['all of several', object({ a: { allOf: [{ type: 'string' }] } })],
    ['names by a pattern', object({}, { patternProperties: { x: { type: 'string' } } })],
    ['a property that is only demanded', object({}, { required: ['a'] })],
    ['a reference elsewhere', object({ a: { $ref: 'https://example.com/schema' } })],
    ['no object', { type: 'string' }],
    ['an object or nothing', { type: ['object', 'null'] }],
  ])('isn’t there for %s', (_name, schema) => {
    expect(strictSchema(schema)).toBeUndefined();
  });
});

describe('nulls in strict arguments', () => {
  const strip = (value: JsonValue, schema: JsonObject): unknown =>
    JSON.parse(withoutAddedNulls(JSON.stringify(value), schema));

  it('go where the property could be missing, and only there', () => {
    const schema = object(
      {
        optional: { type: 'string' },
        demanded: { type: 'string' },
        nullable: { type: ['string', 'null'] },
        marked: { type: 'string', nullable: true },
        either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      { required: ['demanded'] },
    );
    const all = { optional: null, demanded: null, nullable: null, marked: null, either: null, unknown: null };
    expect(strip(all, schema)).toEqual({ demanded: null, nullable: null, marked: null, either: null, unknown: null });
  });

  it('go from objects in lists, alternatives and references, too', () => {
    const inner = object({ x: { type: 'string' }, y: { type: 'string' } }, { required: ['y'] });
    const other = object({ z: { type: 'null' } });
    const schema = object(
      {
        list: { type: 'array', items: inner },
        either: { anyOf: [other, inner] },
        named: { $ref: '#/$defs/inner' },
        tree: { $ref: '#' },
      },
      { $defs: { inner } },
    );
    const full = { x: null, y: 'y' };
    const value = { list: [full, full], either: full, named: full, tree: { tree: null, list: [full] } };
    const clean = { y: 'y' };
    expect(strip(value, schema)).toEqual({
      list: [clean, clean],
      either: clean,
      named: clean,
      tree: { list: [clean] },
    });
    expect(strip({ either: { z: null } }, schema)).toEqual({ either: { z: null } });
  });

  it('leave the text alone where there are none, or no JSON', () => {
    const schema = object({ a: { type: 'string' } });
    for (const text of ['{ "a" : "b" }', '{"a": nul', 'null', '[null]'])
      expect(withoutAddedNulls(text, schema)).toBe(text);
  });

  it('are found without following a value as deep as it likes', () => {
    const schema = object({ a: { $ref: '#' } });
    const deep = `${'{"a":'.repeat(5000)}null${'}'.repeat(5000)}`;
    expect(withoutAddedNulls(deep, schema)).toBe(deep);
  });

  it('are all that changes: what was given stays, what was left out is left out', () => {
    const names = ['a', 'b', '__proto__', 'd'];
    fc.assert(
      fc.property(
        fc.subarray(names),
        fc.dictionary(fc.constantFrom(...names), fc.oneof(fc.string(), fc.constant(null))),
        (required, value) => {
          const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
          const kept = Object.entries(value).filter(([name, given]) => given !== null || required.includes(name));
          expect(Object.entries(strip(value, object(properties, { required })) as object)).toEqual(kept);
        },
      ),
    );
  });
});
