// @module-tag slow

// Everything the documentation shows as code is true: it runs, here, without keys and without a network.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it, vi } from 'vitest';

import {
  anchorsOf,
  blocksOf,
  examplesOf,
  linksOf,
  matchesOutput,
  outputIn,
  runnables,
  targetsOf,
} from './docs/blocks.ts';
import type { Block, Runnable } from './docs/blocks.ts';
import { execute } from './docs/execute.ts';
import { documents, root, sourceExamples, temporaryFolder } from './docs/files.ts';

vi.setConfig({ maxConcurrency: 2, testTimeout: 120_000 });

const TIMEOUT_MS = 60_000;

const pages = await documents();
const pageBlocks = pages.map(({ file, text }) => blocksOf(text, file));
const examples = await sourceExamples();

function ofKind(kind: Block['kind']): readonly Block[] {
  return pageBlocks.flat().filter((block) => block.kind === kind);
}

async function expectToHold({ block, output }: Runnable): Promise<void> {
  const outcome = await execute(block, TIMEOUT_MS);
  expect(outcome, `${block.where} failed:\n${outcome.stderr}`).toMatchObject({ code: 0 });
  const printed = output === null || matchesOutput(output, outcome.stdout) ? output : outcome.stdout;
  expect(printed, `${block.where} prints something else than the docs show`).toBe(output);
}

const isFirstPage = ({ block }: Runnable): boolean => block.where.startsWith('README.md:');

describe.concurrent('each code block of the documents', () => {
  const blocks = pageBlocks.flatMap(runnables);
  describe.each([
    { where: 'in the README', tags: ['share'], chosen: blocks.filter(isFirstPage) },
    { where: 'elsewhere', tags: [], chosen: blocks.filter((runnable) => !isFirstPage(runnable)) },
  ])('$where', ({ tags, chosen }) => {
    it.each(chosen.map((runnable) => [runnable.block.where, runnable] as const))(
      'runs: %s',
      { tags },
      async (_where, runnable) => {
        await expectToHold(runnable);
      },
    );
  });

  it.each(ofKind('json').map(({ where, text }) => [where, text] as const))('is JSON: %s', (_where, text) => {
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });
});

describe.concurrent('each example in a doc comment', () => {
  it.each(examples.map((block) => [block.where, block] as const))('runs: %s', async (_where, block) => {
    await expectToHold({ block, output: null });
  });
});

describe('all TypeScript in the docs', () => {
  it('passes the type checker under the settings of the project', async () => {
    const folder = await temporaryFolder();
    try {
      await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
      await mkdir(join(folder.path, 'blocks'));
      await writeFile(join(folder.path, 'package.json'), '{ "type": "module" }\n');
      const compilerOptions = {
        customConditions: ['treadle-source'],
        noEmit: true,
        composite: false,
        declaration: false,
        // An example may name what it doesn't go on to use.
        noUnusedLocals: false,
      };
      await writeFile(
        join(folder.path, 'tsconfig.json'),
        JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['blocks'] }),
      );
      const modules = [...ofKind('module'), ...examples];
      for (const { where, text } of modules) {
        // A file's name says where it comes from. `export {}` makes each one a module of its own.
        const name = where.replaceAll(/[^A-Za-z0-9.]+/g, '_');
        await writeFile(join(folder.path, 'blocks', `${name}.ts`), `${text}\nexport {};\n`);
      }
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      const check = promisify(execFile)(process.execPath, [tsc, '-p', folder.path], { timeout: 100_000 });
      const problems = await check.then(
        () => '',
        (error: unknown) => (error as { readonly stdout: string }).stdout,
      );
      const inBlocks = problems.split('\n').filter((line) => line.includes('blocks/'));
      expect(inBlocks).toEqual([]);
    } finally {
      await folder.dispose();
    }
  });
});

describe('the pages', { tags: ['share'] }, () => {
  it.each(pages.map(({ file, text }) => [file, text] as const))('lead nowhere that is not there: %s', (file, text) => {
    expect(linksOf(text).filter((target) => !existsSync(join(root, dirname(file), target)))).toEqual([]);
  });

  it.each(pages.map(({ file, text }) => [file, text] as const))('name headings that are there: %s', (file, text) => {
    const missing = targetsOf(text).filter((target) => {
      const [path = '', anchor] = target.split('#');
      const page = pages.find((other) => other.file === (path === '' ? file : join(dirname(file), path)));
      return anchor !== undefined && page !== undefined && !anchorsOf(page.text).includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  it('are all in the index', () => {
    const index = pages.find(({ file }) => file === 'docs/README.md');
    const inDocs = pages.filter(({ file }) => dirname(file) === 'docs' && file !== 'docs/README.md');
    expect(inDocs.length).toBeGreaterThan(0);
    expect(linksOf(index?.text ?? '')).toEqual(expect.arrayContaining(inDocs.map(({ file }) => basename(file))));
  });
});

describe('the reader of code blocks', { tags: ['share'] }, () => {
  const fenced = (info: string, text: string): string => `Before.\n\n\`\`\`${info}\n${text}\n\`\`\`\n\nAfter.\n`;

  it('finds a block with its kind, its text and its line', () => {
    expect(blocksOf(fenced('ts', 'run();'), 'a.md')).toEqual([{ where: 'a.md:3', kind: 'module', text: 'run();\n' }]);
  });

  it('takes a block out of a list item without the indent', () => {
    const markdown = '- item\n\n  ```sh\n  a\n    b\n  ```\n';
    expect(blocksOf(markdown, 'a.md')).toEqual([{ where: 'a.md:3', kind: 'shell', text: 'a\n  b\n' }]);
  });

  it('keeps a shorter fence inside a longer one as text', () => {
    const markdown = '````text\n```ts\nx\n```\n````\n';
    expect(blocksOf(markdown, 'a.md')).toEqual([{ where: 'a.md:1', kind: 'shown', text: '```ts\nx\n```\n' }]);
  });

  it.each(['', 'python', 'ts skip', 'sh maybe'])("refuses a block of the unknown kind '%s'", (info) => {
    expect(() => blocksOf(fenced(info, 'x'), 'a.md')).toThrow('a.md:3: a code block must say what it is');
  });

  it('refuses a block that is never closed', () => {
    expect(() => blocksOf('```ts\nx\n', 'a.md')).toThrow('a.md:1: this code block is never closed');
  });

  it('joins output to the block before it', () => {
    const blocks = blocksOf(fenced('sh', 'echo a') + fenced('text output', 'a') + fenced('ts', '1;'), 'a.md');
    expect(runnables(blocks).map(({ block, output }) => [block.text, output])).toEqual([
      ['echo a\n', 'a\n'],
      ['1;\n', null],
    ]);
  });

  it('refuses output that follows nothing', () => {
    expect(() => runnables(blocksOf(fenced('text output', 'a'), 'a.md'))).toThrow('follows no block');
  });

  it('compares output to the letter but for …', () => {
    expect(matchesOutput('took … ms (done)\n', 'took 12 ms (done)')).toBe(true);
    expect(matchesOutput('took … ms (done)\n', 'took 12 ms, done')).toBe(false);
    expect(matchesOutput('a+b\n', 'aab')).toBe(false);
    expect(matchesOutput('a\nb\n', 'a \nb\n\n')).toBe(true);
  });

  it('finds what a program says it prints', () => {
    expect(outputIn('run(); /* No. */\n\n/* Output:\na\n\nb\n*/\n', 'a.ts')).toBe('a\n\nb\n');
  });

  it.each(['run();\n', '/* Output:\na\n*/\nrun();\n'])('refuses a program that does not end with it: %j', (source) => {
    expect(() => outputIn(source, 'a.ts')).toThrow("a.ts: it must end with a comment that begins with '/* Output:'.");
  });

  it('finds where links lead, but not in code', () => {
    const markdown = 'See [a](b.md#c), [d](#e) and [f](https://g.h).\n\n```text\n[i](j.md)\n```\n\nOr `[k](l.md)`.\n';
    expect(linksOf(markdown)).toEqual(['b.md']);
    expect(targetsOf(markdown)).toEqual(['b.md#c', '#e']);
  });

  it('finds the anchors of headings', () => {
    expect(anchorsOf('# `read_file`, and more\n\n```text\n# no\n```\n')).toEqual(['read_file-and-more']);
  });

  it('finds the examples of doc comments', () => {
    const source =
      '/** One. */\nconst a = 1;\n\n/**\n * Two.\n *\n * @example\n * ```ts\n * const b = 2;\n * ```\n */\n';
    expect(examplesOf(source, 'a.ts')).toEqual([{ where: 'a.ts:8', kind: 'module', text: 'const b = 2;\n' }]);
  });
});

describe('the runner of code blocks', () => {
  const block = (kind: Block['kind'], text: string): Block => ({ where: 'a.md:1', kind, text });

  it('runs TypeScript against the sources of the workspace', async () => {
    const text =
      "import { TreadleError } from '@treadle/core';\nconst name: string = TreadleError.name;\nconsole.log(name);\n";
    expect(await execute(block('module', text), TIMEOUT_MS)).toEqual({ code: 0, stdout: 'TreadleError\n', stderr: '' });
  });

  it('reports a module that throws', async () => {
    const outcome = await execute(block('module', "throw new Error('on purpose');\n"), TIMEOUT_MS);
    expect(outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('on purpose') as string });
  });

  it('runs a shell block in a copy of the repository and stops at the first command that fails', async () => {
    const outcome = await execute(block('shell', 'test -f package.json\nfalse\necho unreached\n'), TIMEOUT_MS);
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
  });

  it('hides keys from blocks', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'hidden');
    const outcome = await execute(block('shell', 'env\n'), TIMEOUT_MS);
    vi.unstubAllEnvs();
    expect(outcome.stdout).not.toContain('ANTHROPIC');
  });

  it('kills a block that hangs', async () => {
    const outcome = await execute(block('shell', 'sleep 1000 & sleep 1000\n'), 500);
    expect(outcome).toMatchObject({ code: null, stderr: expect.stringContaining('killed after 500 ms') as string });
  });
});
