import type { DurableEvent } from '@treadle/core';
import { costTableFold, type CostSum, type CostTable } from '@treadle/core/projections';

import { columns } from '../output/columns.ts';
import { cost, costAtLeast, counted, grouped, tokens } from '../output/figures.ts';
import { plainLine } from '../asking/plain-text.ts';

/** What a session has used and cost, as its log has it. */
export async function readCosts(log: AsyncIterable<DurableEvent>): Promise<CostTable> {
  const fold = costTableFold();
  for await (const event of log) fold.take(event);
  return fold.table();
}

const nameOf = (provider: string | null, model: string | null): string =>
  model === null ? '(not named in the log)' : plainLine(`${provider ?? '?'}/${model}`, 60);

/** A table of columns that line up: a row per model, a row per run, and the sum. `?` stands for what is unknown. */
export function costLines({ models, runs, total }: CostTable): string {
  const rows = [
    ['model', ...HEADERS],
    ...models.map((row) => [nameOf(row.provider, row.model), ...cells(row)]),
    [],
    ['run', ...HEADERS, 'end'],
    ...runs.map((row) => [plainLine(row.runId ?? '(between runs)', 90), ...cells(row), row.status ?? '-']),
    [],
    ['total', ...cells(total)],
  ];
  return columns(rows, (column) => column > 0 && column <= HEADERS.length).trimEnd();
}

/** The same for a narrow screen: a name and its figures for each model, and for all. */
export const costItems = ({ models, total }: CostTable): readonly (readonly [string, string])[] => [
  ...models.map((row) => [nameOf(row.provider, row.model), costWords(row)] as const),
  ['total', costWords(total)],
];

function costWords({ calls, usage, cost: dollars, costAtLeast: known, cacheHitRate }: CostSum): string {
  const cached = cacheHitRate === null ? [] : [`${Math.round(cacheHitRate * 100)} % of the prompts from the cache`];
  const price = dollars === null ? costAtLeast(known) : cost(dollars);
  return [counted(calls, 'call'), tokens(usage), ...cached, price].join(' · ');
}

const HEADERS = ['calls', 'input', 'output', 'cache read', 'cache write', 'cache hits', 'cost'];

function cells({ calls, usage, cost: dollars, costAtLeast, cacheHitRate }: CostSum): string[] {
  const count = (tokens: number | null): string => (tokens === null ? '?' : grouped(tokens));
  const price = dollars === null ? (costAtLeast > 0 ? `? (at least ${cost(costAtLeast)})` : '?') : cost(dollars);
  return [
    grouped(calls),
    // Nothing was asked, so nothing was used: that is known.
    ...[usage.input, usage.output, usage.cacheRead, usage.cacheWrite].map((tokens) =>
      calls === 0 ? '0' : count(tokens),
    ),
    cacheHitRate === null ? '?' : `${Math.round(cacheHitRate * 100)}%`,
    price,
  ];
}
