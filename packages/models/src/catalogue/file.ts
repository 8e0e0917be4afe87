import { isJsonObject, parseJson } from '@treadle/core/json';
import { TreadleError } from '@treadle/core';
import { checkRow, type CatalogueRow } from './row.ts';

/** The version of the form of a catalogue file. */
const FORMAT = 1;

/** A catalogue as a file has it. */
export interface CatalogueFile {
  /** The day on which its newest facts were read, such as `2026-11-22`. */
  readonly date: string;
  readonly rows: readonly CatalogueRow[];
}

/** Writes a catalogue as the text of a file, a row to a line. */
export const writeCatalogue = ({ date, rows }: CatalogueFile): string =>
  `{"format":${FORMAT},"date":"${date}","rows":[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]}\n`;

const invalid = (message: string): TreadleError => new TreadleError('invalid_definition', message);

/**
 * Reads the text of a catalogue file, and checks each of its rows.
 *
 * @throws TreadleError `invalid_definition` for a text that is no catalogue, or has a row that can't be right.
 * @example
 * ```ts
 * import { readCatalogue } from '@treadle/models/catalogue';
 *
 * const { date } = readCatalogue('{"format":1,"date":"2026-11-22","rows":[]}');
 * console.log(date); // 2026-11-22
 * ```
 */
export function readCatalogue(text: string): CatalogueFile {
  let file: unknown;
  try {
    file = parseJson(text);
  } catch {
    throw invalid('The catalogue is not JSON.');
  }
  if (!isJsonObject(file) || !Array.isArray(file['rows'])) throw invalid('The catalogue has no list of `rows`.');
  const { format, date, rows } = file;
  if (format !== FORMAT)
    throw invalid(`The catalogue has the format ${JSON.stringify(format)}; this version reads ${FORMAT}.`);
  if (typeof date !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(date)) throw invalid('The catalogue has no `date`.');
  for (const row of rows) {
    if (!isJsonObject(row) || typeof row['provider'] !== 'string' || typeof row['id'] !== 'string')
      throw invalid('A row of the catalogue has no `provider` or no `id`.');
    try {
      checkRow(row as unknown as CatalogueRow);
    } catch (error) {
      throw invalid(
        error instanceof TreadleError ? error.message : `Row ${row['provider']}/${row['id']} can't be read.`,
      );
    }
  }
  return { date, rows };
}
