// The packages as users get them: packed, installed elsewhere, type-checked by other compilers, run by other runtimes.

import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';

import { fakeProvider } from '@treadle/testing';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { blocksOf, linksOf, matchesOutput, runnables } from '../docs/blocks.ts';
import { pagesNamedIn } from '../release/pages.ts';
import { manifestAt, packagesOf, type Package } from '../release/workspace.ts';
import { emptyFolder, install, compatFolder, packAll, remove, root, run } from './project.ts';
import { startWorkerd } from './workerd.ts';

vi.setConfig({ testTimeout: 240_000 });

const packages = await packagesOf(root);
const folders: string[] = [];
let tarballs: readonly string[] = [];
/** Where the checkers and the other runtimes are installed. */
let compat = '';
/** A project with all tarballs and no optional peer. */
let project = '';

const newFolder = async (): Promise<string> => {
  const folder = await emptyFolder();
  folders.push(folder);
  return folder;
};

/** A package in the version that the repository uses. */
const ofRepository = async (name: string): Promise<string> =>
  `${name}@${(await manifestAt(join(root, 'node_modules', name))).version}`;

beforeAll(async () => {
  compat = compatFolder('published');
  const packed = await packAll();
  folders.push(packed.folder);
  tarballs = packed.tarballs;
  project = await newFolder();
  await install(project, ...tarballs, '@types/node@24', await ofRepository('zod'));
}, 400_000);

afterAll(() => Promise.all(folders.map(remove)), 60_000);

const bin = (name: string): string => join(compat, 'node_modules/.bin', name);

const tarballOf = (name: string): string => {
  const file = `${name.replace('@', '').replace('/', '-')}-`;
  const found = tarballs.find(
    (path) => basename(path).startsWith(file) && /^\d/.test(basename(path).slice(file.length)),
  );
  if (found === undefined) throw new Error(`${name} is not packed.`);
  return found;
};

const installed = (name: string): string => join(project, 'node_modules', name);

/** Every entry of every package, but for those that need an optional peer. */
const NEED_A_PEER = new Set(['@treadle/models/undici', '@treadle/store/postgres']);
const libraries = packages.filter(({ manifest }) => manifest.exports !== undefined);
const entries = libraries
  .flatMap(({ manifest }) => Object.keys(manifest.exports ?? {}).map((path) => manifest.name + path.slice(1)))
  .toSorted();

describe.each(packages.map((each) => [each.manifest.name, each] as const))('%s', (name, { manifest }: Package) => {
  it('has no problem that publint knows', async () => {
    // The tests of its templates are no tests of the package.
    const level = name === 'create-treadle' ? ['--level', 'warning'] : [];
    expect(await run(compat, bin('publint'), ['run', tarballOf(name), '--strict', ...level])).toContain('All good!');
  });

  it.skipIf(manifest.exports === undefined)('has types that resolve wherever ES modules do', async () => {
    await run(compat, bin('attw'), [tarballOf(name), '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']);
  });

  it('says what it is, with its license', async () => {
    const published = JSON.parse(await readFile(join(installed(name), 'package.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    expect(published).toMatchObject({ license: 'MIT', description: expect.any(String) as string });
    expect(published['keywords']).toEqual(expect.arrayContaining(['agent']));
    expect(published).not.toHaveProperty('private');
    expect(await readFile(join(installed(name), 'LICENSE'), 'utf8')).toContain('MIT License');
  });

  it('has a README of one screen, with its installation and a block of code', async () => {
    const readme = await readFile(join(installed(name), 'README.md'), 'utf8');
    expect(readme.split('\n').length).toBeLessThanOrEqual(60);
    expect(readme).toMatch(/npm (install|create) /);
    expect(blocksOf(readme, 'README.md').length).toBeGreaterThan(0);
  });

  it('has every page that its README and its declarations name', async () => {
    const files = await readdir(installed(name), { recursive: true });
    const texts = files.filter((file) => /\.d\.ts$|^README\.md$/.test(file) && !file.includes('node_modules'));
    for (const file of texts) {
      const pages = pagesNamedIn(await readFile(join(installed(name), file), 'utf8'));
      expect(pages.filter((page) => !existsSync(join(installed(name), page)))).toEqual([]);
    }
  });

  it('has pages whose relative links lead to files of the package', async () => {
    const files = (await readdir(installed(name), { recursive: true })).filter((file) => file.endsWith('.md'));
    for (const file of files.filter((each) => !each.includes('node_modules') && !each.startsWith('templates'))) {
      const links = linksOf(await readFile(join(installed(name), file), 'utf8'));
      expect(links.filter((link) => !existsSync(join(installed(name), dirname(file), link)))).toEqual([]);
    }
  });

  it.skipIf(manifest.exports === undefined)('has source maps, with the sources in them', async () => {
    const files = (await readdir(installed(name), { recursive: true })).filter((file) =>
      /^dist.*\.js\.map$/.test(file),
    );
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const map = JSON.parse(await readFile(join(installed(name), file), 'utf8')) as { sourcesContent?: unknown[] };
      expect(map.sourcesContent).not.toHaveLength(0);
    }
  });
});

describe('the declarations of all entries, with `skipLibCheck: false`', () => {
  const seven = join(root, 'node_modules/typescript/bin/tsc');
  const five = (): string => join(compat, 'node_modules/typescript/bin/tsc');
  const modes = [
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ];

  async function check(folder: string, compiler: string, mode: object, imported: readonly string[]): Promise<void> {
    const compilerOptions = { ...mode, target: 'es2024', lib: ['es2024'], strict: true, noEmit: true, types: ['node'] };
    const options = { ...compilerOptions, skipLibCheck: false, exactOptionalPropertyTypes: true };
    const text = imported.map((entry, index) => `export * as entry${String(index)} from '${entry}';`).join('\n');
    await writeFile(join(folder, 'entries.ts'), `${text}\n`);
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, include: ['entries.ts'] }),
    );
    await run(folder, process.execPath, [compiler]);
  }

  const withoutPeers = entries.filter((entry) => !NEED_A_PEER.has(entry));

  it.each(modes)('pass TypeScript 7, $moduleResolution, without a peer', async (mode) => {
    await check(project, seven, mode, withoutPeers);
  });

  it.each(modes)('pass TypeScript 5.9, $moduleResolution, without a peer', async (mode) => {
    await check(project, five(), mode, withoutPeers);
  });

  it('pass both with the optional peers', async () => {
    const folder = await newFolder();
    await install(folder, ...tarballs, '@types/node@24', await ofRepository('postgres'), await ofRepository('undici'));
    for (const mode of modes) for (const compiler of [seven, five()]) await check(folder, compiler, mode, entries);
  });
});

describe('the first example of the README, as printed', () => {
  /** Runs it without keys. Returns what it printed, and what the page says that it prints. */
  async function runExample(command: string, ...args: string[]) {
    const blocks = blocksOf(await readFile(join(root, 'README.md'), 'utf8'), 'README.md');
    const first = runnables(blocks).find(({ block }) => block.kind === 'module');
    if (first === undefined) throw new Error('README.md has no block of TypeScript.');
    await writeFile(join(project, 'try.ts'), first.block.text);
    await mkdir(join(project, 'home'), { recursive: true });
    const env = { PATH: process.env['PATH'], HOME: join(project, 'home') };
    return { printed: await run(project, command, [...args, 'try.ts'], env), shown: first.output ?? '…' };
  }

  it.each([
    ['Node 24', () => [process.execPath]],
    ['Node 22', () => [bin('node')]],
    ['Bun', () => [bin('bun'), 'run']],
    ['Deno', () => [bin('deno'), 'run', '--quiet', '--no-prompt', '--allow-all']],
  ] as const)('runs on %s with the demo model', async (_runtime, commandOf) => {
    const [command = '', ...args] = commandOf();
    const { printed, shown } = await runExample(command, ...args);
    expect(printed.trim()).not.toBe('');
    expect(matchesOutput(shown, printed) ? shown : printed).toBe(shown);
  });
});

describe('on Cloudflare Workers', () => {
  const WORKER = `
    import { createSession, defineAgent, defineTool } from '@treadle/core';
    import { resolveModel } from '@treadle/models';

    const add = defineTool({
      name: 'add',
      description: 'Adds two numbers.',
      inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
      execute: ({ a, b }) => String(a + b),
    });

    export default {
      async fetch(request) {
        const baseUrl = new URL(request.url).searchParams.get('provider');
        const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: baseUrl };
        const agent = defineAgent({ model: resolveModel('anthropic/claude-sonnet-4-5', { env }), tools: [add] });
        const { status, text } = await (await createSession(agent)).prompt('What is 2 and 3?').result;
        return Response.json({ status, text });
      },
    };
  `;

  /** Bundles the worker as wrangler does. No optional peer is installed. */
  async function worker(): Promise<string> {
    const folder = await newFolder();
    await writeFile(join(project, 'worker-source.js'), WORKER);
    const conditions = '--conditions=workerd,worker,browser';
    const options = [
      '--bundle',
      '--format=esm',
      conditions,
      '--external:node:*',
      `--outfile=${join(folder, 'worker.js')}`,
    ];
    await run(project, bin('esbuild'), ['worker-source.js', ...options]);
    return folder;
  }

  it.each([[['nodejs_compat']], [[]]])('an agent calls a tool and a model, with the flags %j', async (flags) => {
    await using provider = await fakeProvider([
      { toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] },
      'It is 5.',
    ]);
    const running = await startWorkerd(bin('workerd'), await worker(), flags);
    try {
      const answer = await fetch(`${running.url}?provider=${encodeURIComponent(provider.anthropicBaseUrl)}`);
      expect(await answer.json()).toEqual({ status: 'completed', text: 'It is 5.' });
      expect(provider.requests).toHaveLength(2);
    } finally {
      await running.close();
    }
  });
});

describe('a bundle for a browser', () => {
  it('has of core only what it imports', async () => {
    await writeFile(
      join(project, 'one.js'),
      "import { defineTool } from '@treadle/core';\nglobalThis.tool = defineTool;\n",
    );
    const bundle = await rolldown({ input: join(project, 'one.js'), platform: 'browser' });
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    await bundle.close();
    expect(output[0].code.length).toBeLessThanOrEqual(30_000);
  });
});
