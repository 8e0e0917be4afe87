// Executes the documentation's `sh ci` blocks, in order, in one fresh copy of the repository with nothing installed and
// an empty home: what a newcomer types is what runs here. `.ci/run` calls it.

import { spawnSync } from 'node:child_process';
import process from 'node:process';

import { documentBlocks, freshCopy, temporaryFolder } from './files.ts';

const blocks = (await documentBlocks()).flat().filter((block) => block.kind === 'ci');
const copy = await freshCopy(false);
const home = await temporaryFolder();
let failed: string | null = null;
try {
  const KEY = /_API_KEY$|_AUTH_TOKEN$|_BASE_URL$/;
  const kept = Object.entries(process.env).filter(([name]) => !KEY.test(name));
  // The machine's own programs, as a newcomer has them: not this repository's Node.
  const path = (process.env.PATH ?? '').split(':').filter((entry) => !entry.includes('node_modules'));
  const env = { ...Object.fromEntries(kept), HOME: home.path, PATH: path.join(':') };
  for (const { where, text } of blocks) {
    console.log(`\n${where}\n${text.replaceAll(/^(?=.)/gm, '  $ ')}`);
    const { status } = spawnSync('bash', ['-euo', 'pipefail', '-c', text], {
      cwd: copy.path,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: 300_000,
    });
    if (status !== 0) {
      failed = where;
      break;
    }
  }
} finally {
  await Promise.all([copy.dispose(), home.dispose()]);
}
if (failed !== null) {
  console.error(`${failed}: this block of the documentation failed.`);
  process.exitCode = 1;
} else {
  console.log(`${String(blocks.length)} blocks of the documentation ran.`);
}
