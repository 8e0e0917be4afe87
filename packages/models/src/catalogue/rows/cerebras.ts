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
    id: 'gpt-oss-120b',
    contextWindow: 131_072,
    inputModalities: ['text'],
    thinking: true,
    prices: [price('2026-06-12', 'gpt-oss-120b', 0.35, 0.75)],
  },
  {
    provider: 'cerebras',
    id: 'qwen-3.8-27b',
    contextWindow: 65_536,
    outputLimit: 32_768,
    inputModalities: ['text', 'image'],
    thinking: true,
    prices: [price('2026-09-03', 'qwen-3.8-27b', 0.99, 1.49)],
  },
];
