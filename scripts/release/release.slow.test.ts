// @module-tag slow

// The release script, on a small workspace, with the real npm.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { manifestAt } from './workspace.ts';

const script = join(import.meta.dirname, '../release.ts');
let root = '';

const json = (file: string, value: object): Promise<void> => writeFile(join(root, file), JSON.stringify(value));

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'treadle-release-')));
  const repository = 'https://git.example/owner/treadle';
  const all = { name: 'all', version: '1.2.3', private: true, repository };
  await json('package.json', { ...all, scripts: { build: 'true', 'check:catalogue': 'node check.js' } });
  await writeFile(join(root, 'check.js'), '');
  await writeFile(join(root, 'CHANGELOG.md'), '# Changelog\n\n## [1.2.3] - 2026-11-23\n\n- A line.\n');
  for (const folder of ['first', 'second']) {
    await mkdir(join(root, 'packages', folder, 'dist'), { recursive: true });
    await writeFile(join(root, 'packages', folder, 'README.md'), `# ${folder}\n\n[All](../../docs/all.md) of it.\n`);
    await writeFile(join(root, 'packages', folder, 'LICENSE'), 'MIT\n');
    await writeFile(join(root, 'packages', folder, 'dist/index.js'), 'export {};\n');
  }
  await mkdir(join(root, 'docs'));
  await writeFile(
    join(root, 'docs/all.md'),
    'See [the script](../scripts/release.ts) and [first](../packages/first/README.md).\n',
  );
  const common = { version: '1.2.3', private: true, files: ['dist'] };
  const exports = { '.': { 'treadle-source': './src/index.ts', default: './dist/index.js' } };
  // The first depends on the second, so the second is published first.
  await json('packages/first/package.json', {
    name: '@small/first',
    ...common,
    dependencies: { '@small/second': '1.2.3' },
  });
  await json('packages/second/package.json', {
    name: '@small/second',
    ...common,
    exports,
    devDependencies: { x: '1' },
  });
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function release(...args: string[]): Promise<{ readonly code: number; readonly output: string }> {
  const done = promisify(execFile)(process.execPath, ['--conditions=treadle-source', script, ...args], { cwd: root });
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (thrown: unknown) => {
      const { code, stdout, stderr } = thrown as { code: number; stdout: string; stderr: string };
      return { code, output: stdout + stderr };
    },
  );
}

describe('npm run release -- --dry-run', () => {
  it('publishes nothing when a model of an example is shut down soon', async () => {
    await writeFile(join(root, 'check.js'), 'process.exitCode = 1;');
    const { code, output } = await release('--dry-run');
    expect(code).toBe(1);
    expect(output).toContain('A default model, or one of an example, is shut down soon.');
    expect(output).not.toContain('ready');
  });

  it('packs every package for npm, dependencies first, and publishes nothing', async () => {
    const { code, output } = await release('--dry-run');
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output.indexOf('@small/second@1.2.3')).toBeLessThan(output.indexOf('@small/first@1.2.3'));
    expect(output).toContain('Ready. Nothing was published.');
    expect(await manifestAt(join(root, 'dist/packages/second'))).toEqual({
      name: '@small/second',
      version: '1.2.3',
      exports: { '.': { default: './dist/index.js' } },
      homepage: 'https://git.example/owner/treadle#readme',
      bugs: 'https://git.example/owner/treadle/issues',
      repository: { type: 'git', url: 'git+https://git.example/owner/treadle.git', directory: 'packages/second' },
      publishConfig: { access: 'public' },
    });
  });

  it('gives a package the pages that it names, with links that lead somewhere', async () => {
    await release('--dry-run');
    const staged = join(root, 'dist/packages/first');
    expect(await readFile(join(staged, 'README.md'), 'utf8')).toBe('# first\n\n[All](docs/all.md) of it.\n');
    expect(await readFile(join(staged, 'docs/all.md'), 'utf8')).toBe(
      'See [the script](https://git.example/owner/treadle/blob/HEAD/scripts/release.ts) and [first](../README.md).\n',
    );
  });

  it.each([
    ['an empty repository', { repository: '' }, 'The repository is empty. Set "repository" in package.json'],
    ['a repository that is no address', { repository: 'treadle' }, 'The repository is treadle.'],
    ['another version', { version: '1.3.0' }, 'packages/first has version 1.2.3, not 1.3.0.'],
    ['a version without its section', { version: '1.3.0' }, 'CHANGELOG.md has no section "## [1.3.0] - YYYY-MM-DD"'],
  ])('refuses %s', async (_what, change, message) => {
    await json('package.json', { ...(await manifestAt(root)), ...change });
    const { code, output } = await release('--dry-run');
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining(message) as string });
  });

  it('refuses a package that depends on another version', async () => {
    await json('packages/first/package.json', {
      ...(await manifestAt(join(root, 'packages/first'))),
      dependencies: { '@small/second': '1.2.2' },
    });
    const { code, output } = await release('--dry-run');
    expect({ code, output }).toMatchObject({ code: 1 });
    expect(output).toContain('packages/first depends on @small/second 1.2.2, not 1.2.3.');
  });

  it('refuses a section of the changelog without a line', async () => {
    await writeFile(
      join(root, 'CHANGELOG.md'),
      '# Changelog\n\n## [1.2.3] - 2026-11-23\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n',
    );
    expect((await release('--dry-run')).output).toContain('is empty');
  });
});

describe('npm run release -- --set', () => {
  it('writes one version everywhere', async () => {
    expect((await release('--set', '2.0.0')).code).toBe(0);
    expect((await manifestAt(root)).version).toBe('2.0.0');
    expect(await manifestAt(join(root, 'packages/first'))).toMatchObject({
      version: '2.0.0',
      dependencies: { '@small/second': '2.0.0' },
    });
    expect((await manifestAt(join(root, 'packages/second')))['devDependencies']).toEqual({ x: '1' });
  });
});
