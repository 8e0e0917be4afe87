// What the documentation shows works where commands can't be sandboxed.

import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fakeProvider } from '@treadle/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { forbiddenWords, withBubblewrap } from './bubblewrap.ts';

vi.setConfig({ testTimeout: 240_000 });

const root = dirname(dirname(import.meta.dirname));
const kinds = ['missing', 'forbidden'] as const;

/** The pages whose commands start agents. */
const pages = [
  ...['README', 'docs/start', 'docs/command-line', 'docs/sandbox', 'docs/permissions', 'docs/tools'],
  ...['docs/hooks', 'docs/instructions', 'docs/models', 'docs/plugins', 'docs/skills'],
];

describe.each(kinds)('where bubblewrap is %s', (kind) => {
  test('the commands of the documentation work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'treadle-docs-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const report = join(folder, 'report.json');
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const title = `runs: (${pages.join('|')}).md:`;
    const args = [
      process.execPath,
      vitest,
      'run',
      'scripts/docs.slow.test.ts',
      '-t',
      title,
      '--reporter=json',
      `--outputFile=${report}`,
    ];
    const [program = '', ...rest] = withBubblewrap(kind, args);
    const { stderr, status } = spawnSync(program, rest, { cwd: root, encoding: 'utf8', maxBuffer: 1e9 });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const { numPassedTests, numFailedTests } = JSON.parse(await readFile(report, 'utf8')) as {
      numPassedTests: number;
      numFailedTests: number;
    };
    expect(numFailedTests).toBe(0);
    expect(numPassedTests).toBeGreaterThan(20);
  });

  test('the main job of the readme works', () => {
    const [program = '', ...args] = withBubblewrap(kind, ['npm', 'start', '--silent']);
    const { stdout, status } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('file') });
  });

  test('--allow bash runs commands', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'treadle-allow-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'a.txt'), 'one\n');
    const toolCalls = ['ls', 'echo made > b.txt; cat a.txt b.txt'].map((command) => ({
      name: 'bash',
      arguments: { command },
    }));
    await using provider = await fakeProvider([{ toolCalls }, 'Done.']);
    const argv = [process.execPath, '--conditions=treadle-source', join(root, 'packages/treadle/bin/treadle.js')];
    const [program = '', ...args] = withBubblewrap(kind, [
      ...argv,
      'run',
      'Go.',
      '-m',
      'anthropic/x',
      '--allow',
      'bash',
    ]);
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ANTHROPIC_BASE_URL: provider.url };
    await promisify(execFile)(program, args, { cwd: folder, env });
    const told = JSON.stringify(provider.requests.at(-1)?.body);
    expect(told).toContain('a.txt');
    expect(told).toContain('one\\nmade');
  });

  test('doctor says so, and what it means', () => {
    const argv = [process.execPath, '--conditions=treadle-source', join(root, 'packages/treadle/bin/treadle.js')];
    const [program = '', ...args] = withBubblewrap(kind, [...argv, 'doctor']);
    const { stdout } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
    expect(stdout).toContain(kind === 'missing' ? 'apt-get install bubblewrap' : forbiddenWords);
    expect(stdout).toContain('every command asks');
  });
});
