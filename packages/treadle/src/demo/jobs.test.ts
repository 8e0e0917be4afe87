// Real jobs in real folders without a key: names, sizes and figures are random, so that no answer can be known before.

import fc from 'fast-check';

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../test-support/harness.ts';
import { demoPrompt } from './prompt.ts';

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

describe('the demo model, with the real tools', () => {
  it('writes the names of the largest files of a folder into a file: recursive, by bytes, ties by path', async () => {
    await fc.assert(
      fc.asyncProperty(jobs, fc.boolean(), async (job, asWord) => {
        await using root = await temporaryFolder();
        await write(root.path, job);
        const count = asWord ? COUNT_WORDS[job.count] : String(job.count);
        const prompt = `Create ${job.target} with the names of the ${count} largest files in ${job.folder}`;
        const { code, stdout } = await runCli([prompt, '--cwd', '.', '--model', 'demo'], { cwd: root.path });
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
        const prompt = `Which files mention "${needle}" in ${job.folder}?`;
        const { code, stdout } = await runCli([prompt, '--model', 'demo'], { cwd: root.path });
        expect(code).toBe(0);
        expect(stdout).toMatch(new RegExp(`${path.replaceAll('.', String.raw`\.`)}\\D+${line + 1}\\b`));
      }),
      { numRuns: 8 },
    );
  });

  it('counts the lines of a file', async () => {
    const lines = fc.array(fc.stringMatching(/^[a-z ]{0,9}$/), { minLength: 1, maxLength: 2000 });
    await fc.assert(
      fc.asyncProperty(lines, word, async (text, name) => {
        await using root = await temporaryFolder();
        await writeFile(join(root.path, `${name}.txt`), `${text.join('\n')}\n`);
        const { code, stdout } = await runCli([`Count the lines of ${name}.txt`, '--model', 'demo'], {
          cwd: root.path,
        });
        expect(code).toBe(0);
        expect(stdout).toContain(
          `${name}.txt: ${text.length.toLocaleString('en-US')} line${text.length === 1 ? '' : 's'}\n`,
        );
      }),
      { numRuns: 8 },
    );
  });

  it('says what it was not allowed to do, and exits 4', async () => {
    await using root = await temporaryFolder();
    const prompt = 'Create notes/new.md with the text "hello"';
    const { code, stdout, stderr } = await runCli([prompt, '--model', 'demo'], { cwd: root.path });
    expect(code).toBe(4);
    expect(stderr).toContain('--allow write');
    expect(stdout).toContain('`write_file` failed: Permission denied: write_file was not run.\n');
    expect(stdout).not.toContain('Created notes/new.md');
    await expect(readFile(join(root.path, 'notes/new.md'))).rejects.toThrow('ENOENT');
  });
});

it('replaces a file that is there, and reads it first', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'note.md'), 'Old.\n');
  const prompt = 'Create note.md with the text "New"';
  const { code, stdout } = await runCli([prompt, '--cwd', folder.path, '--model', 'demo'], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stdout).toContain('Overwrote note.md');
  expect(await readFile(join(folder.path, 'note.md'), 'utf8')).toBe('New');
});

it('says what is in a folder, with its subfolders', async () => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'a/b'), { recursive: true });
  await writeFile(join(folder.path, 'a/b/long.txt'), 'long');
  await writeFile(join(folder.path, 'short.txt'), '.');
  for (const prompt of ['What is in this folder?', 'How many files are in .', 'which files are in this folder']) {
    const { stdout } = await runCli([prompt, '--model', 'demo'], { cwd: folder.path });
    expect(stdout).toContain('This folder holds 2 files, subfolders included. The largest is a/b/long.txt (4 bytes).');
    expect(stdout).toContain('\n- a/\n- short.txt\n');
  }
});

it('runs a command that it may run', async () => {
  await using folder = await temporaryFolder();
  const argv = ['Run `echo "a b" > made; echo done`', '--model', 'demo', '--allow', 'bash'];
  const { code, stdout } = await runCli(argv, { cwd: folder.path });
  expect({ code, made: await readFile(join(folder.path, 'made'), 'utf8') }).toEqual({ code: 0, made: 'a b\n' });
  expect(stdout).toContain('exit code 0\nstdout:\ndone\n');
});

it.each(['demo', 'empty'])('does the job of npm start in any folder: %s', async (kind) => {
  await using folder = await temporaryFolder();
  if (kind === 'demo') await writeFile(join(folder.path, 'a.ts'), 'one\ndemoModel()\n');
  const { code, stdout } = await runCli([demoPrompt, '--model', 'demo'], { cwd: folder.path });
  expect(code).toBe(0);
  const facts =
    kind === 'demo'
      ? [
          'This folder holds 1 file,',
          '- a.ts (16 bytes)',
          '- a.ts: 2 lines',
          '"demoModel" is in 1 file.\n\n- a.ts: line 2',
        ]
      : ['This folder holds 0 files', 'holds no TypeScript files', 'No file in this folder mentions "demoModel".'];
  for (const fact of facts) expect(stdout).toContain(fact);
});

it.each(['What is in missing?', 'Count the lines of missing.md', 'Which files mention "x" in missing?'])(
  'says why a job failed, in the tool’s own words: %s',
  async (prompt) => {
    await using folder = await temporaryFolder();
    const { code, stdout } = await runCli([prompt, '--model', 'demo'], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toMatch(/`(list_files|read_file|search)` failed: missing(\.md)? does not exist\./);
  },
);

it('says which tool it needs and does not have', async () => {
  await using folder = await temporaryFolder();
  const argv = ['What is in this folder?', '--model', 'demo', '--tools', 'search'];
  const { stdout } = await runCli(argv, { cwd: folder.path });
  expect(stdout).toContain('I need the tool `list_files`');
});
