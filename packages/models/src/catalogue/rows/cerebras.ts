import type { CataloguePrice, CatalogueRow } from '../row.ts';

/** Cached tokens cost what others cost: https://inference-docs.cerebras.ai/capabilities/prompt-caching. */
const price = (read: string, id: string, input: number, output: number): CataloguePrice => ({
  input,
  output,
  cacheRead: input,
  cacheWrite: input,
  read,
  source: `Cerebras model page, https://inference-docs.cerebras.ai/models/${id}`,
});

export const CEREBRAS_ROWS: readonly CatalogueRow[] = [
  {
    provider: 'cerebras',
    // Its limits have not been read.
    id: 'gpt-oss-120b',
    inputModalities: ['text'],
    thinking: true,
    prices: [price('2026-06-12', 'gpt-oss-120b', 0.35, 0.75)],
  },
  {
    provider: 'cerebras',
    id: 'qwen-3.8-27b',
    contextWindow: 65_536,
    outputLimit: 32_768,
    limits: { read: '2026-11-21', source: 'models.dev, after https://api.cerebras.ai/public/v1/models' },
    inputModalities: ['text', 'image'],
    thinking: true,
    prices: [price('2026-09-03', 'qwen-3.8-27b', 0.99, 1.49)],
  },
];
