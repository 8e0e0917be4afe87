import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { JsonSchema, JsonValue } from '../json.ts';
import { compileSchema, validateJson } from './validate.ts';

const messages = (schema: JsonSchema | boolean, value: unknown): string[] =>
  validateJson(schema, value).map(({ path, message }) => `${path} ${message}`.trim());

const CONDITIONAL: JsonSchema = {
  if: { properties: { a: { const: 1 } } },
  // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
  then: { required: ['b'] },
  else: { required: ['c'] },
};

/** Checks patterns by JavaScript's own engine. */
const byRegExp = (pattern: string): ((text: string) => boolean) => {
  const expression = new RegExp(pattern, 'u');
  return (text) => expression.test(text);
};

/** A keyword's case: the schema, values that fit, and values that don't. */
type Case = readonly [schema: JsonSchema | boolean, fits: readonly unknown[], fails: readonly unknown[]];

const CASES: Readonly<Record<string, readonly Case[]>> = {
  type: [
    [{ type: 'string' }, ['', 'a'], [1, null, [], {}, undefined, () => 1]],
    [{ type: 'number' }, [1, 1.5, -0], ['1', NaN, Infinity, 1n]],
    [{ type: 'integer' }, [1, 1.0, -3], [1.5, '1']],
    [{ type: 'boolean' }, [true, false], [0, 'true', null]],
    [{ type: 'null' }, [null], [0, false, undefined]],
    [{ type: 'array' }, [[]], [{}, 'a']],
    [{ type: 'object' }, [{}], [[], null]],
    [{ type: ['string', 'null'] }, ['a', null], [1]],
    [{ type: 'string', nullable: true }, ['a', null], [1]],
    [{ type: 'string', enum: ['a'], nullable: true }, ['a', null], ['b']],
  ],
  'enum and const': [
    [{ enum: ['a', 1, null, { a: [1] }] }, ['a', 1, null, { a: [1] }], ['b', '1', 0, undefined, { a: [2] }, {}]],
    [{ const: { a: 1, b: [2] } }, [{ b: [2], a: 1 }], [{ a: 1 }, { a: 1, b: [2], c: 3 }, null]],
    [{ const: null }, [null], [0, false]],
    [{ const: 0 }, [0, -0], [false, '']],
  ],
  'properties and required': [
    [{ properties: { a: { type: 'string' } } }, [{}, { a: 'x' }, { b: 1 }, 3, { a: undefined }], [{ a: 1 }]],
    [{ required: ['a'] }, [{ a: null }, 'not an object'], [{}, { a: undefined }, Object.create({ a: 1 })]],
    [{ required: ['toString', 'constructor'] }, [{ toString: 1, constructor: 2 }], [{}, { toString: 1 }]],
  ],
  additionalProperties: [
    [{ properties: { a: {} }, additionalProperties: false }, [{}, { a: 1 }], [{ b: 1 }, { a: 1, toString: 1 }]],
    [{ additionalProperties: { type: 'number' } }, [{ a: 1 }], [{ a: 'x' }]],
    [{ patternProperties: { '^x-': true }, additionalProperties: false }, [{ 'x-a': 1 }], [{ y: 1 }]],
  ],
  'patternProperties and propertyNames': [
    [{ patternProperties: { '^n': { type: 'number' } } }, [{ n1: 1, s: 'a' }], [{ n1: 'a' }]],
    [
      { properties: { n: { minimum: 2 } }, patternProperties: { '^n': { maximum: 5 } } },
      [{ n: 3 }],
      [{ n: 1 }, { n: 6 }],
    ],
    [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
  ],
  'counts of properties': [
    [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{}, { a: 1, b: 2, c: 3 }, { a: undefined }]],
  ],
  'items and prefixItems': [
    [{ items: { type: 'number' } }, [[], [1, 2]], [[1, 'a']]],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [['a'], ['a', 1], []], [[1], ['a', 'b']]],
    [{ prefixItems: [{ type: 'string' }], items: false }, [['a']], [['a', 1]]],
    [{ prefixItems: [{ type: 'string' }] }, [['a', 1]], [[1]]],
    [{ items: [{ type: 'string' }], additionalItems: false }, [['a']], [['a', 1]]],
  ],
  'counts of items and contains': [
    [{ minItems: 1, maxItems: 2 }, [[1]], [[], [1, 2, 3]]],
    [{ contains: { type: 'number' } }, [['a', 1]], [[], ['a']]],
    [
      { contains: { const: 1 }, minContains: 2, maxContains: 3 },
      [
        [1, 1, 2],
        [1, 1, 1],
      ],
      [[1], [1, 1, 1, 1]],
    ],
    [{ contains: { const: 1 }, minContains: 0 }, [[]], []],
  ],
  uniqueItems: [
    [
      { uniqueItems: true },
      [[], [1, '1', true, 'true', null], [{ a: 1 }, { a: 2 }]],
      [
        [1, 1.0],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        [[], []],
      ],
    ],
    [{ uniqueItems: false }, [[1, 1]], []],
  ],
  'length of strings': [
    [{ minLength: 2 }, ['ab', '👍👍', 1], ['a', '👍']],
    [{ maxLength: 2 }, ['ab', '👍👍'], ['abc', '👍👍👍']],
  ],
  'pattern and format': [
    [{ pattern: 'b+' }, ['abba', 7], ['aa']],
    [{ pattern: '^\\p{L}$' }, ['é'], ['1']],
    [{ format: 'email' }, ['not a mail'], []],
  ],
  'bounds of numbers': [
    [{ minimum: 1, maximum: 3 }, [1, 3, 'x'], [0.9, 3.1]],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
    [{ minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false }, [2, 3], [1, 4]],
  ],
  multipleOf: [
    [{ multipleOf: 0.1 }, [0.3, 1.1, 0], [0.35]],
    [{ multipleOf: 3 }, [9, -3], [10, 1.5]],
    [{ multipleOf: 0.01 }, [4.35, 19.99, 1e20], [0.005]],
  ],
  combinations: [
    [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, ['a', 4, null], [2]],
    [{ oneOf: [{ minimum: 3 }, { multipleOf: 2 }] }, [5, 2], [4, 1]],
    [{ allOf: [{ minimum: 3 }, { multipleOf: 2 }] }, [4], [3, 2]],
    [{ not: { type: 'string' } }, [1], ['a']],
    [
      CONDITIONAL,
      [
        { a: 1, b: 1 },
        { a: 2, c: 1 },
      ],
      [{ a: 1 }, { a: 2 }],
    ],
    [{ if: true }, [1], []],
  ],
  'boolean and empty schemas': [
    [true, [1, null, {}], []],
    [false, [], [1, null, {}]],
    [{}, [1, null], []],
    [{ properties: { a: false } }, [{}], [{ a: 1 }]],
  ],
  references: [
    [{ $defs: { s: { type: 'string' } }, properties: { a: { $ref: '#/$defs/s' } } }, [{ a: 'x' }], [{ a: 1 }]],
    [
      { properties: { a: { $ref: '#/$defs/s', maxLength: 1 } }, $defs: { s: { type: 'string' } } },
      [{ a: 'x' }],
      [{ a: 1 }, { a: 'xx' }],
    ],
    [
      { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false },
      [{ next: { next: {} } }],
      [{ next: { next: 1 } }],
    ],
    [{ definitions: { 'a/b~c %': { const: 1 } }, $ref: '#/definitions/a~1b~0c%20%25' }, [1], [2]],
    [{ allOf: [{ $ref: '#/allOf/1' }, { type: 'string' }] }, ['a'], [1]],
    [
      {
        $defs: {
          in: { $id: 'https://example.org/in', $defs: { s: { type: 'string' } }, $ref: '#/$defs/s' },
          s: { type: 'number' },
        },
        $ref: '#/$defs/in',
      },
      ['a'],
      [1],
    ],
  ],
  'unknown keywords': [[{ whatever: 3, unevaluatedProperties: false }, [{ a: 1 }], []]],
};

describe.each(Object.entries(CASES))('%s', (_keyword, cases) => {
  it.each(cases)('%j', (schema, fits, fails) => {
    const check = compileSchema(schema, byRegExp);
    expect(check.problems).toEqual([]);
    expect(check.unchecked).toEqual([]);
    for (const value of fits) expect(check(value)).toEqual([]);
    for (const value of fails) expect(check(value)).not.toEqual([]);
  });
});

describe('messages', () => {
  const person: JsonSchema = {
    type: 'object',
    properties: { name: { type: 'string', minLength: 2 }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
    required: ['name', 'age'],
    additionalProperties: false,
  };

  it('say where, what must be, and what was given', () => {
    expect(validateJson(person, { name: 3, tags: ['a', 'c'], 'x/y~z': 1 })).toEqual([
      { path: '/age', message: 'is required but missing' },
      { path: '/name', message: 'must be string, got number 3' },
      { path: '/tags/1', message: 'must be one of "a", "b", got string "c"' },
      { path: '/x~1y~0z', message: 'is not an allowed property; the allowed ones are "name", "tags"' },
    ]);
  });

  it('describe every kind of value, long ones briefly', () => {
    const got = (value: unknown): string | undefined => validateJson({ not: {} }, value)[0]?.message.split('got ')[1];
    expect(got(null)).toBe('null');
    expect(got(false)).toBe('boolean false');
    expect(got([1, 2])).toBe('an array of 2');
    expect(got({})).toBe('an object');
    expect(got(undefined)).toBe('a value of type undefined');
    expect(got('x'.repeat(1000))).toHaveLength('string ""…'.length + 40);
  });

  it('join the types of alternatives', () => {
    expect(messages({ anyOf: [{ type: 'string' }, { type: 'null' }] }, 3)).toEqual([
      'must be string or null, got number 3',
    ]);
  });

  it('of alternatives come from the one that was most likely meant', () => {
    const shapes: JsonSchema = {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] },
        {
          type: 'object',
          properties: { kind: { const: 'square' }, side: { type: 'number' } },
          required: ['kind', 'side'],
        },
        { type: 'string' },
      ],
    };
    expect(messages(shapes, { kind: 'square', side: 'x' })).toEqual([
      'fits none of the 3 allowed forms; what the nearest one asks for follows',
      '/side must be number, got string "x"',
    ]);
    expect(messages({ oneOf: [{ minimum: 1 }, { maximum: 5 }] }, 3)).toEqual([
      'must fit exactly one of the 2 allowed forms, but fits 1 and 2',
    ]);
  });

  it('are at most 20', () => {
    expect(
      validateJson(
        { items: { type: 'string' } },
        Array.from({ length: 100 }, () => 1),
      ),
    ).toHaveLength(20);
    expect(
      validateJson(
        { additionalProperties: false },
        Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 1])),
      ),
    ).toHaveLength(20);
  });
});

describe('a schema that can not be followed', () => {
  const BROKEN: readonly JsonSchema[] = [
    { $ref: 'https://example.org/other.json' },
    { $ref: '#/$defs/missing' },
    { $ref: '#anchor' },
    { $ref: '#/toString' },
    { $ref: '#/%E0%A4%A' },
    { $ref: 3 },
    { $dynamicRef: '#node' },
    { type: 'strnig' },
    { type: 'toString' },
    { type: [] },
    { enum: 'a' },
    { required: 'a' },
    { anyOf: [] },
    { minLength: '3' },
    { multipleOf: 0 },
    { pattern: '(' },
    { pattern: 3 },
    { patternProperties: { '(': true } },
    { properties: [] },
    { prefixItems: {} },
    { not: 3 },
  ];
  const samples = ['a', 3, {}, { a: 1 }, []];

  it.each(BROKEN)('%j has a problem, and lets nothing pass that meets it', (schema) => {
    const check = compileSchema(schema);
    expect(check.problems).toHaveLength(1);
    expect(samples.some((value) => check(value).length > 0)).toBe(true);
  });

  it('is not turned into a pass by not, if, anyOf or contains', () => {
    const foreign: JsonSchema = { $ref: 'https://example.org/other.json' };
    expect(messages({ not: foreign }, 1)).toEqual([expect.stringContaining('can not be checked')]);
    expect(messages({ if: foreign, else: true }, 1)).toHaveLength(1);
    expect(messages({ anyOf: [foreign, true] }, 1)).toHaveLength(1);
    expect(messages({ contains: foreign, minContains: 0, maxContains: 3 }, [1])).toHaveLength(1);
    expect(messages({ propertyNames: { not: foreign } }, { a: 1 })).toHaveLength(1);
  });
});

describe('bounds', () => {
  const nest = (depth: number, wrap: (inner: JsonValue) => JsonValue): JsonValue => {
    let value: JsonValue = 1;
    for (let level = 0; level < depth; level += 1) value = wrap(value);
    return value;
  };

  it('T10: a value nested 10,000 levels is answered, not overflowed', () => {
    const arrays = nest(10_000, (inner) => [inner]);
    expect(messages({ items: { $ref: '#' } }, arrays)).toEqual([expect.stringContaining('nested too deep')]);
    expect(messages({ uniqueItems: true }, [arrays])).toEqual([expect.stringContaining('nested too deep')]);
    expect(
      messages(
        { properties: { a: { $ref: '#' } } },
        nest(10_000, (inner) => ({ a: inner })),
      ),
    ).toHaveLength(1);
    expect(messages({ type: 'array' }, arrays)).toEqual([]);
    expect(messages({ const: [[1]] }, arrays)).toHaveLength(1);
  });

  it('T10: a schema nested 10,000 levels is a problem, not an overflow', () => {
    const deep = nest(10_000, (inner) => ({ items: inner === 1 ? true : inner })) as JsonSchema;
    expect(compileSchema(deep).problems).toHaveLength(1);
    expect(compileSchema({ const: nest(10_000, (inner) => [inner]) }).problems).toHaveLength(1);
  });

  it('10,000 references in a row compile', () => {
    const $defs: Record<string, JsonValue> = { d10000: { type: 'string' } };
    for (let index = 0; index < 10_000; index += 1) $defs[`d${index}`] = { $ref: `#/$defs/d${index + 1}` };
    expect(messages({ $defs, $ref: '#/$defs/d9999' }, 1)).toEqual(['must be string, got number 1']);
    expect(messages({ $defs, $ref: '#/$defs/d0' }, 'a')).toEqual([expect.stringContaining('nested too deep')]);
  });

  it('a reference to itself ends', () => {
    expect(messages({ $ref: '#' }, 1)).toHaveLength(1);
    expect(messages({ anyOf: [{ $ref: '#' }, { $ref: '#' }] }, 1)).toHaveLength(1);
    expect(messages({ not: { $ref: '#' } }, 1)).toHaveLength(1);
  });

  it('a recursive schema that branches at every level ends', () => {
    const schema: JsonSchema = {
      anyOf: [
        { type: 'array', items: { $ref: '#' }, minItems: 1 },
        { type: 'array', items: { $ref: '#' }, maxItems: 1 },
      ],
    };
    expect(
      messages(
        schema,
        nest(60, (inner) => [inner]),
      ),
    ).toEqual([expect.stringContaining('too much work')]);
  });

  it('uniqueItems of a long list takes one pass', () => {
    const rows = Array.from({ length: 50_000 }, (_, index) => ({ index }));
    expect(validateJson({ uniqueItems: true }, rows)).toEqual([]);
    expect(messages({ uniqueItems: true }, [...rows, { index: 7 }])).toEqual([
      'must not repeat items: 7 and 50000 are equal',
    ]);
  });
});

describe('a pattern that is skipped', () => {
  const skipped = { pattern: '^a' };
  const unknown = { patternProperties: { '^a': { type: 'number' } } };

  it('is listed, and neither refuses a value nor hides what is wrong with it', () => {
    const check = compileSchema({ properties: { a: { ...skipped, maxLength: 2 } }, ...unknown });
    expect(check.problems).toEqual([]);
    expect(check.unchecked).toEqual(['^a']);
    expect(check({ a: 'b' })).toEqual([]);
    expect(check({ a: 'bcd' })).toHaveLength(1);
  });

  it.each<readonly [schema: JsonSchema, accepted: readonly unknown[], refused: readonly unknown[]]>([
    [{ not: skipped }, ['a', 'b'], [1]],
    [{ not: { type: 'string', ...skipped } }, ['a', 1], []],
    [{ anyOf: [skipped, { type: 'string', minLength: 2 }] }, ['b', 'bb', 1], []],
    [{ anyOf: [{ type: 'string', ...skipped }, { type: 'number' }] }, ['b', 1], [true]],
    [{ oneOf: [{ type: 'string', ...skipped }, { type: 'string' }] }, ['a', 'b'], [1]],
    [{ oneOf: [{ type: 'string', ...skipped }, { type: 'string' }, { minLength: 1 }] }, [''], ['a']],
    [{ if: { type: 'string', ...skipped }, else: { minimum: 3 } }, ['b', 3], [1]],
    [{ if: skipped, else: false }, ['b'], []],
    [{ contains: { type: 'string', ...skipped } }, [['b']], [[1]]],
    [{ contains: { type: 'string', ...skipped }, maxContains: 1 }, [['b', 'c']], [[]]],
    [
      { contains: { anyOf: [{ type: 'number' }, { type: 'string', ...skipped }] }, maxContains: 1 },
      [['b', 1]],
      [[1, 2]],
    ],
    [{ propertyNames: skipped }, [{ b: 1 }], []],
    [{ propertyNames: { not: skipped } }, [{ b: 1 }], []],
    [{ ...unknown, additionalProperties: false }, [{ b: 1 }, {}], []],
    [{ ...unknown, additionalProperties: { type: 'string' } }, [{ b: 1 }], []],
    [{ not: { ...unknown, required: ['b'] } }, [{ b: 1 }, {}], [1]],
  ])('%j decides only what it can', (schema, accepted, refused) => {
    for (const value of accepted) expect(messages(schema, value)).toEqual([]);
    for (const value of refused) expect(messages(schema, value)).not.toEqual([]);
  });
});

describe('keys that objects inherit', () => {
  it('are data', () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"}},"additionalProperties":false}',
    ) as JsonSchema;
    expect(messages(schema, {})).toEqual([]);
    expect(messages(schema, JSON.parse('{"__proto__":"a","constructor":1}'))).toEqual([]);
    expect(messages(schema, JSON.parse('{"__proto__":1}'))).toEqual(['/__proto__ must be string, got number 1']);
    expect(messages({ additionalProperties: false }, JSON.parse('{"__proto__":1}'))).toHaveLength(1);
  });
});

describe('any JSON value', () => {
  /** The schema that says exactly what a value is made of. */
  const schemaOf = (value: JsonValue): JsonSchema => {
    if (value === null || typeof value !== 'object') return { const: value };
    if (Array.isArray(value)) {
      return { type: 'array', prefixItems: value.map(schemaOf), items: false, minItems: value.length };
    }
    const keys = Object.keys(value);
    const properties = Object.fromEntries(keys.map((key) => [key, schemaOf((value as JsonSchema)[key] ?? null)]));
    return { type: 'object', properties, required: keys, additionalProperties: false };
  };
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;

  it('fits the schema made from it, and another value only if it is equal', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const check = compileSchema(schemaOf(a));
        expect(check.problems).toEqual([]);
        expect(check(a)).toEqual([]);
        expect(check(b).length === 0).toBe(validateJson({ const: a }, b).length === 0);
        expect(validateJson({ not: schemaOf(a) }, a)).not.toEqual([]);
      }),
    );
  });

  it('as a schema never throws, compiling or checking', () => {
    const keyword = fc.constantFrom(
      'type',
      'enum',
      'properties',
      'items',
      'anyOf',
      'not',
      '$ref',
      'pattern',
      'required',
      'minimum',
      'if',
      'contains',
      '$id',
      'nullable',
    );
    const { schema } = fc.letrec<{ schema: JsonValue }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>('#', 'string', true, false, 3, '#/items', null),
        fc.array(tie('schema'), { maxLength: 3 }),
        fc.dictionary(keyword, tie('schema'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(schema, json, (candidate, value) => {
        const issues = validateJson(candidate as JsonSchema, value);
        expect(issues.length).toBeLessThanOrEqual(20);
      }),
      { numRuns: 500 },
    );
  });
});
