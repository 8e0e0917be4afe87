// The programs of docs/comparison.md for other libraries are programs that those libraries accept.

import { join } from 'node:path';
import process from 'node:process';

import { expect, it } from 'vitest';

import { compatFolder, run } from './project.ts';

it('the programs for other libraries pass the type checker', { timeout: 300_000 }, async () => {
  const folder = compatFolder('peers');
  expect(await run(folder, process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc')])).toBe('');
});
