import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import type { Usage } from '@treadle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENTS, resolveModel } from '../deployments.ts';
import { CATALOGUE, cacheHitRate, checkRow, lookUp, priceOf } from './index.ts';
import type { CataloguePrice, CatalogueRow, Cost } from './index.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const BASE = { read: '2026-11-21', source: 'the price list of a test' } as const;

const used = (usage: Partial<Usage>): Usage => ({
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: null,
  ...usage,
});
const rowOf = (...prices: CataloguePrice[]): CatalogueRow => ({ provider: 'test', id: 'model', prices });
const FLAT = rowOf({ ...BASE, input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5, cacheWrite1h: 4 });

const tokens = fc.integer({ min: 0, max: 2_000_000 });
const usages = fc.record({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  reasoning: fc.constant(null),
});

/** Every set of prices of the catalogue, as a row that holds at any time. */
const PRICED = CATALOGUE.flatMap((row) =>
  (row.prices ?? []).map(({ from: _from, until: _until, weekdayHours: _hours, ...always }) => ({
    ...row,
    prices: [always],
  })),
);
const pricedRow = fc.constantFrom(...PRICED);

describe('the rows', () => {
  it.each(CATALOGUE.map((row) => [`${row.provider}/${row.id}`, row] as const))('are well formed: %s', (_name, row) => {
    expect(() => checkRow(row)).not.toThrow();
    // A price that was read tomorrow is a slip of the pen.
    for (const price of row.prices ?? []) expect(price.read <= new Date().toISOString().slice(0, 10)).toBe(true);
  });

  it('name each model once', () => {
    const names = CATALOGUE.flatMap((row) => [row.id, ...(row.aliases ?? [])].map((name) => `${row.provider}/${name}`));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('are never free, and never cheaper in a longer prompt', () => {
    for (const { prices } of PRICED) {
      for (const price of prices) {
        for (const name of ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'] as const) {
          if (price[name] !== undefined) expect(price[name]).toBeGreaterThan(0);
          for (const tier of price.tiers ?? []) expect(tier[name] ?? Infinity).toBeGreaterThanOrEqual(price[name] ?? 0);
        }
      }
    }
  });

  it('come with the deployment of their provider', () => {
    for (const deployment of DEPLOYMENTS) {
      const rows = CATALOGUE.filter((row) => row.provider === deployment.name);
      expect(deployment.catalogue ?? []).toEqual(expect.arrayContaining(rows));
    }
  });
});

describe('looking a model up', () => {
  it.each([
    ['its name', 'claude-sonnet-4-5', 'claude-sonnet-4-5'],
    ['its name and a date', 'claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['its name and a date after an @', 'claude-sonnet-4-5@20250929', 'claude-sonnet-4-5'],
  ])('finds it by %s', (_by, name, id) => {
    expect(lookUp('anthropic', name)?.id).toBe(id);
  });

  it('finds it by a date with dashes, a build number and an alias', () => {
    expect(lookUp('openai', 'gpt-5-2025-08-07')?.id).toBe('gpt-5');
    expect(lookUp('google', 'gemini-2.5-flash-001')?.id).toBe('gemini-2.5-flash');
    expect(lookUp('deepseek', 'deepseek-v4-flash')?.id).toBe('deepseek-flash');
  });

  it('prefers a row for the dated name itself', () => {
    expect(lookUp('openai', 'gpt-4o-2024-05-13')?.id).toBe('gpt-4o-2024-05-13');
    expect(lookUp('openai', 'gpt-4o-2024-12-24')?.id).toBe('gpt-4o');
  });

  it.each([
    ['openai', 'gpt-5-turbo'],
    ['openai', 'gpt-5:free'],
    ['openai', 'gpt'],
    ['openai', ''],
    ['openrouter', 'gpt-5'],
    ['anthropic', 'claude-opus-5-5-fast'],
    ['ollama', 'qwen3'],
  ])('knows nothing of %s/%s', (provider, id) => {
    expect(lookUp(provider, id)).toBeUndefined();
  });

  it('prices the same models alike on another wire of their provider', () => {
    expect(lookUp('openai-responses', 'gpt-5')?.id).toBe('gpt-5');
  });

  it('asks your rows first, and the catalogue for what they leave out', () => {
    const prices = [{ ...BASE, input: 1, output: 1 }];
    const found = lookUp('openai', 'gpt-5-2025-08-07', [{ provider: 'openai', id: 'gpt-5', prices }]);
    expect(found).toMatchObject({ prices, contextWindow: 400_000 });
  });

  it('takes a row with * for every name that begins so, the longest first', () => {
    const rows = ['*', 'qwen*', 'qwen3*', 'qwen3:4b'].map((id) => ({ provider: 'ollama', id }));
    const found = (id: string): string | undefined => lookUp('ollama', id, rows)?.id;
    expect(['llama', 'qwen2', 'qwen3:8b', 'qwen3:4b'].map(found)).toEqual(['*', 'qwen*', 'qwen3*', 'qwen3:4b']);
  });
});

describe('the cost of a usage', () => {
  it('is each count at its price', () => {
    const usage = used({ input: 1_000_000, output: 100_000, cacheRead: 500_000, cacheWrite: 200_000 });
    expect(priceOf(FLAT, usage)).toEqual({ total: 3.6, input: 2, output: 1, cacheRead: 0.1, cacheWrite: 0.5 });
  });

  it('has its own price for a cache that lives an hour', () => {
    const usage = used({ cacheWrite: 1_000_000 });
    expect(priceOf(FLAT, usage, { cacheLifetime: '1h' })?.total).toBe(4);
    expect(priceOf(rowOf({ ...BASE, input: 1, output: 1, cacheWrite: 1 }), usage, { cacheLifetime: '1h' })).toBeNull();
  });

  it.each(['input', 'output', 'cacheRead', 'cacheWrite'] as const)('is unknown when %s was not counted', (name) => {
    expect(priceOf(FLAT, used({ input: 1000, output: 10, [name]: null }))).toBeNull();
  });

  it.each(['input', 'output', 'cacheRead', 'cacheWrite'] as const)(
    'is unknown without a price of %s, unless there are none',
    (name) => {
      const { [name]: _left, ...rest } = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };
      const row = rowOf({ ...BASE, ...rest });
      expect(priceOf(row, used({ [name]: 1 }))).toBeNull();
      expect(priceOf(row, used({ input: name === 'input' ? 0 : 5 }))).not.toBeNull();
    },
  );

  it('is unknown for a usage of which nothing is known, and for a row without prices', () => {
    expect(priceOf(FLAT, UNKNOWN_USAGE)).toBeNull();
    expect(priceOf({ provider: 'test', id: 'model' }, used({ input: 1 }))).toBeNull();
  });

  it('needs no count of cached tokens that cost what input costs: uncounted, they are in it', () => {
    const row = rowOf({ ...BASE, input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2 });
    expect(priceOf(row, used({ input: 1_000_000, cacheWrite: null }))?.total).toBe(2);
    expect(priceOf(row, used({ input: 1_000_000, cacheRead: null }))).toBeNull();
  });

  it('goes by the whole prompt, cached tokens included, above the threshold and not at it', () => {
    const row = rowOf({
      ...BASE,
      input: 1,
      output: 1,
      cacheRead: 1,
      cacheWrite: 1,
      tiers: [
        { above: 100, input: 2, output: 3, cacheRead: 4, cacheWrite: 5 },
        { above: 1000, input: 10 },
      ],
    });
    const micro = (usage: Partial<Usage>): number | undefined => {
      const cost = priceOf(row, used(usage));
      return cost === null ? undefined : Math.round(cost.total * 1e6);
    };
    expect(micro({ input: 50, cacheRead: 25, cacheWrite: 25, output: 1 })).toBe(101);
    expect(micro({ input: 50, cacheRead: 26, cacheWrite: 25, output: 1 })).toBe(100 + 104 + 125 + 3);
    // Output doesn't make a prompt longer.
    expect(micro({ input: 100, output: 5000 })).toBe(5100);
    // A tier takes nothing over: what it doesn't say is unknown.
    expect(micro({ input: 1001 })).toBe(10_010);
    expect(micro({ input: 1001, output: 1 })).toBeUndefined();
  });

  it('changes on the announced day', () => {
    const row = lookUp('google', 'gemini-3.8-flash');
    const at = (day: string): number | undefined =>
      row && priceOf(row, used({ input: 1_000_000 }), { at: Date.parse(day) })?.total;
    expect(at('2026-12-31T23:59:59Z')).toBe(0.75);
    expect(at('2027-01-01T00:00:00Z')).toBe(1.5);
  });

  it('is unknown after the last day of a price that nothing follows', () => {
    const row = rowOf({ ...BASE, input: 1, output: 1, until: '2026-12-31' });
    expect(priceOf(row, used({ input: 1 }), { at: Date.parse('2027-01-01T00:00:00Z') })).toBeNull();
  });

  it('depends on the hour where the provider bills by it', () => {
    const row = lookUp('deepseek', 'deepseek-v4-pro');
    const at = (time: string): number | undefined =>
      row && priceOf(row, used({ input: 1_000_000 }), { at: Date.parse(time) })?.total;
    // A Friday and the Saturday after it.
    expect(at('2026-11-20T01:00:00Z')).toBe(1.32);
    expect(at('2026-11-20T03:59:59Z')).toBe(1.32);
    expect(at('2026-11-20T04:00:00Z')).toBe(0.66);
    expect(at('2026-11-21T02:00:00Z')).toBe(0.66);
  });

  it('is the sum of its parts, and never negative, at all prices of the catalogue', () => {
    fc.assert(
      fc.property(pricedRow, usages, (row, usage) => {
        const cost = priceOf(row, usage, { at: NOW });
        if (cost === null) return;
        const { total, ...parts } = cost;
        for (const part of Object.values(parts)) expect(part).toBeGreaterThanOrEqual(0);
        expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(total, 9);
      }),
    );
  });

  it('adds up: two usages in the same tier cost together what they cost apart', () => {
    const untiered = PRICED.map((row) => ({ ...row, prices: row.prices.map(({ tiers: _tiers, ...flat }) => flat) }));
    fc.assert(
      fc.property(fc.constantFrom(...untiered), usages, usages, (row, one, other) => {
        const both = used({});
        for (const name of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
          Object.assign(both, { [name]: one[name] + other[name] });
        const costs = [one, other, both].map((usage) => priceOf(row, usage, { at: NOW }));
        const [first, second, sum] = costs;
        if (!first || !second || !sum) return;
        for (const name of Object.keys(sum) as (keyof Cost)[])
          expect(sum[name]).toBeCloseTo(first[name] + second[name], 9);
      }),
    );
  });

  it('never falls when a count rises', () => {
    const count = fc.constantFrom('input', 'output', 'cacheRead', 'cacheWrite');
    fc.assert(
      fc.property(pricedRow, usages, count, tokens, (row, usage, name, more) => {
        const before = priceOf(row, usage, { at: NOW });
        const after = priceOf(row, { ...usage, [name]: usage[name as 'input'] + more }, { at: NOW });
        if (before === null || after === null) return;
        expect(after.total).toBeGreaterThanOrEqual(before.total);
      }),
    );
  });

  it('is known or unknown, never not a number', () => {
    const maybe = fc.option(tokens, { nil: null });
    const anyUsage = fc.record({ input: maybe, output: maybe, cacheRead: maybe, cacheWrite: maybe, reasoning: maybe });
    fc.assert(
      fc.property(pricedRow, anyUsage, (row, usage) => {
        const cost = priceOf(row, usage, { at: NOW });
        if (usage.input === null || usage.output === null) expect(cost).toBeNull();
        else if (cost !== null) expect(Number.isFinite(cost.total)).toBe(true);
      }),
    );
  });
});

describe('the rate of cache hits', () => {
  it('is the share of the prompt that was read from a cache', () => {
    expect(cacheHitRate(used({ input: 100, cacheRead: 800, cacheWrite: 100 }))).toBe(0.8);
    expect(cacheHitRate(used({ input: 100, cacheRead: 100, cacheWrite: null }))).toBe(0.5);
    expect(cacheHitRate(used({ input: 100 }))).toBe(0);
  });

  it('is unknown when it was not counted, or when there was no prompt', () => {
    expect(cacheHitRate(used({ input: 100, cacheRead: null }))).toBeNull();
    expect(cacheHitRate(used({ input: null, cacheRead: 5 }))).toBeNull();
    expect(cacheHitRate(used({ output: 5 }))).toBeNull();
  });

  it('is between 0 and 1', () => {
    fc.assert(
      fc.property(usages, (usage) => {
        const rate = cacheHitRate(usage);
        expect(rate === null || (rate >= 0 && rate <= 1)).toBe(true);
      }),
    );
  });
});

it('says of every limit in it who said so and when, and leaves the others out', () => {
  for (const row of CATALOGUE) {
    const limited = row.contextWindow !== undefined || row.outputLimit !== undefined;
    expect([row.id, row.limits !== undefined]).toEqual([row.id, limited]);
    if (row.limits !== undefined) expect(row.limits.read).toMatch(/^2026-/);
  }
  // Not found anywhere, so not known.
  expect(lookUp('openai', 'gpt-6.2-astra')?.contextWindow).toBeUndefined();
});

describe('a row of your own', () => {
  it.each<[string, Partial<CatalogueRow>, string]>([
    ['a negative price', { prices: [{ ...BASE, input: -1 }] }, '`input` is -1'],
    ['a price that is no number', { prices: [{ ...BASE, output: Number.NaN }] }, '`output` is NaN'],
    ['no source', { prices: [{ read: '2026-11-21', source: ' ' }] }, '`source` is empty'],
    ['a day that is none', { prices: [{ read: '2026-02-31', source: 'x' }] }, "`read` is '2026-02-31'"],
    ['a day in words', { prices: [{ ...BASE, until: 'tomorrow' }] }, "`until` is 'tomorrow'"],
    ['falling thresholds', { prices: [{ ...BASE, tiers: [{ above: 2 }, { above: 1 }] }] }, 'must be above 0 and rise'],
    ['hours of no day', { prices: [{ ...BASE, weekdayHours: [[20, 4]] }] }, 'hours from 20 to 4'],
    ['limits without a source', { limits: { read: '2026-11-21', source: '' } }, '`limits`: `source` is empty'],
    ['half a token', { contextWindow: 0.5 }, '`contextWindow` is 0.5'],
    ['no name', { id: '' }, 'must not be empty'],
  ])('is refused with %s', (_what, fields, message) => {
    const row = { provider: 'openai', id: 'mine', ...fields };
    expect(() => checkRow(row)).toThrow(message);
    const make = () => resolveModel('openai/gpt-5', { apiKey: 'test-key', catalogue: [row] });
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });

  it('makes a model of this machine free, because you say so', () => {
    const free = { ...BASE, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const options = { baseUrl: 'http://localhost:1/v1', env: {} };
    const usage = used({ input: 1000, output: 1000, cacheRead: null, cacheWrite: null });
    expect(resolveModel('openai/qwen3', options).cost).toBeUndefined();
    const model = resolveModel('openai/qwen3', {
      ...options,
      catalogue: [{ provider: 'openai', id: '*', prices: [free] }],
    });
    expect(model.cost?.(usage)).toBe(0);
  });
});

describe('a model', () => {
  const key = { apiKey: 'test-key', env: {} };

  it('knows its context window and its price', () => {
    const model = resolveModel('anthropic/claude-sonnet-4-5-20250929', key);
    expect(model.contextWindow).toBe(200_000);
    expect(model.cost?.(used({ input: 1_000_000, output: 1_000_000 }))).toBe(18);
    expect(model.cost?.(UNKNOWN_USAGE)).toBeNull();
  });

  it('believes the caller about its context window', () => {
    expect(resolveModel('anthropic/claude-sonnet-4-5', { ...key, contextWindow: 1_000_000 }).contextWindow).toBe(
      1_000_000,
    );
  });

  it('asks its clock which price holds', () => {
    const prices = [
      { ...BASE, input: 1, output: 1, until: '2026-12-31' },
      { ...BASE, input: 2, output: 2, from: '2027-01-01' },
    ];
    let now = Date.parse('2026-12-31T12:00:00Z');
    const clock = { now: () => now, after: () => () => undefined };
    const model = resolveModel('openai/own', { ...key, clock, catalogue: [{ provider: 'openai', id: 'own', prices }] });
    expect(model.cost?.(used({ input: 1_000_000 }))).toBe(1);
    now = Date.parse('2027-01-01T12:00:00Z');
    expect(model.cost?.(used({ input: 1_000_000 }))).toBe(2);
  });

  it('of one provider loads the rows of no other', async () => {
    const hook = `
      import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) { console.log(url); return next(url, context); } });
      await import(${JSON.stringify(fileURLToPath(new URL('../anthropic.ts', import.meta.url)))});
    `;
    const args = ['--conditions=treadle-source', '--input-type=module', '--eval', hook];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const rows = stdout.split('\n').filter((url) => url.includes('/catalogue/rows/'));
    expect(rows.map((url) => url.split('/').at(-1))).toEqual(['anthropic.ts']);
  });
});
