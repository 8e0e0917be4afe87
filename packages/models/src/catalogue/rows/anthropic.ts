import type { CataloguePrice, CatalogueRow } from '../row.ts';

const SOURCE = 'Anthropic pricing page, https://platform.claude.com/docs/en/about-claude/pricing';
const READ = '2026-10-24';

/** Prices as the page's columns have them: base input, 5-minute writes, 1-hour writes, cache hits, output. */
const price = (
  input: number,
  cacheWrite: number,
  cacheWrite1h: number,
  cacheRead: number,
  output: number,
): CataloguePrice => ({ input, output, cacheRead, cacheWrite, cacheWrite1h, read: READ, source: SOURCE });

const MODEL = { provider: 'anthropic', inputModalities: ['text', 'image', 'pdf'], thinking: true } as const;
const LIMITS = {
  read: '2026-11-21',
  source: 'Anthropic model pages, https://platform.claude.com/docs/en/models/…/overview, and models.dev',
} as const;
const limited = (contextWindow: number, outputLimit: number) => ({
  ...MODEL,
  limits: LIMITS,
  contextWindow,
  outputLimit,
});
const LARGE = limited(1_000_000, 128_000);

/** Models of Anthropic's own API. Bedrock and Vertex have prices of their own. */
export const ANTHROPIC_ROWS: readonly CatalogueRow[] = [
  { ...LARGE, id: 'claude-fable-5-2', aliases: ['claude-mythos-5-2'], prices: [price(8, 10, 16, 0.2, 40)] },
  { ...LARGE, id: 'claude-fable-5-1', prices: [price(10, 12.5, 20, 0.25, 50)] },
  // Its limits have not been read.
  { ...MODEL, id: 'claude-mythos-5-1', prices: [price(10, 12.5, 20, 0.25, 50)] },
  { ...LARGE, id: 'claude-fable-5', prices: [price(10, 12.5, 20, 1, 50)] },
  { ...LARGE, id: 'claude-mythos-5', prices: [price(10, 12.5, 20, 1, 50)] },
  { ...LARGE, id: 'claude-opus-5-5', prices: [price(4, 5, 8, 0.2, 20)] },
  { ...LARGE, id: 'claude-opus-5', prices: [price(5, 6.25, 10, 0.5, 25)] },
  { ...LARGE, id: 'claude-opus-4-8', prices: [price(5, 6.25, 10, 0.5, 25)] },
  { ...LARGE, id: 'claude-opus-4-7', prices: [price(5, 6.25, 10, 0.5, 25)] },
  { ...LARGE, id: 'claude-opus-4-6', prices: [price(5, 6.25, 10, 0.5, 25)] },
  { ...limited(200_000, 64_000), id: 'claude-opus-4-5', prices: [price(5, 6.25, 10, 0.5, 25)] },
  {
    ...limited(200_000, 32_000),
    id: 'claude-opus-4-1',
    retires: '2026-08-05',
    prices: [price(15, 18.75, 30, 1.5, 75)],
  },
  { ...LARGE, id: 'claude-sonnet-5-5', prices: [price(2, 2.5, 4, 0.1, 10)] },
  { ...LARGE, id: 'claude-sonnet-5', prices: [price(2, 2.5, 4, 0.2, 10)] },
  { ...LARGE, id: 'claude-sonnet-4-6', prices: [price(3, 3.75, 6, 0.3, 15)] },
  { ...limited(200_000, 64_000), id: 'claude-sonnet-4-5', retires: '2026-11-30', prices: [price(3, 3.75, 6, 0.3, 15)] },
  {
    ...LARGE,
    id: 'claude-haiku-5-5',
    prices: [
      {
        ...price(0.1, 0.125, 0.2, 0.01, 0.5),
        tiers: [{ above: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625, cacheWrite1h: 1 }],
      },
    ],
  },
  { ...limited(200_000, 64_000), id: 'claude-haiku-4-5', prices: [price(1, 1.25, 2, 0.1, 5)] },
];
