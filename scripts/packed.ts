// Packs every package, installs the packed files into a project outside the repository, checks a program there with all
// declarations (`skipLibCheck: false`), and runs it. It packs what was built: run `npm run build` before.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, unknown>>;
}

const manifestAt = async (...path: string[]): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, ...path, 'package.json'), 'utf8')) as Manifest;

const packages = await Promise.all(
  (await readdir(join(root, 'packages'))).map((folder) => manifestAt('packages', folder)),
);
const entries = packages
  .flatMap(({ name, exports = {} }) => Object.keys(exports).map((path) => name + path.slice(1)))
  .toSorted();

// Optional peers that an entry imports, and what the type checker needs, in the versions of the repository.
const beside = await Promise.all(
  ['typescript', '@types/node', 'undici', 'postgres'].map((name) => manifestAt('node_modules', name)),
);

const tsconfig = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: ['node'],
    outDir: 'out',
  },
  include: ['program.ts'],
};

/** Imports every entry, and does a job with a tool in a session that is opened again from its journal. */
const PROGRAM = `
${entries.map((entry, index) => `import * as entry${index} from '${entry}';`).join('\n')}
import { createSession, defineAgent, defineTool, openSession } from '@treadle/core';
import { sqliteJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

const entries: readonly object[] = [${entries.map((_, index) => `entry${index}`).join(', ')}];
const empty = entries.filter((entry) => Object.keys(entry).length === 0).length;

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => String(a + b),
});
const model = scriptedModel([{ toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] }, 'It is 5.', 'Still 5.']);
const agent = defineAgent({ model, tools: [add] });
const journal = sqliteJournal({ path: 'journal.db' });
const session = await createSession(agent, { id: 'sum', journal });
const first = await session.prompt('What is 2 and 3?').result;
const again = await openSession(agent, 'sum', { journal });
const second = await again.prompt('And now?').result;
await journal.close();
console.log(JSON.stringify({ entries: entries.length, empty, turns: first.turns, texts: [first.text, second.text] }));
`;

const EXPECTED = { entries: entries.length, empty: 0, turns: 2, texts: ['It is 5.', 'Still 5.'] };

const folder = await realpath(await mkdtemp(join(tmpdir(), 'treadle-packed-')));

/** Runs a command, and shows what it printed when it fails. */
async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, timeout: 180_000 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`\`${[command, ...args].join(' ')}\` failed:\n${stdout}${stderr}`, { cause: error });
  }
}

try {
  await run(root, 'npm', 'pack', '--workspaces', '--silent', '--pack-destination', folder);
  const packed = (await readdir(folder)).filter((name) => name.endsWith('.tgz')).map((name) => `./${name}`);
  if (packed.length !== packages.length) throw new Error(`${packed.length} of ${packages.length} packages are packed.`);
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  await writeFile(join(folder, 'program.ts'), PROGRAM);
  const versions = beside.map(({ name, version }) => `${name}@${version}`);
  // A script that npm runs inherits the prefix of this repository.
  const options = ['--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund'];
  await run(folder, 'npm', 'install', ...options, ...packed, ...versions);
  await run(folder, process.execPath, 'node_modules/typescript/bin/tsc');
  const printed: unknown = JSON.parse(await run(folder, process.execPath, 'out/program.js'));
  if (JSON.stringify(printed) !== JSON.stringify(EXPECTED)) {
    throw new Error(`The program printed ${JSON.stringify(printed)} instead of ${JSON.stringify(EXPECTED)}.`);
  }
  console.log(`${packed.length} packed packages with ${entries.length} entries: installed, type-checked and run.`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
