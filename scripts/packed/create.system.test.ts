// `npm create treadle@latest`, against a registry that has the packed packages: every template is written, installed and
// type-checked, passes its own tests, and runs without a key.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

import { chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { manifestAt } from '../release/workspace.ts';
import { emptyFolder, compatFolder, npm, packAll, remove, root, run } from './project.ts';
import { startRegistry, type Registry } from './registry.ts';

vi.setConfig({ testTimeout: 400_000 });

const CHROMIUM = '/usr/bin/chromium';
const folders: string[] = [];
let registry: Registry;
/** Where the projects are written. */
let place = '';

beforeAll(async () => {
  const { folder, tarballs } = await packAll();
  place = await emptyFolder();
  // Run by root, Postgres runs as another user, who reads its programs here.
  await chmod(place, 0o755);
  folders.push(folder, place);
  const manifests = await Promise.all(
    tarballs.map(async (tarball) => {
      const text = await run(folder, 'tar', ['-xOzf', tarball, 'package/package.json']);
      return { tarball, manifest: JSON.parse(text) as Awaited<ReturnType<typeof manifestAt>> };
    }),
  );
  const upstream = (await npm(root, 'config', 'get', 'registry')).trim();
  registry = await startRegistry(manifests, upstream);
}, 120_000);

afterAll(async () => {
  await registry.close();
  await Promise.all(folders.map(remove));
}, 60_000);

/** Without keys, and with the test registry as npm's. */
const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: [join(root, 'node_modules/node/bin'), process.env['PATH']].join(':'),
  HOME: process.env['HOME'],
  NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'],
  NEXT_TELEMETRY_DISABLED: '1',
  npm_config_registry: registry.url,
  npm_config_prefer_offline: 'true',
  ...more,
});

/**
 * Writes a project as a user would, with a cache of its own, so that no older `create-treadle` runs. It says what to run
 * next.
 */
async function create(name: string, next: string, ...options: string[]): Promise<string> {
  const cache = await emptyFolder();
  folders.push(cache);
  const args = ['create', '--yes', 'treadle@latest', name, '--', ...options];
  const printed = await run(place, 'npm', args, environment({ npm_config_cache: cache }));
  expect(printed.trimEnd().endsWith(`  ${next}`)).toBe(true);
  return join(place, name);
}

const npmIn = (folder: string, ...args: string[]): Promise<string> => run(folder, 'npm', args, environment());

/** Starts `npm start`, and resolves with what it printed once that matches. */
async function start(folder: string, until: RegExp, env: NodeJS.ProcessEnv = {}) {
  const child: ChildProcess = spawn('npm', ['start'], { cwd: folder, env: environment(env), detached: true });
  let printed = '';
  const collect = (chunk: Buffer): void => void (printed += chunk.toString());
  child.stderr?.on('data', collect);
  child.stdout?.on('data', collect);
  const exited = once(child, 'exit');
  const printedMatch = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(printed);
      if (match !== null) return match;
      if (child.stdout === null) throw new Error('npm start has no output.');
      await Promise.race([once(child.stdout, 'data'), exited]);
      if (child.exitCode !== null && !pattern.test(printed)) throw new Error(`npm start ended:\n${printed}`);
    }
  };
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await exited;
  };
  return { child, match: await printedMatch(until), printedMatch, stop };
}

/** Does something in a page of a real browser. */
async function inBrowser<T>(url: string, work: (page: Page) => Promise<T>): Promise<T> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(url);
    return await work(page);
  } finally {
    await browser.close();
  }
}

/** Sends a prompt, and waits for a text in the page. */
async function chatAt(url: string): Promise<void> {
  await inBrowser(url, async (page) => {
    await page.getByRole('textbox').fill('What is in this folder?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('package.json').first().waitFor({ timeout: 60_000 });
  });
}

describe('npm create treadle@latest', () => {
  it('terminal: installs, passes its tests on Node 24 and 22, and answers in a terminal', async () => {
    const folder = await create('terminal-agent', 'npm start', '--template', 'terminal', '--yes');
    const { version } = await manifestAt(join(root, 'packages/create-treadle'));
    expect((await manifestAt(folder)).dependencies).toMatchObject({ treadle: version });
    expect((await manifestAt(folder)).name).toBe('terminal-agent');
    expect(registry.downloaded).toContain('create-treadle');
    expect(await readFile(join(folder, '.gitignore'), 'utf8')).toContain('node_modules');
    await npmIn(folder, 'run', 'typecheck');
    expect(await npmIn(folder, 'test')).toMatch(/# fail 0|ℹ fail 0/);
    const oldest = join(compatFolder('published'), 'node_modules/.bin/node');
    expect(await run(folder, oldest, ['--test'], environment())).toMatch(/# fail 0|ℹ fail 0/);
    const { child, printedMatch, stop } = await start(folder, /Ask me something/);
    child.stdin?.write('What is in this folder?\n');
    await printedMatch(/package\.json/);
    child.stdin?.write('Create notes.md with the text "Hello"\n');
    await printedMatch(/Run write_file .*\? \(y\/n\)/);
    child.stdin?.write('y\n');
    await printedMatch(/\[write_file\]/);
    child.stdin?.end();
    await once(child, 'exit');
    await stop();
    expect(await readFile(join(folder, 'notes.md'), 'utf8')).toContain('Hello');
  });

  it('chat-hono: installs, passes its tests, and answers in a browser', async () => {
    const folder = await create('hono-chat', 'npm start', '--template', 'chat-hono', '--yes', '--no-install');
    await npmIn(folder, 'install', '--no-audit', '--no-fund');
    await npmIn(folder, 'run', 'typecheck');
    expect(await npmIn(folder, 'test')).toMatch(/# fail 0|ℹ fail 0/);
    const { match, stop } = await start(folder, /http:\/\/127\.0\.0\.1:\d+/, { PORT: '0' });
    try {
      if (existsSync(CHROMIUM)) await chatAt(match[0]);
    } finally {
      await stop();
    }
  });

  it('chat-next: installs, builds without telemetry, passes its tests, and answers in a browser', async () => {
    const folder = await create('next-chat', 'npm run dev', '--template', 'chat-next', '--yes', '--no-install');
    await npmIn(folder, 'install', '--no-audit', '--no-fund');
    await npmIn(folder, 'run', 'build');
    await npmIn(folder, 'run', 'typecheck');
    expect(await npmIn(folder, 'test')).toMatch(/# fail 0|ℹ fail 0/);
    const { match, stop } = await start(folder, /http:\/\/(?:localhost|127\.0\.0\.1):\d+/, { PORT: '3917' });
    try {
      if (existsSync(CHROMIUM)) await chatAt(match[0]);
    } finally {
      await stop();
    }
  });

  it('postgres: installs, passes its tests, and remembers what an earlier process was told', async () => {
    const folder = await create('postgres-agent', 'npm start', '--template', 'postgres', '--yes', '--no-install');
    await npmIn(folder, 'install', '--no-audit', '--no-fund');
    await npmIn(folder, 'run', 'typecheck');
    expect(await npmIn(folder, 'test')).toMatch(/# fail 0|ℹ fail 0/);
    expect(await npmIn(folder, 'start', '--', 'What is in this folder?')).toContain('package.json');
    expect(await npmIn(folder, 'start', '--', 'Count the lines of README.md')).toMatch(/2 prompts in this session/);
  });
});
