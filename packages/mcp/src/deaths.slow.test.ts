// @module-tag slow
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fileCache } from './client/cache.ts';
import { mcpServers } from './client/servers.ts';
import { play } from './test-support/play.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'mcp-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const processOf = (name: string): string => join(import.meta.dirname, `test-support/${name}-process.ts`);

/** Runs a process until it has written a line; it is killed then, or at its end has ended by itself. */
async function firstLine(args: readonly string[], then: 'kill' | 'wait'): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=treadle-source', processOf('elicit'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let output = '';
  for await (const chunk of child.stdout) {
    output += Buffer.from(chunk as Uint8Array).toString('utf8');
    if (output.includes('\n')) break;
  }
  if (then === 'kill') child.kill('SIGKILL');
  await ended;
  return output;
}

describe('a question of a server', () => {
  it.each([
    ['of the newer protocol', 'own', 'Ordered {\\"item\\":\\"tea\\",\\"count\\":1} by reserved-7.'],
    ['of the older protocol', 'everything', 'User provided the requested information'],
  ])(
    '%s outlives kill -9, and is answered in another process',
    async (_era, server, expected) => {
      const place = join(folder, server);
      const asked = await firstLine([place, server, 'ask'], 'kill');
      expect(asked).toContain('"mode":"form"');
      const answered = await firstLine([place, server, 'answer'], 'wait');
      expect(answered).toContain(expected);
      expect(answered).toContain('"isError":false');
    },
    60_000,
  );
});

describe('200 calls', () => {
  it('to a server that is killed five times have one result each', async () => {
    const log = join(folder, 'calls');
    const config = { command: process.execPath, args: [processOf('server')], env: { CALLS: log } };
    await using servers = await mcpServers({ s: config });
    const calls = Array.from({ length: 200 }, (_, index) => [`mcp__s__${index % 40 === 20 ? 'die' : 'pid'}`] as const);
    const { session, results } = await play(servers.tools, calls, { id: 's' });
    expect(results).toHaveLength(200);
    expect(session.messages.filter(({ role }) => role === 'tool')).toHaveLength(200);
    const failed = results.flatMap(({ isError }, index) => (isError ? [index] : []));
    // The five that killed it, and none after them.
    expect(failed).toEqual([20, 60, 100, 140, 180]);
    expect(new Set(results.flatMap(({ isError, text }) => (isError ? [] : [text]))).size).toBe(6);
    expect((await readFile(log, 'utf8')).match(/^die$/gm)).toHaveLength(5);
  }, 60_000);
});

it('ten servers start at the same time', { tags: ['share'] }, async () => {
  const waiting: (() => void)[] = [];
  const server = async (): Promise<McpServer> => {
    // Each waits for all the others to have begun.
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 10) for (const go of waiting) go();
    });
    const made = new McpServer({ name: 'one', version: '1.0.0' });
    made.registerTool('hello', { description: 'x' }, () => ({ content: [{ type: 'text', text: 'hello' }] }));
    return made;
  };
  const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
  await using servers = await mcpServers(Object.fromEntries(names.map((name) => [name, { server }])));
  expect(servers.tools.map(({ name }) => name)).toEqual(names.map((name) => `mcp__${name}__hello`));
});

it('ten processes start side by side; with their lists known, nothing waits for them', async () => {
  const log = join(folder, 'starts');
  const started = async (): Promise<number> => (await readFile(log, 'utf8').catch(() => '')).split('\n').length - 1;
  const cache = fileCache(join(folder, 'cache'));
  const configs = (gate: string) => {
    const config = { command: process.execPath, args: [processOf('server')], env: { CALLS: log, GATE: gate } };
    return Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`s${index}`, config]));
  };
  const opened = join(folder, 'gate');
  const first = mcpServers(configs(opened), { cache });
  // None of them answers before all have started.
  await expect.poll(started, { timeout: 30_000 }).toBeGreaterThanOrEqual(10);
  await writeFile(opened, '');
  await using known = await first;
  expect(known.status.filter(({ state }) => state === 'ready')).toHaveLength(10);
  await rm(opened);
  const before = performance.now();
  await using second = await mcpServers(configs(opened), { cache });
  const { results } = await play(second.tools, []);
  // The model was asked, with the tools of ten servers that can't answer yet. The bound is three times one second.
  expect(performance.now() - before).toBeLessThan(3000);
  expect(results).toEqual([]);
  expect(second.tools.filter(({ name }) => name.endsWith('__pid'))).toHaveLength(10);
  expect(second.status.filter(({ state }) => state === 'ready')).toEqual([]);
  await writeFile(opened, '');
}, 60_000);
