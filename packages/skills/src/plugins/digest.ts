import { TreadleError } from '@treadle/core';

import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

const MAX_FILES = 10_000;
const MAX_BYTES = 100_000_000;

/**
 * The SHA-256 of all files of a plugin's folder: their paths, their contents, and whether they may be executed. Without
 * `.git`, which is not copied either. A link counts by its name: a copy has none.
 *
 * @throws TreadleError `invalid_definition` above 10,000 files or 100 MB.
 */
export async function pluginDigest(path: string): Promise<string> {
  const folder = await realpath(path);
  const all = createHash('sha256');
  let files = 0;
  let bytes = 0;
  async function add(below: string): Promise<void> {
    const entries = await readdir(join(folder, below), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name === '.git') continue;
      const file = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) await add(file);
      else if (!entry.isFile()) all.update(JSON.stringify([file, 'no file']));
      if (!entry.isFile()) continue;
      const { mode, size } = await lstat(join(folder, file));
      files += 1;
      bytes += size;
      if (files > MAX_FILES || bytes > MAX_BYTES) {
        throw new TreadleError(
          'invalid_definition',
          `${path} is too large for a plugin: above ${MAX_FILES} files or ${MAX_BYTES} bytes.`,
        );
      }
      const content = createHash('sha256')
        .update(await readFile(join(folder, file)))
        .digest('hex');
      all.update(JSON.stringify([file, (mode & 0o100) !== 0, content]));
    }
  }
  await add('');
  return all.digest('hex');
}
