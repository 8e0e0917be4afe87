// Every page is spelt right. Words that no dictionary has are in cspell.json.

import { join } from 'node:path';
import process from 'node:process';

import { expect, it } from 'vitest';

import { compatFolder, root, run } from './packed/project.ts';

const PAGES = [
  '*.md',
  'docs/**/*.md',
  'packages/*/README.md',
  'packages/create-treadle/templates/**/*.md',
  'examples/**/*.md',
];

it('every page has only words that a dictionary or cspell.json knows', { timeout: 300_000 }, async () => {
  const cspell = join(compatFolder('published'), 'node_modules/cspell/bin.mjs');
  const args = [cspell, '--no-progress', '--no-summary', '--unique', '--gitignore', ...PAGES];
  expect(await run(root, process.execPath, args)).toBe('');
});
