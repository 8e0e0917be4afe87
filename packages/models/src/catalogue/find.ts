import { hostedModel, hostedRow } from './hosts.ts';
import type { CatalogueRow } from './row.ts';

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
  let found: CatalogueRow | undefined;
  let best = 0;
  for (const row of rows) {
    if (row.provider !== provider) continue;
    const fits = Math.max(fit(row.id, modelId), ...(row.aliases ?? []).map((alias) => fit(alias, modelId)));
    if (fits > best) [found, best] = [row, fits];
  }
  return found;
};

/** The row of a model: its provider's own, else its maker's as the provider hosts it. */
const rowFor = (provider: string, modelId: string, rows: readonly CatalogueRow[]): CatalogueRow | undefined => {
  const own = bestRow(provider, modelId, rows);
  const hosted = own === undefined ? hostedModel(provider, modelId) : undefined;
  if (hosted === undefined) return own;
  const makers = bestRow(hosted.provider, hosted.id, rows);
  return makers && hostedRow(makers, provider, modelId, hosted.factor);
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
  const ownRow = rowFor(provider, modelId, own);
  const knownRow = rowFor(provider, modelId, known);
  return ownRow === undefined ? knownRow : { ...knownRow, ...ownRow };
}
