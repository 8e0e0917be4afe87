import type { CatalogueRow } from './row.ts';

/** Providers that are another wire to the same models at the same price. */
const SAME_PROVIDER: ReadonlyMap<string, string> = new Map([['openai-responses', 'openai']]);

/** What may follow a name without making it another model: a date or a build number. */
const SAME_MODEL = /^(?:-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8}|-\d{3})$/;

const EXACT = Infinity;
const DATED = Number.MAX_VALUE;

/** How well a model fits a name of a row: exactly, but for a date, or by the so many characters before a `*`. 0: not at all. */
const fit = (name: string, modelId: string): number => {
  if (name === modelId) return EXACT;
  if (name.endsWith('*')) return modelId.startsWith(name.slice(0, -1)) ? name.length : 0;
  return modelId.startsWith(name) && SAME_MODEL.test(modelId.slice(name.length)) ? DATED : 0;
};

/** The row among `rows` that fits a model best. */
const bestRow = (provider: string, modelId: string, rows: readonly CatalogueRow[]): CatalogueRow | undefined => {
  const also = SAME_PROVIDER.get(provider);
  let found: CatalogueRow | undefined;
  let best = 0;
  for (const row of rows) {
    if (row.provider !== provider && row.provider !== also) continue;
    const fits = Math.max(fit(row.id, modelId), ...(row.aliases ?? []).map((alias) => fit(alias, modelId)));
    if (fits > best) [found, best] = [row, fits];
  }
  return found;
};

/**
 * The row of a model among rows of one's own and those that are known. What an own row leaves out is taken from the known
 * one. Without data of its own, so that a model of one provider doesn't load the rows of all.
 */
export function findRow(
  provider: string,
  modelId: string,
  own: readonly CatalogueRow[],
  known: readonly CatalogueRow[],
): CatalogueRow | undefined {
  const ownRow = bestRow(provider, modelId, own);
  const knownRow = bestRow(provider, modelId, known);
  return ownRow === undefined ? knownRow : { ...knownRow, ...ownRow };
}
