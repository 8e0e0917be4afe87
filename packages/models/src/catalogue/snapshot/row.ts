import type { CatalogueRow, InputModality } from '../row.ts';

/** The day of the snapshot, and where its facts are from. */
export const SNAPSHOT = {
  read: '2026-11-22',
  source: 'two lists that agree, among them pi-ai 1.5.2 (see NOTICE.md)',
} as const;

const MODALITIES: Readonly<Record<string, InputModality>> = { t: 'text', i: 'image', a: 'audio', v: 'video', p: 'pdf' };

/** What two lists agree on; null where they don't. */
type Agreed = number | null;

/**
 * A row of the snapshot.
 *
 * @param input What it takes, by first letters: `tip` is text, image and pdf.
 * @param prices Of input, output, cached tokens and tokens that are written to the cache.
 */
export function snapshotRow(
  provider: string,
  id: string,
  [contextWindow, outputLimit]: readonly [Agreed, Agreed],
  input: string,
  thinking: boolean,
  [inputPrice, output, cacheRead, cacheWrite]: readonly [Agreed, Agreed, Agreed, Agreed] | readonly [],
  retires?: string,
): CatalogueRow {
  const price = Object.entries({ input: inputPrice, output, cacheRead, cacheWrite }).filter(
    ([, value]) => value != null,
  );
  return {
    provider,
    id,
    ...(contextWindow !== null && { contextWindow }),
    ...(outputLimit !== null && { outputLimit }),
    ...((contextWindow ?? outputLimit) !== null && { limits: SNAPSHOT }),
    inputModalities: [...input].flatMap((letter) => MODALITIES[letter] ?? []),
    thinking,
    ...(price.length > 0 && { prices: [{ ...Object.fromEntries(price), ...SNAPSHOT }] }),
    ...(retires !== undefined && { retires }),
  };
}
