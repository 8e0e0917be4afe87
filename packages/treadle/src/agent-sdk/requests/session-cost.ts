import type { JsonObject } from '@treadle/core';

import type { Opened } from './opened.ts';

/** What the session has cost since this process began, as a text for people. */
export function sessionCost({ projection }: Opened): JsonObject {
  const models = Object.entries(projection.modelUsage()).map(
    ([name, { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens, costUSD }]) =>
      `  ${name}: ${inputTokens} input, ${outputTokens} output, ${cacheReadInputTokens} cache read, ` +
      `${cacheCreationInputTokens} cache write ($${(costUSD ?? 0).toFixed(4)})`,
  );
  const total = `Total cost: $${projection.spent().toFixed(4)}`;
  return { text: [total, ...(models.length > 0 ? ['Usage by model:', ...models] : [])].join('\n') };
}
