import type { CataloguePrice, CatalogueRow, PriceTier } from '../row.ts';
import { OPENAI_SNAPSHOT } from '../snapshot/openai.ts';

const SOURCE = 'OpenAI pricing page, https://developers.openai.com/api/docs/pricing';
const READ = '2026-10-09';

/** Models before GPT-5.6: the page has no column of writes for them, and its guide says that they cost nothing extra. */
const price = (input: number, cacheRead: number, output: number, tiers?: readonly PriceTier[]): CataloguePrice => ({
  input,
  output,
  cacheRead,
  cacheWrite: input,
  read: READ,
  source: SOURCE,
  ...(tiers === undefined ? {} : { tiers }),
});

const LONG_PROMPT = 272_000;

const MODEL = { provider: 'openai', inputModalities: ['text', 'image', 'pdf'], thinking: true } as const;
const LIMITS = {
  read: '2026-11-21',
  source: 'models.dev, and OpenAI model pages, https://developers.openai.com/api/docs/models',
} as const;
const KNOWN = { ...MODEL, limits: LIMITS } as const;
/** Prompt and reply together; the prompt ends before. */
const LARGE = { ...KNOWN, contextWindow: 1_050_000, maxInput: 922_000, outputLimit: 128_000 } as const;
const GPT_5 = { ...KNOWN, contextWindow: 400_000, outputLimit: 128_000 } as const;
const GPT_4_1 = { ...KNOWN, thinking: false, contextWindow: 1_047_576, outputLimit: 32_768 } as const;
const GPT_4O = { ...KNOWN, thinking: false, contextWindow: 128_000, outputLimit: 16_384 } as const;
const O_SERIES = { ...KNOWN, contextWindow: 200_000, outputLimit: 100_000 } as const;

/** GPT-5.6 and later, which charge for writes to the cache. */
const GPT_6_ROWS: readonly CatalogueRow[] = [
  {
    ...LARGE,
    id: 'gpt-6-astra',
    prices: [
      {
        ...price(10, 1, 50, [{ above: LONG_PROMPT, input: 20, output: 75, cacheRead: 2, cacheWrite: 25 }]),
        cacheWrite: 12.5,
      },
    ],
  },
  {
    ...LARGE,
    id: 'gpt-6.1-sol',
    prices: [
      {
        ...price(2, 0.1, 10, [{ above: LONG_PROMPT, input: 4, output: 15, cacheRead: 0.2, cacheWrite: 5 }]),
        cacheWrite: 2.5,
      },
    ],
  },
  {
    ...LARGE,
    id: 'gpt-6.1-terra',
    prices: [
      {
        ...price(1, 0.05, 5, [{ above: LONG_PROMPT, input: 2, output: 7.5, cacheRead: 0.1, cacheWrite: 2.5 }]),
        cacheWrite: 1.25,
        from: '2026-10-26',
        read: '2026-10-27',
      },
    ],
  },
  {
    ...LARGE,
    id: 'gpt-6-sol',
    prices: [{ ...price(2, 0.2, 10, [{ above: LONG_PROMPT }]), cacheWrite: 2.5 }],
  },
  {
    ...LARGE,
    id: 'gpt-6-luna',
    prices: [
      {
        ...price(0.1, 0.01, 0.5, [{ above: LONG_PROMPT, input: 0.2, output: 0.75, cacheRead: 0.02 }]),
        cacheWrite: 0.125,
      },
    ],
  },
  {
    ...LARGE,
    id: 'gpt-5.6-sol',
    aliases: ['gpt-5.6'],
    // Its price was moving when it was read, and neither writes nor long prompts were on that reading.
    prices: [{ input: 4, output: 20, cacheRead: 0.4, tiers: [{ above: LONG_PROMPT }], read: READ, source: SOURCE }],
  },
  {
    ...LARGE,
    id: 'gpt-5.6-terra',
    prices: [{ ...price(2, 0.2, 12, [{ above: LONG_PROMPT, input: 4, output: 18 }]), cacheWrite: 2.5 }],
  },
  {
    ...LARGE,
    id: 'gpt-5.6-luna',
    prices: [{ ...price(0.2, 0.02, 1.2, [{ above: LONG_PROMPT, input: 0.4, output: 1.8 }]), cacheWrite: 0.25 }],
  },
];

/** Models of OpenAI's own API, standard processing. Azure has prices of its own. */
export const OPENAI_ROWS: readonly CatalogueRow[] = [
  ...GPT_6_ROWS,
  ...OPENAI_SNAPSHOT,
  {
    ...LARGE,
    id: 'gpt-5.5',
    prices: [price(5, 0.5, 30, [{ above: LONG_PROMPT, input: 10, output: 45, cacheRead: 1, cacheWrite: 10 }])],
  },
  {
    ...LARGE,
    id: 'gpt-5.4',
    prices: [price(2.5, 0.25, 15, [{ above: LONG_PROMPT, input: 5, output: 22.5, cacheRead: 0.5, cacheWrite: 5 }])],
  },
  { ...GPT_5, id: 'gpt-5.4-mini', prices: [price(0.75, 0.075, 4.5)] },
  { ...GPT_5, id: 'gpt-5.4-nano', prices: [price(0.2, 0.02, 1.25)] },
  { ...GPT_5, id: 'gpt-5.2', prices: [price(1.75, 0.175, 14)] },
  { ...GPT_5, id: 'gpt-5.1', retires: '2027-04-01', prices: [price(1.25, 0.125, 10)] },
  { ...GPT_5, id: 'gpt-5', retires: '2026-12-11', prices: [price(1.25, 0.125, 10)] },
  { ...GPT_5, id: 'gpt-5-mini', retires: '2026-12-11', prices: [price(0.25, 0.025, 2)] },
  { ...GPT_5, id: 'gpt-5-nano', retires: '2026-12-11', prices: [price(0.05, 0.005, 0.4)] },
  { ...GPT_4_1, id: 'gpt-4.1', retires: '2027-01-14', prices: [price(2, 0.5, 8)] },
  { ...GPT_4_1, id: 'gpt-4.1-mini', retires: '2027-01-14', prices: [price(0.4, 0.1, 1.6)] },
  { ...GPT_4_1, id: 'gpt-4.1-nano', retires: '2026-10-23', prices: [price(0.1, 0.025, 0.4)] },
  { ...GPT_4O, id: 'gpt-4o', retires: '2027-01-14', prices: [price(2.5, 1.25, 10)] },
  // Older and dearer than what the name without its date means.
  {
    ...GPT_4O,
    id: 'gpt-4o-2024-05-13',
    retires: '2026-10-23',
    outputLimit: 4096,
    prices: [{ input: 5, output: 15, read: READ, source: SOURCE }],
  },
  { ...GPT_4O, id: 'gpt-4o-mini', retires: '2027-01-14', prices: [price(0.15, 0.075, 0.6)] },
  { ...O_SERIES, id: 'o3', retires: '2026-12-11', prices: [price(2, 0.5, 8)] },
  { ...O_SERIES, id: 'o4-mini', retires: '2026-10-23', prices: [price(1.1, 0.275, 4.4)] },
];
