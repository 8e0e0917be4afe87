import type { DurableEvent } from '@treadle/core';
import { costTableFold, type CostSum, type CostTable } from '@treadle/core/projections';

import { cost, grouped } from '../output/figures.ts';
import { plainLine } from '../asking/plain-text.ts';

/** What a session has used and cost, as its log has it. */
export async function readCosts(log: AsyncIterable<DurableEvent>): Promise<CostTable> {
  const fold = costTableFold();
  for await (const event of log) fold.take(event);
  return fold.table();
}

/** A table of columns that line up: a row per model, a row per run, and the sum. What is unknown is `?`. */
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
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, column))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

const HEADERS = ['calls', 'input', 'output', 'cache read', 'cache write', 'cache hits', 'cost'];
/** Words stand to the left, numbers to the right. */
const pad = (cell: string, width: number, column: number): string =>
  column === 0 || column > HEADERS.length ? cell.padEnd(width) : cell.padStart(width);

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
