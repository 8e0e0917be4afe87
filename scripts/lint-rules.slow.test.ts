// @module-tag slow

// The linter's configuration, proved: each rule the project relies on is shown a snippet that breaks it.

import { execFile } from 'node:child_process';
import { cp, glob, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

interface Case {
  readonly breaks: string;
  readonly file: string;
  readonly text: string;
  readonly rule: string;
  /** Files the snippet needs beside it; they may be reported too. */
  readonly beside?: Readonly<Record<string, string>>;
}

const CASES: readonly Case[] = [
  {
    breaks: 'a promise that nobody waits for',
    file: 'packages/tools/src/floating.ts',
    text: 'async function save(): Promise<void> {}\nexport function run(): void {\n  save();\n}\n',
    rule: 'typescript(no-floating-promises)',
  },
  {
    breaks: 'a promise that nobody waits for, in a test',
    file: 'packages/tools/src/floating.test.ts',
    text: "import { readFile } from 'node:fs/promises';\n\nimport { expect, it } from 'vitest';\n\nit('reads', () => {\n  readFile('a');\n  expect(1).toBe(1);\n});\n",
    rule: 'typescript(no-floating-promises)',
  },
  {
    breaks: 'a promise that nobody waits for, in a script',
    file: 'scripts/floating.ts',
    text: "import { readFile } from 'node:fs/promises';\n\nreadFile('a');\n",
    rule: 'typescript(no-floating-promises)',
  },
  {
    breaks: 'a promise as a condition',
    file: 'packages/tools/src/misused.ts',
    text: "async function ready(): Promise<boolean> {\n  return true;\n}\nexport const text = (): string => {\n  if (ready()) return 'always';\n  return 'never';\n};\n",
    rule: 'typescript(no-misused-promises)',
  },
  {
    breaks: 'an async function where nobody looks at its promise',
    file: 'packages/tools/src/misused-callback.ts',
    text: 'export const later = (items: string[]): void => {\n  items.forEach(async (item) => {\n    await Promise.resolve(item);\n  });\n};\n',
    rule: 'typescript(no-misused-promises)',
  },
  {
    breaks: 'an explicit any',
    file: 'packages/models/src/any.ts',
    text: 'export const id = (value: any): unknown => value;\n',
    rule: 'typescript(no-explicit-any)',
  },
  {
    breaks: 'an any that comes from elsewhere and gets a name',
    file: 'packages/models/src/unsafe-assignment.ts',
    text: 'export function parse(text: string): void {\n  const value = JSON.parse(text);\n  void value;\n}\n',
    rule: 'typescript(no-unsafe-assignment)',
  },
  {
    breaks: 'an any that is returned',
    file: 'packages/models/src/unsafe-return.ts',
    text: 'export function parse(text: string): string {\n  return JSON.parse(text);\n}\n',
    rule: 'typescript(no-unsafe-return)',
  },
  {
    breaks: 'an any whose field is read',
    file: 'packages/models/src/unsafe-member.ts',
    text: 'export const read = (text: string): boolean => JSON.parse(text).field === 1;\n',
    rule: 'typescript(no-unsafe-member-access)',
  },
  {
    breaks: 'a non-null assertion',
    file: 'packages/models/src/bang.ts',
    text: 'export const first = (items: string[]): string => items[0]!;\n',
    rule: 'typescript(no-non-null-assertion)',
  },
  {
    breaks: 'a silenced type error',
    file: 'packages/models/src/silenced.ts',
    text: '// @ts-ignore: it is fine\nexport const count: number = 1;\n',
    rule: 'typescript(ban-ts-comment)',
  },
  {
    breaks: 'a type imported as a value',
    file: 'packages/models/src/type-import.ts',
    text: "import { Shape } from './type-import-shape.ts';\n\nexport const area = (shape: Shape): number => shape.side * shape.side;\n",
    beside: { 'packages/models/src/type-import-shape.ts': 'export interface Shape {\n  side: number;\n}\n' },
    rule: 'typescript(consistent-type-imports)',
  },
  {
    breaks: 'an unused variable',
    file: 'packages/store/src/unused.ts',
    text: 'export function count(): number {\n  const spare = 2;\n  return 1;\n}\n',
    rule: 'eslint(no-unused-vars)',
  },
  {
    breaks: 'a loose comparison',
    file: 'packages/store/src/loose.ts',
    text: 'export const same = (a: string, b: string): boolean => a == b;\n',
    rule: 'eslint(eqeqeq)',
  },
  {
    breaks: 'a print in a library',
    file: 'packages/store/src/print.ts',
    text: "export const hello = (): void => {\n  console.log('hello');\n};\n",
    rule: 'eslint(no-console)',
  },
  {
    breaks: 'a default export',
    file: 'packages/store/src/default.ts',
    text: 'export default function count(): number {\n  return 1;\n}\n',
    rule: 'import(no-default-export)',
  },
  {
    breaks: 'a thrown string',
    file: 'packages/store/src/thrown.ts',
    text: "export function fail(): never {\n  throw 'no';\n}\n",
    rule: 'typescript(only-throw-error)',
  },
  {
    breaks: 'a switch that forgets a case',
    file: 'packages/store/src/switch.ts',
    text: "export function name(kind: 'a' | 'b'): string {\n  switch (kind) {\n    case 'a':\n      return 'first';\n  }\n  return '';\n}\n",
    rule: 'typescript(switch-exhaustiveness-check)',
  },
  {
    breaks: 'a file of over 400 lines',
    file: 'packages/store/src/long.ts',
    text: Array.from({ length: 401 }, (_, line) => `export const line${String(line)} = ${String(line)};\n`).join(''),
    rule: 'eslint(max-lines)',
  },
  {
    breaks: 'a test that runs alone',
    file: 'packages/store/src/only.test.ts',
    text: "import { expect, it } from 'vitest';\n\nit.only('works', () => {\n  expect(1).toBe(1);\n});\n",
    rule: 'vitest(no-focused-tests)',
  },
  {
    breaks: 'a test that is skipped',
    file: 'packages/store/src/skip.test.ts',
    text: "import { expect, it } from 'vitest';\n\nit.skip('works', () => {\n  expect(1).toBe(1);\n});\n",
    rule: 'vitest(no-disabled-tests)',
  },
  {
    breaks: 'a cycle of imports',
    file: 'packages/core/src/cycle-a.ts',
    text: "import { b } from './cycle-b.ts';\n\nexport const a = (): number => b();\n",
    beside: {
      'packages/core/src/cycle-b.ts': "import { a } from './cycle-a.ts';\n\nexport const b = (): number => a();\n",
    },
    rule: 'import(no-cycle)',
  },
  {
    breaks: 'a cycle of type imports',
    file: 'packages/core/src/type-cycle-a.ts',
    text: "import type { B } from './type-cycle-b.ts';\n\nexport interface A {\n  readonly b: B;\n}\n",
    beside: {
      'packages/core/src/type-cycle-b.ts':
        "import type { A } from './type-cycle-a.ts';\n\nexport interface B {\n  readonly a: A;\n}\n",
    },
    rule: 'import(no-cycle)',
  },
  {
    breaks: "an import of Node's modules in core",
    file: 'packages/core/src/journal/disk.ts',
    text: "import { readFileSync } from 'node:fs';\n\nexport const read = (path: string): string => readFileSync(path, 'utf8');\n",
    rule: 'house(imports)',
  },
  {
    breaks: "an import of Node's modules without their prefix in core",
    file: 'packages/core/src/journal/bare.ts',
    text: "import { readFileSync } from 'fs';\n\nexport const read = (path: string): string => readFileSync(path, 'utf8');\n",
    rule: 'house(imports)',
  },
  {
    breaks: "a dynamic import of Node's modules in core",
    file: 'packages/core/src/journal/dynamic.ts',
    text: "export const load = async (): Promise<unknown> => import('node:fs');\n",
    rule: 'house(imports)',
  },
  {
    breaks: "a global of Node's in core",
    file: 'packages/core/src/journal/global.ts',
    text: 'export const home = (): string | undefined => process.env.HOME;\n',
    rule: 'eslint(no-restricted-globals)',
  },
  {
    breaks: 'a library in core',
    file: 'packages/core/src/library.ts',
    text: "export { z } from 'zod';\n",
    rule: 'house(imports)',
  },
  {
    breaks: 'another package in core, if only for its types',
    file: 'packages/core/src/upwards.ts',
    text: "export type Journal = import('@treadle/store').SqliteJournal;\n",
    rule: 'house(imports)',
  },
  {
    breaks: 'a feature that imports another one, if only for its types',
    file: 'packages/core/src/features/hooks/other.ts',
    text: "export type { Limit } from '../limits/beside.ts';\n",
    beside: { 'packages/core/src/features/limits/beside.ts': 'export type Limit = number;\n' },
    rule: 'house(imports)',
  },
  {
    breaks: 'a kernel that names a feature outside of its lists',
    file: 'packages/core/src/kernel/other.ts',
    text: "export type { Limit } from '../features/limits/beside.ts';\n",
    beside: { 'packages/core/src/features/limits/beside.ts': 'export type Limit = number;\n' },
    rule: 'house(imports)',
  },
  {
    breaks: 'a vocabulary that imports the kernel',
    file: 'packages/core/src/messages/other.ts',
    text: "export { planned } from '../kernel/beside.ts';\n",
    beside: { 'packages/core/src/kernel/beside.ts': 'export const planned = true;\n' },
    rule: 'house(imports)',
  },
  {
    breaks: 'a feature that imports the session',
    file: 'packages/core/src/features/limits/upward.ts',
    text: "export { opened } from '../../session/beside.ts';\n",
    beside: { 'packages/core/src/session/beside.ts': 'export const opened = true;\n' },
    rule: 'house(imports)',
  },
  {
    breaks: 'models that import tools',
    file: 'packages/models/src/tools.ts',
    text: "import { readFileTool } from '@treadle/tools';\n\nexport const tools = [readFileTool];\n",
    rule: 'house(imports)',
  },
  {
    breaks: 'a package reached by a path',
    file: 'packages/models/src/path.ts',
    text: "export * from '../../core/src/cycle-a.ts';\n",
    rule: 'house(imports)',
  },
  {
    breaks: 'a library that the manifest does not name',
    file: 'packages/tools/src/undeclared.ts',
    text: "export { z } from 'zod';\n",
    rule: 'house(imports)',
  },
  {
    breaks: 'the command line importing the testing package',
    file: 'packages/treadle/src/testing.ts',
    text: "export { scriptedModel } from '@treadle/testing';\n",
    rule: 'house(imports)',
  },
  {
    breaks: 'a package without arrows',
    file: 'packages/attic/src/index.ts',
    text: "export * from '@treadle/core';\n",
    rule: 'house(imports)',
  },
];

/** What the rules must leave alone. */
const FINE: Readonly<Record<string, string>> = {
  'packages/core/src/kernel/features.ts': "export { fine } from '../features/limits/fine.ts';\n",
  'packages/core/src/features/limits/fine.ts':
    "import { agreed } from '../../tools/fine.ts';\n\nexport const fine = (): boolean => agreed;\n",
  'packages/core/src/tools/fine.ts': 'export const agreed = true;\n',
  // A test may import what a test needs. That it and the script know Node's types shows that a project covers them.
  'packages/core/src/fine.test.ts':
    "import process from 'node:process';\n\nimport { expect, it } from 'vitest';\n\nexport { scriptedModel } from '@treadle/testing';\n\nit('has a home', () => {\n  const home = process.env.HOME;\n  expect(home?.length).toBeGreaterThan(0);\n});\n",
  'scripts/fine.ts': "const home = process.env.HOME ?? '/';\nconsole.log(home.length);\n",
  'packages/tools/src/fine.ts':
    "import { readFileSync } from 'node:fs';\n\nimport type { Tool } from '@treadle/core';\n\nexport const name = (tool: Tool): string => tool.name + readFileSync('/etc/hostname', 'utf8');\n",
  'packages/tools/src/declared.ts': "export { parse } from 'declared-library';\n",
  'packages/treadle/src/fine.ts':
    "export * from '@treadle/core';\nexport * from '@treadle/models';\nexport * from '@treadle/store';\nexport * from '@treadle/tools';\n\nconsole.log('the command prints');\n",
};

/** Types for the workspace packages that snippets import: the real ones may not be built. */
const STUBS: Readonly<Record<string, string>> = {
  'packages/tools/src/stubs.d.ts':
    "declare module '@treadle/core' {\n  export interface Tool {\n    readonly name: string;\n  }\n}\n",
  'packages/tools/package.json': '{ "name": "@treadle/tools", "dependencies": { "declared-library": "1" } }\n',
};

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
}

async function lint(folder: string): Promise<readonly Diagnostic[]> {
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const command = promisify(execFile)(process.execPath, [oxlint, '--format', 'json'], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    maxBuffer: 64 * 1024 * 1024,
    timeout: 60_000,
  });
  // A run that finds something ends with 1 and is what we want.
  const { stdout } = await command.catch((error: unknown) => error as { readonly stdout: string });
  return (JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] }).diagnostics;
}

describe("the linter's configuration", () => {
  let folder: string;
  let found: ReadonlyMap<string, readonly string[]>;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'treadle-lint-')));
    const files: Record<string, string> = { ...STUBS, ...FINE };
    for (const { file, text, beside } of CASES) Object.assign(files, beside, { [file]: text });
    await cp(join(root, 'scripts/lint'), join(folder, 'scripts/lint'), { recursive: true });
    const configuration = ['.oxlintrc.json', 'tsconfig*.json', 'packages/*/tsconfig.json', 'packages/*/package.json'];
    for await (const name of glob(configuration, { cwd: root })) await cp(join(root, name), join(folder, name));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const byFile = new Map<string, string[]>();
    for (const { code, filename } of await lint(folder)) byFile.set(filename, [...(byFile.get(filename) ?? []), code]);
    found = byFile;
  }, 90_000);

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it.each(CASES)('reports $breaks', ({ file, rule }) => {
    expect(found.get(file) ?? []).toContain(rule);
  });

  it.each(Object.keys(FINE))('has nothing against %s', (file) => {
    expect(found.get(file) ?? []).toEqual([]);
  });
});
