import type { CataloguePrice, CatalogueRow } from '../row.ts';
import { GROQ_SNAPSHOT } from '../snapshot/groq.ts';

const SOURCE = 'Groq pricing page, https://groq.com/pricing';

/** Cached tokens cost half, and writing to the cache nothing extra: https://console.groq.com/docs/prompt-caching. */
const price = (read: string, input: number, output: number): CataloguePrice => ({
  input,
  output,
  cacheRead: input / 2,
  cacheWrite: input,
  read,
  source: SOURCE,
});

const LIMITS = { read: '2026-11-21', source: 'models.dev, after https://console.groq.com/docs/models' } as const;

const GPT_OSS = {
  limits: LIMITS,
  provider: 'groq',
  contextWindow: 131_072,
  outputLimit: 65_536,
  inputModalities: ['text'],
  thinking: true,
} as const;

export const GROQ_ROWS: readonly CatalogueRow[] = [
  ...GROQ_SNAPSHOT,
  { ...GPT_OSS, id: 'openai/gpt-oss-120b', prices: [price('2026-05-27', 0.15, 0.6)] },
  { ...GPT_OSS, id: 'openai/gpt-oss-20b', prices: [price('2026-05-27', 0.075, 0.3)] },
  {
    provider: 'groq',
    id: 'qwen/qwen3.8-27b',
    contextWindow: 131_042,
    limits: LIMITS,
    outputLimit: 16_384,
    inputModalities: ['text', 'image'],
    thinking: true,
    prices: [price('2026-08-29', 0.8, 4)],
  },
];
