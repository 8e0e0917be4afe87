import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a model would search for, and the name of the tool that it needs. */
interface ToolQuery {
  readonly tool: string;
  readonly query: string;
}

/**
 * Queries for a hundred of the real tools, which a generator of random numbers chose. They were written before the ranking.
 * Every second one is for development; the ranking is never changed for one of the others.
 */
export function toolQueries(): { readonly development: readonly ToolQuery[]; readonly heldOut: readonly ToolQuery[] } {
  const lines = readFileSync(join(import.meta.dirname, 'tool-queries.txt'), 'utf8')
    .trim()
    .split('\n');
  const all = lines.map((line): ToolQuery => {
    const [tool = '', query = ''] = line.split(' | ');
    return { tool, query };
  });
  return {
    development: all.filter((_, index) => index % 2 === 0),
    heldOut: all.filter((_, index) => index % 2 === 1),
  };
}
