import type { DurableEvent } from '@treadle/core';
import { costTableFold, type CostSum, type CostTable } from '@treadle/core/projections';

import { columns } from '../output/columns.ts';
import { cost, grouped } from '../output/figures.ts';
import { plainLine } from '../asking/plain-text.ts';

/** What a session has used and cost, as its log has it. */
export async function readCosts(log: AsyncIterable<DurableEvent>): Promise<CostTable> {
  const fold = costTableFold();
  for await (const event of log) fold.take(event);
  return fold.table();
}

/** A table of columns that line up: a row per model, a row per run, and the sum. `?` stands for what is unknown. */
export function costLines({ models, runs, total }: CostTable): string {
  const nameOf = (provider: string | null, model: string | null): string =>
    model === null ? '(not named in the log)' : plainLine(`${provider ?? '?'}/${model}`, 60);
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
