import type { CataloguePrice, CatalogueRow } from '../row.ts';

const SOURCE = 'DeepSeek, Models & Pricing, https://api-docs.deepseek.com/quick_start/pricing';
const READ = '2026-10-27';

/** Off-peak prices; at peak hours everything costs twice as much. What isn't in the cache is input. */
const price = (cacheRead: number, input: number, output: number): readonly CataloguePrice[] => [
  {
    input: input * 2,
    output: output * 2,
    cacheRead: cacheRead * 2,
    cacheWrite: input * 2,
    // Chinese public holidays are off-peak too. They are not known here, and so cost too much.
    weekdayHours: [
      [1, 4],
      [6, 10],
    ],
    read: READ,
    source: SOURCE,
  },
  { input, output, cacheRead, cacheWrite: input, read: READ, source: SOURCE },
];

const MODEL = {
  provider: 'deepseek',
  // Two readings: a million, and 1,048,576.
  contextWindow: 1_000_000,
  outputLimit: 384_000,
  limits: { read: '2026-11-21', source: 'models.dev, after DeepSeek’s model cards' },
  thinking: true,
} as const;

export const DEEPSEEK_ROWS: readonly CatalogueRow[] = [
  {
    ...MODEL,
    id: 'deepseek-flash',
    // Retired names, served by the same model at the same price.
    aliases: ['deepseek-v4-flash', 'deepseek-v4-flash-vision-exp'],
    inputModalities: ['text', 'image'],
    prices: price(0.003, 0.15, 0.6),
  },
  { ...MODEL, id: 'deepseek-v4-pro', inputModalities: ['text'], prices: price(0.022, 0.66, 1.98) },
];
