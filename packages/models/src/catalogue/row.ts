import { TreadleError } from '@treadle/core';

/** US dollars per million tokens. A price that is absent is unknown; 0 means free. */
export interface TokenPrices {
  /** Prompt tokens that are neither read from a cache nor written to one. */
  readonly input?: number;
  /** Reasoning included. */
  readonly output?: number;
  readonly cacheRead?: number;
  /** Tokens written to a cache of the shortest life there is: five minutes at Anthropic. The same as `input` where writing costs nothing extra. */
  readonly cacheWrite?: number;
  /** Tokens written to a cache that lives for an hour. */
  readonly cacheWrite1h?: number;
}

/** The prices of long prompts. They replace the others for the whole request; none is taken over. */
export interface PriceTier extends TokenPrices {
  /** Prompts of more tokens than this, cached ones included. */
  readonly above: number;
}

/** The prices of a model as a source had them on a day. */
export interface CataloguePrice extends TokenPrices {
  /** The latest day on which the source is known to have said so, such as `2026-10-09`. */
  readonly read: string;
  /** Who said so: the provider's page, by name or address. */
  readonly source: string;
  /** By threshold, lowest first. */
  readonly tiers?: readonly PriceTier[];
  /** First day (UTC) of these prices, such as `2027-01-01`. Absent: since ever. */
  readonly from?: string;
  /** Last day (UTC) of these prices. Absent: until further notice. */
  readonly until?: string;
  /** Hours of the day (UTC, end excluded) that these prices are for, Monday to Friday. Absent: always. */
  readonly weekdayHours?: readonly (readonly [from: number, to: number])[];
}

/** A kind of content that a model takes. */
export type InputModality = 'text' | 'image' | 'audio' | 'video' | 'pdf';

/** What is known about a model. Whatever is absent is unknown. */
export interface CatalogueRow {
  /** The provider's name as models have it, such as `anthropic`. */
  readonly provider: string;
  /** The provider's name of the model; with `*` at its end, all names that begin so. */
  readonly id: string;
  /** Other names of the same model at the same price. */
  readonly aliases?: readonly string[];
  /** Tokens of prompt and reply together. */
  readonly contextWindow?: number;
  /** Tokens of a prompt at most, where that is less than the window. */
  readonly maxInput?: number;
  /** Tokens of a reply, reasoning included. */
  readonly outputLimit?: number;
  /** Who said what the two are, and the latest day on which a copy of it was read. */
  readonly limits?: { readonly read: string; readonly source: string };
  readonly inputModalities?: readonly InputModality[];
  /** Whether it can think before it answers. */
  readonly thinking?: boolean;
  /** The first that applies at a time holds. */
  readonly prices?: readonly CataloguePrice[];
  /** The day on which its maker shuts it down, such as `2026-12-11`, or did. */
  readonly retires?: string;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;

const isDate = (text: string): boolean => {
  if (!DATE.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00Z`);
  // `2026-02-31` would become a day in March.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
};

const PRICES = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'] as const;

function* tokenPriceProblems(prices: TokenPrices): Generator<string> {
  for (const name of PRICES) {
    const price = prices[name];
    if (price !== undefined && !(Number.isFinite(price) && price >= 0))
      yield `\`${name}\` is ${price}; a price is a number of US dollars from 0 on, and an unknown one is left out`;
  }
}

function* sourceProblems(
  { read, source }: { readonly read: string; readonly source: string },
  where = '',
): Generator<string> {
  if (!isDate(read)) yield `${where}\`read\` is '${read}'; say on which day, such as '2026-10-09'`;
  if (source.trim() === '') yield `${where}\`source\` is empty; name the page that says so`;
}

function* priceProblems(price: CataloguePrice): Generator<string> {
  yield* tokenPriceProblems(price);
  yield* sourceProblems(price);
  for (const name of ['from', 'until'] as const) {
    const day = price[name];
    if (day !== undefined && !isDate(day)) yield `\`${name}\` is '${day}'; write a day such as '2026-10-09'`;
  }
  let above = 0;
  for (const tier of price.tiers ?? []) {
    if (!(tier.above > above)) yield 'the thresholds of `tiers` must be above 0 and rise';
    above = tier.above;
    yield* tokenPriceProblems(tier);
  }
  for (const [from, to] of price.weekdayHours ?? []) {
    if (!(from >= 0 && from < to && to <= 24)) yield `hours from ${from} to ${to} are none of a day`;
  }
}

/**
 * Checks a row that somebody wrote.
 *
 * @throws TreadleError `invalid_definition` that names the row and what is wrong with it.
 */
export function checkRow(row: CatalogueRow): void {
  const problems: string[] = [];
  if (row.provider === '' || row.id === '') problems.push('`provider` and `id` must not be empty');
  for (const name of ['contextWindow', 'maxInput', 'outputLimit'] as const) {
    const tokens = row[name];
    if (tokens !== undefined && !(Number.isSafeInteger(tokens) && tokens > 0))
      problems.push(`\`${name}\` is ${tokens}; it is a number of tokens`);
  }
  if (row.limits !== undefined) problems.push(...sourceProblems(row.limits, '`limits`: '));
  if (row.retires !== undefined && !isDate(row.retires))
    problems.push(`\`retires\` is '${row.retires}'; write a day such as '2026-12-11'`);
  for (const price of row.prices ?? []) problems.push(...priceProblems(price));
  if (problems.length === 0) return;
  throw new TreadleError('invalid_definition', `Row ${row.provider}/${row.id}: ${problems.join('; ')}.`);
}
