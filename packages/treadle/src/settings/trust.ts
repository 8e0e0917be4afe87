import { parseJson } from '@treadle/core/json';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { reasonOf, UsageError } from '../cli/usage-error.ts';
import { readSettingsFile } from './settings.ts';

/** What is known of a folder's settings. */
export interface TrustRecord {
  /** The folder as a whole is trusted: its settings act. */
  readonly trusted: boolean;
  /** The digests of the files as they were trusted, or written by us; null for a file that wasn't there. */
  readonly project: string | null;
  readonly local: string | null;
  /** The digests of settings files of other programs, and of folders with instructions, as they were trusted, by their paths in the folder. */
  readonly others?: Readonly<Record<string, string>>;
  /** What the folder had when the user said no, as a digest: the question comes again when it is another. */
  readonly refused?: string;
}

/** Where it is recorded which folders are trusted, by real path. In the user's own settings, out of any project's reach. */
export interface TrustStore {
  get(folder: string): TrustRecord | null;
  /** @throws UsageError when it can't be written. */
  set(folder: string, record: TrustRecord): Promise<void>;
  /**
   * Writes what `change` makes of the record as it is now, while no other process changes any.
   *
   * @throws UsageError when it can't be written.
   */
  update(folder: string, change: (record: TrustRecord | null) => Promise<TrustRecord>): Promise<void>;
}

const FILE = 'trusted-folders.json';

/**
 * Opens the record of trusted folders.
 *
 * @param config the user's folder of settings; without one nothing is trusted, and nothing can be
 * @throws UsageError when the record is there and can't be understood: a record that isn't sure trusts nobody.
 */
export async function openTrust(config: string | null): Promise<TrustStore> {
  const path = config === null ? null : join(config, FILE);
  const known = path === null ? new Map<string, TrustRecord>() : await readRecords(path);
  async function update(folder: string, change: (record: TrustRecord | null) => Promise<TrustRecord>): Promise<void> {
    if (config === null || path === null) {
      throw new UsageError('No folder can be trusted without a place to record it. Set HOME or XDG_CONFIG_HOME.');
    }
    await alone(config, async () => {
      // Others may have trusted other folders meanwhile.
      const records = await readRecords(path);
      const record = await change(records.get(folder) ?? null);
      for (const target of [known, records]) target.set(folder, record);
      await writeWhole(path, `${JSON.stringify({ folders: Object.fromEntries(records) }, null, 2)}\n`);
    });
  }
  return {
    get: (folder) => known.get(folder) ?? null,
    set: (folder, record) => update(folder, async () => record),
    update,
  };
}

/** Changes something in the user's folder of settings while no other process does. */
export async function alone(config: string, work: () => Promise<void>): Promise<void> {
  await mkdir(config, { recursive: true, mode: 0o700 });
  // Loaded on use: most commands only read.
  const { withFolderLock } = await import('@treadle/store');
  // One after the other in this process: those who wait for a lock beside each other hold each other up.
  const done = before.then(() => withFolderLock(config, work));
  before = done.catch(() => {});
  await done;
}

let before: Promise<void> = Promise.resolve();

async function readRecords(path: string): Promise<Map<string, TrustRecord>> {
  const file = await readSettingsFile(path);
  if (file === null) return new Map();
  try {
    const { folders } = parseJson(file.text) as { folders: Record<string, unknown> };
    return new Map(Object.entries(folders).map(([folder, record]) => [folder, recordOf(record)]));
  } catch (error) {
    throw new UsageError(`The record of trusted folders ${path} can't be understood: ${reasonOf(error)}`);
  }
}

function recordOf(value: unknown): TrustRecord {
  const { trusted, project, local, others, refused } = value as Record<string, unknown>;
  const digest = (text: unknown): string | null => (typeof text === 'string' ? text : null);
  const digests = Object.entries(others ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return {
    trusted: trusted === true,
    project: digest(project),
    local: digest(local),
    ...(digests.length === 0 ? {} : { others: Object.fromEntries(digests) }),
    ...(typeof refused === 'string' ? { refused } : {}),
  };
}

let written = 0;

/** All of a file or nothing: a process that dies midway leaves the old one. */
export async function writeWhole(path: string, text: string): Promise<void> {
  written += 1;
  const temporary = `${path}.${process.pid}.${written}.tmp`;
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
  await rename(temporary, path);
}
