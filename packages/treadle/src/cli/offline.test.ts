// Real jobs in real folders without a key: names, sizes and figures are random, so that no answer can be known before.

import fc from 'fast-check';

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../test-support/harness.ts';

/** A word that is no word of a request, and sorts the same everywhere. */
const word = fc.stringMatching(/^q[a-z]{4,7}$/);
const fileName = fc.tuple(word, fc.constantFrom('ts', 'md', 'txt', 'csv')).map(([name, ending]) => `${name}.${ending}`);

interface Case {
  readonly folder: string;
  /** Paths below the folder, with their bytes. */
  readonly files: ReadonlyMap<string, number>;
  readonly count: number;
  readonly target: string;
}

const COUNT_WORDS = ['', 'one', 'two', 'three', 'four', 'five'];

const jobs: fc.Arbitrary<Case> = fc
  .record({
    folder: fc.tuple(word, word).map((parts) => parts.join('/')),
    files: fc.uniqueArray(
      fc.tuple(
        fc.array(word, { maxLength: 4 }),
        fileName,
        // Few sizes, so that some are the same.
        fc.oneof(fc.constantFrom(10, 100, 1000), fc.integer({ min: 1, max: 3000 })),
      ),
      { minLength: 6, maxLength: 14, selector: ([folders, name]) => [...folders, name].join('/') },
    ),
    count: fc.integer({ min: 2, max: 5 }),
    target: fc.tuple(word, word).map(([folder, name]) => `${folder}/${name}.md`),
  })
  .map(({ files, ...rest }) => ({
    ...rest,
    files: new Map(files.map(([folders, name, bytes]) => [[...folders, name].join('/'), bytes])),
  }));

async function write(root: string, { folder, files }: Case): Promise<void> {
  for (const [path, bytes] of files) {
    const file = join(root, folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, 'x'.repeat(bytes));
  }
}

/** Largest first, ties by path. */
function largest({ folder, files, count }: Case): string[] {
  return [...files]
    .map(([path, bytes]) => ({ path: `${folder}/${path}`, bytes }))
    .sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1))
    .slice(0, count)
    .map(({ path }) => path);
}

/** The paths of the folder's files that a text names, in the order it names them. */
function named(text: string, { folder, files }: Case): string[] {
  return [...files.keys()]
    .map((path) => ({ path: `${folder}/${path}`, at: text.indexOf(`${folder}/${path}`) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ path }) => path);
}

describe('the offline model, with the real tools', () => {
  it('writes the names of the largest files of a folder into a file: recursive, by bytes, ties by path', async () => {
    await fc.assert(
      fc.asyncProperty(jobs, fc.boolean(), async (job, asWord) => {
        await using root = await temporaryFolder();
        await write(root.path, job);
        const count = asWord ? COUNT_WORDS[job.count] : String(job.count);
        const prompt = `Create ${job.target} with the names of the ${count} largest files in ${job.folder}`;
        const { code, stdout } = await runCli([prompt, '--cwd', '.', '--model', 'offline'], { cwd: root.path });
        expect({ code, stdout }).toMatchObject({ code: 0 });
        expect(named(await readFile(join(root.path, job.target), 'utf8'), job)).toEqual(largest(job));
      }),
      { numRuns: 12 },
    );
  });

  it('finds what is asked for, where it is', async () => {
    const cases = fc.record({
      needle: fc.stringMatching(/^Zx[a-z]{6}$/),
      job: jobs,
      at: fc.nat(),
      line: fc.nat({ max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ needle, job, at, line }) => {
        await using root = await temporaryFolder();
        await write(root.path, job);
        const paths = [...job.files.keys()];
        const path = `${job.folder}/${paths[at % paths.length] ?? ''}`;
        await writeFile(join(root.path, path), `${'nothing here\n'.repeat(line)}the ${needle} is here\n`);
        const prompt = `Find "${needle}" in ${job.folder}`;
        const { code, stdout } = await runCli([prompt, '--model', 'offline'], { cwd: root.path });
        expect(code).toBe(0);
        expect(stdout).toMatch(new RegExp(`${path.replaceAll('.', String.raw`\.`)}\\D+${line + 1}\\b`));
      }),
      { numRuns: 8 },
    );
  });

  it('adds up the figures of a file', async () => {
    const figures = fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 3, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(figures, word, async (numbers, name) => {
        await using root = await temporaryFolder();
        const rows = numbers.map((amount, index) => `item${index},${amount}`);
        await writeFile(join(root.path, `${name}.csv`), `item,amount\n${rows.join('\n')}\n`);
        const prompt = `What is the sum of amount in ${name}.csv?`;
        const { code, stdout } = await runCli([prompt, '--model', 'offline'], { cwd: root.path });
        const sum = numbers.reduce((total, amount) => total + amount, 0);
        expect(code).toBe(0);
        expect(stdout.replaceAll(',', '')).toMatch(new RegExp(`\\b${sum}\\b`));
      }),
      { numRuns: 8 },
    );
  });

  it('says what it was not allowed to do, and exits 4', async () => {
    await using root = await temporaryFolder();
    const prompt = 'Create notes/new.md with the text "hello"';
    const { code, stdout, stderr } = await runCli([prompt, '--model', 'offline'], { cwd: root.path });
    expect(code).toBe(4);
    expect(stderr).toContain('--allow write');
    expect(stdout).not.toContain('Created notes/new.md');
    await expect(readFile(join(root.path, 'notes/new.md'))).rejects.toThrow('ENOENT');
  });
});

it('replaces a file that is there, and reads it first', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'note.md'), 'Old.\n');
  const prompt = 'Create note.md with the text "New"';
  const { code, stdout } = await runCli([prompt, '--cwd', folder.path, '--model', 'offline'], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stdout).toContain('Overwrote note.md');
  expect(await readFile(join(folder.path, 'note.md'), 'utf8')).toBe('New');
});
