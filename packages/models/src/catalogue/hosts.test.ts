import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import { CATALOGUE, CATALOGUE_DATE, checkRow, lookUp, readCatalogue, retiring, writeCatalogue } from './index.ts';

const env = {
  AWS_REGION: 'us-east-1',
  GOOGLE_CLOUD_PROJECT: 'mine',
  GOOGLE_CLOUD_LOCATION: 'global',
  AZURE_OPENAI_BASE_URL: 'https://mine.example.com',
};
const key = { apiKey: 'test-key', env };
const USAGE = { input: 100_000, output: 10_000, cacheRead: 0, cacheWrite: 0, reasoning: null };

describe('a model of a cloud or a gateway', () => {
  it.each([
    ['bedrock/us.anthropic.claude-opus-5-5', 1_000_000, 128_000, 0.66],
    ['bedrock/global.anthropic.claude-opus-5-5', 1_000_000, 128_000, 0.6],
    ['bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0', 200_000, 64_000, 0.165],
    ['bedrock/global.openai.gpt-6.1-sol', 1_050_000, 128_000, 0.3],
    ['vertex/gemini-3.8-flash', 1_048_576, 65_536, 0.1125],
    ['vertex/claude-opus-4-5@20251101', 200_000, 64_000, 0.75],
    ['azure/gpt-6-luna', 1_050_000, 128_000, 0.015],
    ['openrouter/anthropic/claude-opus-5.5', 1_000_000, 128_000, 0.6],
    ['openrouter/x-ai/grok-4.7', 500_000, 500_000, 0.26],
    ['openrouter/moonshotai/kimi-k3', 1_048_576, 131_072, 0.45],
  ])('%s has the window, the limit and the price of its maker’s row', (name, window, output, cost) => {
    // Prices are those of the snapshot's own day: some change by themselves.
    const clock = { now: () => Date.parse(`${CATALOGUE_DATE}T12:00:00Z`), after: () => () => undefined };
    const model = resolveModel(name, { ...key, clock });
    expect([model.contextWindow, model.outputLimit]).toEqual([window, output]);
    expect(model.cost?.(USAGE)).toBeCloseTo(cost, 9);
  });

  it('has no price where only the region tells it, and none for a variant', () => {
    expect(resolveModel('bedrock/anthropic.claude-opus-5-5', key).cost).toBeUndefined();
    expect(resolveModel('bedrock/anthropic.claude-opus-5-5', key).contextWindow).toBe(1_000_000);
    expect(lookUp('openrouter', 'openai/gpt-6-luna:free')).toBeUndefined();
  });

  it('has rows of its own where no maker’s API serves it', () => {
    expect(lookUp('bedrock', 'us.amazon.nova-pro-v1:0')?.contextWindow).toBe(300_000);
    expect(lookUp('openrouter', 'qwen/qwen3.7-max')?.contextWindow).toBeGreaterThan(200_000);
  });

  it('has no day of retirement: the cloud decides about that', () => {
    expect(lookUp('anthropic', 'claude-sonnet-4-5')?.retires).toBe('2026-11-30');
    expect(lookUp('bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0')?.retires).toBeUndefined();
  });
});

describe('the catalogue', () => {
  it('has the models of November 2026 with their limits', () => {
    const current = [
      ...['claude-fable-5-2', 'claude-fable-5-1', 'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'].map(
        (id) => `anthropic/${id}`,
      ),
      ...[
        'gpt-6.1-sol',
        'gpt-6.1-terra',
        'gpt-6-astra',
        'gpt-6-sol',
        'gpt-6-luna',
        'gpt-5.3-codex',
        'gpt-5-pro',
        'o3-mini',
      ].map((id) => `openai/${id}`),
      ...[
        'gemini-4-argon',
        'gemini-3.8-flash',
        'gemini-3.7-flash',
        'gemini-3.6-flash',
        'gemini-3.5-flash-lite',
        'gemini-3-flash-preview',
      ].map((id) => `google/${id}`),
      ...['xai/grok-4.6', 'mistral/mistral-large-4', 'moonshot/kimi-k3', 'zai/glm-5.3', 'together/moonshotai/Kimi-K3'],
    ];
    const unknown = current.filter((name) => {
      const slash = name.indexOf('/');
      return lookUp(name.slice(0, slash), name.slice(slash + 1))?.contextWindow === undefined;
    });
    expect(unknown).toEqual([]);
  });

  it('says what a prompt may have where the window is for prompt and reply together, and where it costs more', () => {
    const model = resolveModel('openai/gpt-6.1-terra', key);
    expect(model).toMatchObject({ contextWindow: 1_050_000, maxInput: 922_000, priceStep: 272_000 });
    expect(resolveModel('anthropic/claude-haiku-5-5', key).priceStep).toBe(100_000);
  });

  it('has only rows that can be right, each name once', () => {
    for (const row of CATALOGUE) checkRow(row);
    const names = CATALOGUE.map(({ provider, id }) => `${provider}/${id}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('is in the package as a file, as it is in the code', () => {
    const text = readFileSync(new URL('../../catalogue.json', import.meta.url), 'utf8');
    expect(text, 'run `npm run catalogue`').toBe(writeCatalogue({ date: CATALOGUE_DATE, rows: CATALOGUE }));
    expect(readCatalogue(text).rows).toHaveLength(CATALOGUE.length);
  });
});

describe('a catalogue file', () => {
  it.each([
    ['no', 'not JSON'],
    ['[]', 'no list of `rows`'],
    ['{"format":2,"date":"2026-11-22","rows":[]}', 'has the format 2'],
    ['{"format":1,"rows":[]}', 'no `date`'],
    ['{"format":1,"date":"2026-11-22","rows":[{"provider":"a"}]}', 'no `id`'],
    ['{"format":1,"date":"2026-11-22","rows":[{"provider":"a","id":"b","contextWindow":-1}]}', '`contextWindow` is -1'],
    ['{"format":1,"date":"2026-11-22","rows":[{"provider":"a","id":"b","prices":{}}]}', 'Row a/b'],
    ['{"format":1,"date":"2026-11-22","rows":[{"provider":"a","id":"b","prices":[null]}]}', 'Row a/b'],
  ])('is refused when it is %s', (text, message) => {
    expect(() => readCatalogue(text)).toThrow(message);
  });
});

it('tells which models are shut down within some days of a date', () => {
  const names = [
    'anthropic/claude-sonnet-4-5',
    'openai/gpt-5',
    'openai/gpt-4o',
    'anthropic/claude-sonnet-5-5',
    'own/model',
  ];
  expect(retiring(names, '2026-11-22', 60).map(({ name }) => name)).toEqual(names.slice(0, 3));
  expect(retiring(names, '2026-11-22', 10)).toEqual([{ name: names[0], retires: '2026-11-30' }]);
  // What is gone is about to be gone too.
  expect(retiring(['openai/o4-mini'], '2026-11-22', 60)).toHaveLength(1);
});
