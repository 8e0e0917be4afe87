// @module-tag slow
// An application that exports its agent, and has its declarations written, names no type of Treadle's inside.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

import { afterEach, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

const APPLICATION = `
import { createSession, defineAgent, defineTool } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

export const look = defineTool({
  name: 'look',
  description: 'Looks a city up.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => ({ city, degrees: 20 }),
});
export const agent = defineAgent({
  model: scriptedModel(['Hello.']),
  tools: [look],
  output: { schema: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] } },
});
export const open = () => createSession(agent);
export const ask = async () => (await open()).prompt('Go.');
export const result = async () => (await ask()).result;
`;

let folder = '';
afterEach(() => rm(folder, { recursive: true, force: true }));

it('tsc --declaration writes the types of an exported agent, session, run and result', async () => {
  folder = await mkdtemp(join(tmpdir(), 'treadle-declarations-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
  await writeFile(join(folder, 'app.ts'), APPLICATION);
  const compilerOptions = {
    strict: true,
    target: 'es2024',
    module: 'nodenext',
    customConditions: ['treadle-source'],
    allowImportingTsExtensions: true,
    types: ['node'],
    declaration: true,
    emitDeclarationOnly: true,
    skipLibCheck: true,
    outDir: 'out',
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const problems = await promisify(execFile)(process.execPath, [tsc, '-p', folder], { timeout: 100_000 }).then(
    () => '',
    (error: unknown) => (error as { readonly stdout: string }).stdout,
  );
  expect(problems.split('\n').filter((line) => line.startsWith('app.ts') || line.includes('/app.ts'))).toEqual([]);
  const written = await readFile(join(folder, 'out/app.d.ts'), 'utf8').catch(() => 'nothing');
  expect(written).toContain('degrees');
});
