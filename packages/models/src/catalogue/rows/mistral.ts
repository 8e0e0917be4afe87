import type { CataloguePrice, CatalogueRow } from '../row.ts';
import { MISTRAL_SNAPSHOT } from '../snapshot/mistral.ts';

/**
 * Cached tokens cost a tenth, and what isn't cached is input:
 * https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching.
 */
const price = (
  read: string,
  page: string,
  [input, cacheRead, output]: readonly [number, number, number],
): CataloguePrice => ({
  input,
  output,
  cacheRead,
  cacheWrite: input,
  read,
  source: `Mistral model page, https://docs.mistral.ai/models/${page}`,
});

const LIMITS = { read: '2026-11-21', source: 'models.dev, after https://docs.mistral.ai/models' } as const;

const MODEL = { provider: 'mistral', inputModalities: ['text', 'image'] } as const;
const KNOWN = { ...MODEL, limits: LIMITS, contextWindow: 262_144, outputLimit: 262_144 } as const;

export const MISTRAL_ROWS: readonly CatalogueRow[] = [
  {
    ...KNOWN,
    contextWindow: 1_048_576,
    id: 'mistral-large-4',
    aliases: ['mistral-large-4-0'],
    thinking: true,
    // Half of the list price, while it is a preview.
    prices: [price('2026-10-06', 'mistral-large-4-0', [0.68, 0.07, 2.09])],
  },
  {
    ...KNOWN,
    id: 'mistral-medium-2604',
    aliases: ['mistral-medium-3-5', 'mistral-medium-3.5'],
    thinking: true,
    prices: [price('2026-08-27', 'mistral-medium-3-5-26-04', [1.5, 0.15, 7.5])],
  },
  { ...KNOWN, id: 'mistral-large-2512', thinking: false },
  ...MISTRAL_SNAPSHOT,
];
