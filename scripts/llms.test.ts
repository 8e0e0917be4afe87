// `llms.txt` is the index of the pages for language models. After a change of docs/README.md: npx vitest scripts/llms -u

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

it('llms.txt lists the pages of docs/README.md, with a line each', async () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
  const sections = index.slice(index.indexOf('## ')).replaceAll(/\]\((?!\w+:)(?:\.\.\/)?/g, '](docs/');
  const text = `# Treadle\n\n> An agent runtime for TypeScript. A run is a durable log of events.\n\n${sections}`;
  await expect(text).toMatchFileSnapshot(join(root, 'llms.txt'));
});
