import { systemClock, type Usage } from '@treadle/core';
import type { CataloguePrice, CatalogueRow, TokenPrices } from './row.ts';

/** US dollars, in all and by kind of token. */
export interface Cost {
  readonly total: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Options of {@link priceOf}. */
export interface PriceOptions {
  /** When the tokens were spent, in milliseconds since 1970. Default: now. */
  readonly at?: number;
  /** How long a written cache lives. Default `5m`, which is what Treadle asks for. */
  readonly cacheLifetime?: '5m' | '1h';
}

const applies = (price: CataloguePrice, at: Date): boolean => {
  const day = at.toISOString().slice(0, 10);
  if (price.from !== undefined && day < price.from) return false;
  if (price.until !== undefined && day > price.until) return false;
  if (price.weekdayHours === undefined) return true;
  const weekday = at.getUTCDay();
  const hour = at.getUTCHours();
  return weekday >= 1 && weekday <= 5 && price.weekdayHours.some(([from, to]) => hour >= from && hour < to);
};

/** The prices that hold at a time; undefined when none are known. */
export const priceAt = ({ prices }: CatalogueRow, at: number): CataloguePrice | undefined =>
  prices?.find((price) => applies(price, new Date(at)));

/** The prices of a prompt of so many tokens. */
const tierFor = (price: CataloguePrice, promptTokens: number): TokenPrices => {
  let found: TokenPrices = price;
  for (const tier of price.tiers ?? []) if (promptTokens > tier.above) found = tier;
  return found;
};

/** Dollars for `count` tokens, or null when what is needed for them is unknown. None cost nothing at any price. */
const part = (count: number | null, price: number | undefined): number | null => {
  if (count === 0) return 0;
  return count === null || price === undefined ? null : (count * price) / 1_000_000;
};

/** Cached tokens that weren't counted apart were counted as input: where both cost the same, nothing is missing. */
const cachePart = (count: number | null, price: number | undefined, input: number | undefined): number | null =>
  part(count === null && price !== undefined && price === input ? 0 : count, price);

/**
 * What a usage costs by a row's prices, or null when a price or a count that is needed for it is unknown. The size of the
 * whole prompt, cached tokens included, decides about the tier of all of it.
 *
 * @example
 * ```ts
 * import { lookUp, priceOf } from '@treadle/models/catalogue';
 *
 * const row = lookUp('anthropic', 'claude-sonnet-4-5-20250929');
 * const usage = { input: 1000, output: 200, cacheRead: 9000, cacheWrite: 0, reasoning: null };
 * const cost = row === undefined ? null : priceOf(row, usage);
 * console.log(cost?.total); // 0.0087
 * ```
 */
export function priceOf(row: CatalogueRow, usage: Usage, options: PriceOptions = {}): Cost | null {
  const current = priceAt(row, options.at ?? systemClock.now());
  if (current === undefined || usage.input === null) return null;
  const prices = tierFor(current, usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0));
  const hour = options.cacheLifetime === '1h' ? usage.cacheWrite : (usage.cacheWrite1h ?? 0);
  const minutes = usage.cacheWrite === null ? null : usage.cacheWrite - (hour ?? 0);
  const input = part(usage.input, prices.input);
  const output = part(usage.output, prices.output);
  const cacheRead = cachePart(usage.cacheRead, prices.cacheRead, prices.input);
  const kept5m = cachePart(minutes, prices.cacheWrite, prices.input);
  const kept1h = cachePart(hour, prices.cacheWrite1h, prices.input);
  if (input === null || output === null || cacheRead === null || kept5m === null || kept1h === null) return null;
  const cacheWrite = kept5m + kept1h;
  return { total: input + output + cacheRead + cacheWrite, input, output, cacheRead, cacheWrite };
}
