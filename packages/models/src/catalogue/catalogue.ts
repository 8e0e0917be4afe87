import { findRow } from './find.ts';
import type { CatalogueRow } from './row.ts';
import { ANTHROPIC_ROWS } from './rows/anthropic.ts';
import { CEREBRAS_ROWS } from './rows/cerebras.ts';
import { DEEPSEEK_ROWS } from './rows/deepseek.ts';
import { GOOGLE_ROWS } from './rows/google.ts';
import { GROQ_ROWS } from './rows/groq.ts';
import { MISTRAL_ROWS } from './rows/mistral.ts';
import { OPENAI_ROWS } from './rows/openai.ts';
import { XAI_ROWS } from './rows/xai.ts';
import { BEDROCK_SNAPSHOT } from './snapshot/bedrock.ts';
import { FIREWORKS_SNAPSHOT } from './snapshot/fireworks.ts';
import { MOONSHOT_SNAPSHOT } from './snapshot/moonshot.ts';
import { OPENROUTER_SNAPSHOT } from './snapshot/openrouter.ts';
import { TOGETHER_SNAPSHOT } from './snapshot/together.ts';
import { SNAPSHOT } from './snapshot/row.ts';
import { ZAI_SNAPSHOT } from './snapshot/zai.ts';

/** All models that Treadle knows facts about. A model that isn't here works as well; its price is unknown. */
export const CATALOGUE: readonly CatalogueRow[] = [
  ...ANTHROPIC_ROWS,
  ...OPENAI_ROWS,
  ...GOOGLE_ROWS,
  ...XAI_ROWS,
  ...GROQ_ROWS,
  ...MISTRAL_ROWS,
  ...DEEPSEEK_ROWS,
  ...CEREBRAS_ROWS,
  ...MOONSHOT_SNAPSHOT,
  ...ZAI_SNAPSHOT,
  ...TOGETHER_SNAPSHOT,
  ...FIREWORKS_SNAPSHOT,
  ...BEDROCK_SNAPSHOT,
  ...OPENROUTER_SNAPSHOT,
];

/**
 * The row of a model, or undefined when nothing is known about it. A row's own names win; then a name with a date or a build
 * number after it counts as the one without; then a row whose id ends with `*` stands for every name that begins like it.
 *
 * @param rows Rows of your own. They come first; what such a row leaves out is taken from the catalogue's.
 * @example
 * ```ts
 * import { lookUp } from '@treadle/models/catalogue';
 *
 * console.log(lookUp('anthropic', 'claude-haiku-4-5-20251001')?.contextWindow); // 200000
 * console.log(lookUp('ollama', 'qwen3')); // undefined
 * ```
 */
export function lookUp(
  provider: string,
  modelId: string,
  rows: readonly CatalogueRow[] = [],
): CatalogueRow | undefined {
  return findRow(provider, modelId, rows, CATALOGUE);
}

/** The day on which the newest facts of the catalogue were read. */
export const CATALOGUE_DATE: string = SNAPSHOT.read;
