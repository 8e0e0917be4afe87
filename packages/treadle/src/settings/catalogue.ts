import type { CatalogueFile } from '@treadle/models/catalogue';

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { UsageError } from '../cli/usage-error.ts';
import { configFolder, readSettingsFile } from './settings.ts';
import { writeWhole } from './trust.ts';

const FILE = 'catalogue.json';

/** The catalogue that `treadle models update` has fetched; null without one that is newer than the built-in one. */
export async function ownCatalogue(io: Pick<CliIo, 'env' | 'cwd'>): Promise<CatalogueFile | null> {
  const config = configFolder(io);
  const file = config === null ? null : await readSettingsFile(join(config, FILE));
  if (file === null) return null;
  const { CATALOGUE_DATE, readCatalogue } = await import('@treadle/models/catalogue');
  const catalogue = readCatalogue(file.text);
  return catalogue.date > CATALOGUE_DATE ? catalogue : null;
}

/** Keeps a catalogue in the user's folder, and returns its path. */
export async function keepCatalogue(io: Pick<CliIo, 'env' | 'cwd'>, text: string): Promise<string> {
  const config = configFolder(io);
  if (config === null) throw new UsageError('there is no home folder to keep a catalogue in');
  await mkdir(config, { recursive: true, mode: 0o700 });
  await writeWhole(join(config, FILE), text);
  return join(config, FILE);
}
