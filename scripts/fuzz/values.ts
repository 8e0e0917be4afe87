import fc from 'fast-check';

// Values that no type allows. They are drawn as recipes, which are plain data: a failing case can be printed, and a value
// is made anew for each run.

export type Recipe =
  | { readonly make: 'json'; readonly value: unknown }
  | { readonly make: 'number'; readonly text: string }
  | { readonly make: 'text'; readonly unit: string; readonly times: number }
  | { readonly make: 'nothing'; readonly what: 'undefined' | 'hole' | 'symbol' | 'function' | 'promise' | 'weak' }
  | { readonly make: 'bigint'; readonly digits: number }
  | { readonly make: 'bytes'; readonly length: number }
  | { readonly make: 'date'; readonly time: number }
  | { readonly make: 'error'; readonly message: Recipe; readonly throws: boolean }
  | { readonly make: 'list'; readonly items: readonly Recipe[]; readonly holes: number }
  | { readonly make: 'record'; readonly fields: readonly (readonly [string, Recipe])[]; readonly bare: boolean }
  | { readonly make: 'map'; readonly items: readonly Recipe[] }
  | { readonly make: 'getter'; readonly name: string; readonly of: Recipe; readonly throws: boolean }
  | { readonly make: 'changing'; readonly name: string; readonly first: Recipe; readonly later: Recipe }
  | { readonly make: 'proxy'; readonly trap: keyof ProxyHandler<object>; readonly of: Recipe; readonly throws: boolean }
  | { readonly make: 'revoked' | 'cycle' | 'endless' }
  | { readonly make: 'deep'; readonly depth: number; readonly list: boolean }
  | { readonly make: 'wide'; readonly levels: number };

const NAMES = [
  'content',
  'isError',
  'details',
  'files',
  'type',
  'text',
  'data',
  'toJSON',
  'then',
  'length',
  '__proto__',
];

const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 5 }));

const leaf: fc.Arbitrary<Recipe> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).map((value): Recipe => ({ make: 'json', value })),
  fc
    .constantFrom('NaN', 'Infinity', '-Infinity', '-0', '1e308', '-1', '0.5', '9007199254740993')
    .map((text): Recipe => ({ make: 'number', text })),
  fc.record({
    make: fc.constant('text' as const),
    unit: fc.constantFrom('x', '\ud800', '漢', '\u0000', '\u001b[31m', '{"a":', '"', '\\'),
    times: fc.constantFrom(0, 1, 100, 30_000, 300_000),
  }),
  fc
    .constantFrom(
      'undefined' as const,
      'hole' as const,
      'symbol' as const,
      'function' as const,
      'promise' as const,
      'weak' as const,
    )
    .map((what): Recipe => ({ make: 'nothing', what })),
  fc.constantFrom(1, 20, 5000).map((digits): Recipe => ({ make: 'bigint', digits })),
  fc.constantFrom(0, 3, 20_000).map((length): Recipe => ({ make: 'bytes', length })),
  fc.constantFrom(0, Number.NaN, 8.64e15).map((time): Recipe => ({ make: 'date', time })),
  fc.constantFrom('revoked' as const, 'cycle' as const, 'endless' as const).map((make): Recipe => ({ make })),
  fc.record({
    make: fc.constant('deep' as const),
    depth: fc.constantFrom(10, 511, 512, 513, 600, 5000, 50_000),
    list: fc.boolean(),
  }),
  fc.constantFrom(3, 14).map((levels): Recipe => ({ make: 'wide', levels })),
);

const TRAPS = ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'] as const;

const tree = fc.letrec<{ readonly any: Recipe; readonly inner: Recipe }>((tie) => ({
  any: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('inner')),
  inner: fc.oneof(
    fc.record({
      make: fc.constant('list' as const),
      items: fc.array(tie('any'), { maxLength: 4 }),
      holes: fc.constantFrom(0, 0, 2, 100_000),
    }),
    fc.record({
      make: fc.constant('record' as const),
      fields: fc.array(fc.tuple(name, tie('any')), { maxLength: 4 }),
      bare: fc.boolean(),
    }),
    fc.record({ make: fc.constant('map' as const), items: fc.array(tie('any'), { maxLength: 3 }) }),
    fc.record({ make: fc.constant('error' as const), message: tie('any'), throws: fc.boolean() }),
    fc.record({ make: fc.constant('getter' as const), name, of: tie('any'), throws: fc.boolean() }),
    fc.record({ make: fc.constant('changing' as const), name, first: tie('any'), later: tie('any') }),
    fc.record({
      make: fc.constant('proxy' as const),
      trap: fc.constantFrom(...TRAPS),
      of: tie('any'),
      throws: fc.boolean(),
    }),
  ),
}));

/** Any value. */
const anyValue: fc.Arbitrary<Recipe> = tree.any;

/** Any of these fields. */
const record = (fields: Readonly<Record<string, fc.Arbitrary<Recipe>>>): fc.Arbitrary<Recipe> =>
  fc
    .tuple(...Object.entries(fields).map(([key, of]) => fc.option(fc.tuple(fc.constant(key), of), { nil: undefined })))
    .map((given): Recipe => ({ make: 'record', fields: given.filter((field) => field !== undefined), bare: false }));

const json = (value: unknown): fc.Arbitrary<Recipe> => fc.constant({ make: 'json', value });

const block = fc.oneof(
  record({ type: json('text'), text: anyValue }),
  record({ type: json('image'), mediaType: json('image/png'), data: anyValue }),
  record({ type: fc.oneof(json('file'), anyValue), mediaType: anyValue, data: anyValue, url: anyValue }),
  anyValue,
);

const list = (of: fc.Arbitrary<Recipe>): fc.Arbitrary<Recipe> =>
  fc.array(of, { maxLength: 3 }).map((items): Recipe => ({ make: 'list', items, holes: 0 }));

/** Any value, and more often than chance would have it one that looks like a tool's result. */
export const anyResult: fc.Arbitrary<Recipe> = fc.oneof(
  anyValue,
  list(block),
  record({ content: fc.oneof(anyValue, list(block)), isError: anyValue, details: anyValue, files: list(block) }),
);

/** What a recipe says. */
export function build(recipe: Recipe): unknown {
  switch (recipe.make) {
    case 'json':
      return structuredClone(recipe.value);
    case 'number':
      return Number(recipe.text);
    case 'text':
      return recipe.unit.repeat(recipe.times);
    case 'nothing':
      return nothing(recipe.what);
    case 'bigint':
      return 10n ** BigInt(recipe.digits);
    case 'bytes':
      return recipe.length === 3 ? Buffer.alloc(3) : new Uint8Array(recipe.length);
    case 'date':
      return new Date(recipe.time);
    case 'error':
      return hostileError(recipe);
    case 'list':
      return listOf(recipe.items, recipe.holes);
    case 'record':
      return recordOf(recipe.fields, recipe.bare);
    case 'map':
      return new Map(recipe.items.map((item, index) => [build(item), index]));
    case 'getter':
      return withGetter(recipe.name, () => (recipe.throws ? raise(recipe.of) : build(recipe.of)));
    case 'changing': {
      let reads = 0;
      return withGetter(recipe.name, () => build(reads++ === 0 ? recipe.first : recipe.later));
    }
    case 'proxy':
      return new Proxy(
        { content: 'x', a: 1 },
        {
          [recipe.trap]: () => (recipe.throws ? raise(recipe.of) : build(recipe.of)),
        },
      );
    case 'deep':
      return deep(recipe.depth, recipe.list);
    case 'wide':
      return wide(recipe.levels);
    default:
      return strange(recipe.make);
  }
}

function nothing(what: Extract<Recipe, { make: 'nothing' }>['what']): unknown {
  switch (what) {
    case 'symbol':
      return Symbol('s');
    case 'function':
      return () => 'called';
    case 'promise':
      return { inner: Promise.resolve('later') };
    case 'weak':
      return new WeakMap();
    case 'hole':
      return Object.assign([], { length: 2 });
    default:
      return undefined;
  }
}

function hostileError({ message, throws }: Extract<Recipe, { make: 'error' }>): Error {
  const error = new Error('plain');
  Object.defineProperty(error, 'message', { get: () => (throws ? raise(message) : build(message)) });
  return error;
}

function listOf(items: readonly Recipe[], holes: number): unknown[] {
  const values = items.map(build);
  return holes === 0 ? values : Object.assign(values, { length: values.length + holes });
}

function recordOf(fields: readonly (readonly [string, Recipe])[], bare: boolean): object {
  const target: object = bare ? (Object.create(null) as object) : {};
  for (const [key, value] of fields) {
    Object.defineProperty(target, key, { value: build(value), enumerable: true, configurable: true, writable: true });
  }
  return target;
}

const withGetter = (key: string, get: () => unknown): object =>
  Object.defineProperty({}, key, { get, enumerable: true, configurable: true });

function raise(recipe: Recipe): never {
  throw build(recipe);
}

function deep(depth: number, list: boolean): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < depth; level += 1) value = list ? [value] : { a: value };
  return value;
}

/** Each level refers to the one below twice. */
function wide(levels: number): unknown {
  let value: unknown = 'x'.repeat(100);
  for (let level = 0; level < levels; level += 1) value = [value, value];
  return value;
}

function strange(what: 'revoked' | 'cycle' | 'endless'): unknown {
  if (what === 'revoked') {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  }
  if (what === 'cycle') {
    const cycle: Record<string, unknown> = { a: 1 };
    cycle['self'] = cycle;
    return cycle;
  }
  const endless = (): object => withGetter('next', endless);
  return endless();
}
