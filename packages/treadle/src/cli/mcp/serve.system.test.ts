import { mcpServers } from '@treadle/mcp';
import { createSession, defineAgent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../../test-support/harness.ts';
import { bin, startCommand, startProcess } from '../../test-support/process.ts';

const SOURCES = ['--conditions=treadle-source'];

/** Scenarios that ask for nothing but a server. The others call tools, resources and prompts that the suite itself names. */
const SCENARIOS: readonly (readonly [revision: string, names: readonly string[]])[] = [
  [
    '2025-11-25',
    [
      'server-initialize',
      'ping',
      'tools-list',
      'tools-call-error',
      'server-sse-multiple-streams',
      'resources-list',
      'prompts-list',
      'dns-rebinding-protection',
    ],
  ],
  [
    '2026-07-28',
    [
      'tools-list',
      'tools-call-error',
      'server-sse-multiple-streams',
      'resources-list',
      'sep-2164-resource-not-found',
      'prompts-list',
      'dns-rebinding-protection',
      'caching',
      'http-header-validation',
      'input-required-result-unsupported-methods',
    ],
  ],
];

/** Passes requests on with a token, for the suite sends none. */
async function withToken(url: string, token: string) {
  const { port } = new URL(url);
  const server = createServer((incoming, response) => {
    const { method, headers, url: path } = incoming;
    const sent = { ...headers, authorization: `Bearer ${token}` };
    const options = { host: '127.0.0.1', port, path, method, headers: sent };
    const passed = request(options, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(response);
    });
    passed.on('error', () => response.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

describe('treadle mcp serve', () => {
  it('is a server over pipes, which does a task in its folder', async () => {
    await using home = await temporaryFolder();
    const env = { HOME: home.path, TREADLE_HOME: join(home.path, 'kept'), PATH: process.env['PATH'] ?? '' };
    const args = [...SOURCES, bin, 'mcp', 'serve', '--model', 'demo', '--cwd', home.path];
    const config = { command: process.execPath, args, env, startupTimeoutMs: 30_000 };
    await using servers = await mcpServers({ treadle: config });
    expect(servers.status).toMatchObject([{ state: 'ready' }]);
    const call = { name: 'mcp__treadle__run', arguments: { prompt: 'What is in this folder?' } };
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls: [call] }, 'Done.']),
      tools: servers.tools,
      permissions: { settings: [{ source: 'agent', allow: ['mcp__*'] }] },
    });
    const session = await createSession(agent);
    await session.prompt('Ask.').result;
    const result = session.messages.find(({ role }) => role === 'tool');
    expect(result).toMatchObject({ isError: false });
  }, 60_000);

  it('passes the scenarios of the conformance suite that need no fixtures', async () => {
    await using home = await temporaryFolder();
    const token = 'a token of the test';
    const env = { HOME: home.path, TREADLE_HOME: join(home.path, 'kept'), TREADLE_TOKEN: token };
    const argv = ['mcp', 'serve', '--http', '--model', 'demo', '--cwd', home.path];
    const serving = startProcess(argv, { cwd: home.path, env, nodeArgs: SOURCES, stdin: 'open' });
    let url = '';
    serving.child.stdout.on('data', (text: string) => (url += text));
    await serving.printed('/mcp\n');
    await using proxy = await withToken(url.trim(), token);
    const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
    const failed: string[] = [];
    for (const [revision, names] of SCENARIOS) {
      const args = ['server', '--url', proxy.url, '--requirements', revision];
      const run = startCommand(process.execPath, [join(dirname(suite), 'dist/index.js'), ...args], { cwd: home.path });
      const { stdout } = await run.ended;
      const passed = new Set([...stdout.matchAll(/^✓ ([\w-]+): /gm)].map(([, name = '']) => name));
      failed.push(...names.filter((name) => !passed.has(name)).map((name) => `${revision} ${name}`));
    }
    expect(failed).toEqual([]);
    serving.child.kill('SIGTERM');
    expect((await serving.ended).code).toBe(143);
  }, 120_000);
});
