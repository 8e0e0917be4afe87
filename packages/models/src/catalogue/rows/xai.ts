import type { CataloguePrice, CatalogueRow, PriceTier } from '../row.ts';

const SOURCE = 'xAI pricing page, https://docs.x.ai/developers/pricing';

/** Writing to the cache costs nothing extra. */
const price = (
  read: string,
  [input, cacheRead, output]: readonly [number, number, number],
  [longInput, longCacheRead, longOutput]: readonly [number, number, number],
): CataloguePrice => {
  const tier: PriceTier = {
    above: 200_000,
    input: longInput,
    output: longOutput,
    cacheRead: longCacheRead,
    cacheWrite: longInput,
  };
  return { input, output, cacheRead, cacheWrite: input, tiers: [tier], read, source: SOURCE };
};

const LIMITS = { read: '2026-11-21', source: 'models.dev, after https://docs.x.ai/developers/models' } as const;

const MODEL = { provider: 'xai', inputModalities: ['text', 'image'], thinking: true } as const;
const limited = (contextWindow: number, outputLimit: number) => ({
  ...MODEL,
  limits: LIMITS,
  contextWindow,
  outputLimit,
});

export const XAI_ROWS: readonly CatalogueRow[] = [
  { ...limited(500_000, 500_000), id: 'grok-4.7', prices: [price('2026-09-22', [2, 0.5, 6], [4, 1, 12])] },
  { ...limited(500_000, 500_000), id: 'grok-4.6', prices: [price('2026-10-09', [2, 0.5, 6], [4, 1, 12])] },
  {
    ...limited(500_000, 500_000),
    id: 'grok-4.5',
    // Two readings disagree about its cache price.
    prices: [
      {
        input: 2,
        output: 6,
        cacheWrite: 2,
        tiers: [{ above: 200_000, input: 4, output: 12, cacheWrite: 4 }],
        read: '2026-09-18',
        source: SOURCE,
      },
    ],
  },
  {
    ...limited(1_000_000, 30_000),
    id: 'grok-4.3',
    prices: [
      {
        ...price('2026-10-08', [1.25, 0.2, 2.5], [2.5, 0.4, 5]),
        source: `${SOURCE}; cache and long prompts as models.dev has them`,
      },
    ],
  },
];
