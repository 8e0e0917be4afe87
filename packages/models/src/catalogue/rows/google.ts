import type { CataloguePrice, CatalogueRow } from '../row.ts';
import { GOOGLE_SNAPSHOT } from '../snapshot/google.ts';

const SOURCE = 'Gemini API pricing page, https://ai.google.dev/gemini-api/docs/pricing';
const READ = '2026-10-09';

/**
 * Paid tier, prices of text, images and video; 3.1 Flash-Lite and the 2.5 Flash models charge more for audio. Gemini caches
 * by itself and bills what it keeps as input; the hourly price of caches that are made on purpose is not in here.
 */
const price = (input: number, cacheRead: number, output: number): CataloguePrice => ({
  input,
  output,
  cacheRead,
  cacheWrite: input,
  read: READ,
  source: SOURCE,
});

/** The launch price and the one that was announced with it. */
const FLASH_PRICES: readonly CataloguePrice[] = [
  { ...price(0.75, 0.075, 3.75), until: '2026-12-31' },
  { ...price(1.5, 0.15, 7.5), from: '2027-01-01' },
];

const MODEL = {
  provider: 'google',
  inputModalities: ['text', 'image', 'video', 'audio', 'pdf'],
  thinking: true,
} as const;
const KNOWN = {
  ...MODEL,
  contextWindow: 1_048_576,
  outputLimit: 65_536,
  limits: { read: '2026-11-21', source: 'models.dev, after https://ai.google.dev/gemini-api/docs/models' },
} as const;

/** Models of the Gemini API. Vertex has prices of its own. */
export const GOOGLE_ROWS: readonly CatalogueRow[] = [
  {
    ...KNOWN,
    id: 'gemini-4-argon',
    // The launch price and the one that was announced with it; see FLASH_PRICES.
    prices: [
      { ...price(2, 0.1, 10), until: '2026-11-30' },
      { ...price(4, 0.2, 20), from: '2026-12-01' },
    ],
  },
  { ...KNOWN, id: 'gemini-3.8-flash', prices: FLASH_PRICES },
  // The page names no price from 2027 on for these two.
  { ...KNOWN, id: 'gemini-3.7-flash', prices: FLASH_PRICES.slice(0, 1) },
  { ...KNOWN, id: 'gemini-3.6-flash', prices: FLASH_PRICES.slice(0, 1) },
  { ...KNOWN, id: 'gemini-3.5-flash', prices: [price(1.5, 0.15, 9)] },
  // Two readings of the page disagree about its cache price.
  {
    ...KNOWN,
    id: 'gemini-3.5-flash-lite',
    prices: [{ input: 0.3, output: 2.5, cacheWrite: 0.3, read: READ, source: SOURCE }],
  },
  {
    ...KNOWN,
    id: 'gemini-3.1-pro-preview',
    aliases: ['gemini-3.1-pro-preview-customtools'],
    prices: [
      {
        ...price(2, 0.2, 12),
        tiers: [{ above: 200_000, input: 4, output: 18, cacheRead: 0.4, cacheWrite: 4 }],
      },
    ],
  },
  { ...KNOWN, id: 'gemini-3.1-flash-lite', prices: [price(0.25, 0.025, 1.5)] },
  {
    ...KNOWN,
    id: 'gemini-2.5-pro',
    prices: [
      {
        ...price(1.25, 0.125, 10),
        source: `${SOURCE}; cache prices as models.dev has them`,
        tiers: [{ above: 200_000, input: 2.5, output: 15, cacheRead: 0.25, cacheWrite: 2.5 }],
      },
    ],
  },
  {
    ...KNOWN,
    id: 'gemini-2.5-flash',
    prices: [{ ...price(0.3, 0.03, 2.5), source: `${SOURCE}; cache price as models.dev has it` }],
  },
  ...GOOGLE_SNAPSHOT,
  { ...KNOWN, id: 'gemini-2.5-flash-lite', prices: [price(0.1, 0.01, 0.4)] },
];
