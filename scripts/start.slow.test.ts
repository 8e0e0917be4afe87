// @module-tag slow

// `npm start`, on a copy of this repository: what it says about the files is compared with the files.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { freshCopy, type Folder } from './docs/files.ts';

let copy: Folder;

beforeAll(async () => {
  copy = await freshCopy(true);
  await mkdir(join(copy.path, 'own', 'home'), { recursive: true });
});

afterAll(() => copy.dispose());

async function start(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    HOME: join(copy.path, 'own/home'),
  };
  return promisify(execFile)(process.execPath, ['--conditions=treadle-source', 'scripts/start.ts', ...args], {
    cwd: copy.path,
    env,
  });
}

/** The paths of the largest files of a folder, by bytes, then by path. */
async function largest(folder: string, count: number, ending: string): Promise<string[]> {
  const entries = await readdir(join(copy.path, folder), { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name).slice(copy.path.length + 1));
  const sized = await Promise.all(
    files.map(async (path) => ({ path, bytes: (await stat(join(copy.path, path))).size })),
  );
  return sized
    .sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1))
    .slice(0, count)
    .map(({ path }) => path);
}

describe('npm start', () => {
  it(
    'without a prompt does a job of several turns and tools, and is right about the files',
    { tags: ['share'] },
    async () => {
      const { stdout, stderr } = await start('--output-format', 'json');
      const {
        status,
        turns,
        text: finalAnswer,
        provider,
        messages,
      } = JSON.parse(stdout) as {
        status: string;
        turns: number;
        text: string;
        provider: string;
        messages: { role: string; toolName?: string }[];
      };
      expect({ status, provider }).toEqual({ status: 'completed', provider: 'demo' });
      expect(turns).toBeGreaterThan(2);
      expect(new Set(messages.flatMap(({ toolName }) => toolName ?? [])).size).toBeGreaterThan(2);
      const paths = await largest('', 3, '.ts');
      for (const path of paths) {
        const lines = (await readFile(join(copy.path, path), 'utf8')).split('\n').length - 1;
        expect(finalAnswer).toContain(`${path}: ${lines.toLocaleString('en-US')} lines`);
      }
      expect(stderr.split('\n').filter((line) => line.startsWith('treadle: Model: demo/'))).toHaveLength(1);
    },
  );

  it('does the job it is given, in this folder', async () => {
    await start('Create own/hello.md with the names of the three largest files in packages/core/src');
    const text = await readFile(join(copy.path, 'own/hello.md'), 'utf8');
    const paths = await largest('packages/core/src', 3, '');
    const places = paths.map((path) => text.indexOf(path));
    expect(places.every((place, index) => place >= 0 && place > (places[index - 1] ?? -1))).toBe(true);
    expect(text.trimEnd().split('\n')).toHaveLength(3);
  });

  it('takes a folder and a command of the user’s', async () => {
    const { stdout } = await start('What is in this folder?', '--cwd', 'scripts/lint', '--output-format', 'json');
    const count = (await readdir(join(copy.path, 'scripts/lint'))).length;
    expect((JSON.parse(stdout) as { text: string }).text).toMatch(new RegExp(`\\b${count} files?\\b`));
    const { stdout: listed } = await start('sessions', 'list');
    expect(listed).toContain(`${join(copy.path, 'scripts/lint')}\tWhat is in this folder?`);
  });

  it('serves, and prints an address that works and the token it wants', async () => {
    const env = {
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOME: join(copy.path, 'own/home'),
    };
    const npm = spawn('npm', ['start', '--', 'serve'], {
      cwd: copy.path,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    try {
      let printed = '';
      for await (const text of npm.stdout.setEncoding('utf8')) {
        printed += String(text);
        if (/^Token.*\n/m.test(printed)) break;
      }
      const url = /^http:\/\/127\.0\.0\.1:\d+$/m.exec(printed)?.[0] ?? '';
      const token = /^Token, shown only now: (\S+)$/m.exec(printed)?.[1] ?? '';
      expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
      const answer = await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
      expect(await answer.json()).toHaveProperty('sessions');
    } finally {
      // npm and what it has started.
      if (npm.pid !== undefined && npm.exitCode === null) {
        const gone = once(npm, 'exit');
        process.kill(-npm.pid, 'SIGTERM');
        await gone;
      }
    }
  }, 60_000);

  it('leaves arguments that are wrong to the command line to explain', async () => {
    await expect(start('--modle', 'x')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Did you mean '--model'?") as string,
    });
  });
});
