import { systemClock, type Clock, type Usage } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { findRow } from './find.ts';
import { priceAt, priceOf } from './price.ts';
import { checkRow, type CatalogueRow } from './row.ts';

/** What a model says about itself by its row: nothing, when there is none. */
export interface ModelFacts {
  readonly contextWindow?: number;
  readonly maxInput?: number;
  readonly priceStep?: number;
  readonly outputLimit?: number;
  readonly cost?: (usage: Usage) => number | null;
}

/**
 * The facts of a model: from the caller's rows first, then from those its deployment brings.
 *
 * @throws TreadleError `invalid_definition` when a row of the caller's can't be right.
 */
export function modelFacts(
  provider: string,
  modelId: string,
  own: readonly CatalogueRow[] = [],
  known: readonly CatalogueRow[] = [],
  clock: Clock = systemClock,
): ModelFacts {
  for (const row of own) checkRow(row);
  const row = findRow(provider, modelId, own, known);
  if (row === undefined) return {};
  return {
    ...defined({
      contextWindow: row.contextWindow,
      maxInput: row.maxInput,
      priceStep: priceAt(row, clock.now())?.tiers?.[0]?.above,
      outputLimit: row.outputLimit,
    }),
    ...(row.prices && { cost: (usage) => priceOf(row, usage, { at: clock.now() })?.total ?? null }),
  };
}
