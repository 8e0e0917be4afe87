import { mcpServers } from '@treadle/mcp';
import { createSession, defineAgent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../../test-support/harness.ts';
import { bin, startCommand, startProcess } from '../../test-support/process.ts';

const SOURCES = ['--conditions=treadle-source'];

/** They call what the suite's own server has, by name. An agent with the same is tested in `@treadle/mcp`. */
const OF_THE_SUITE: readonly string[] = [
  ...['image', 'audio', 'embedded-resource', 'mixed-content', 'with-progress'].map((kind) => `tools-call-${kind}`),
  ...['read-text', 'read-binary', 'templates-read'].map((kind) => `resources-${kind}`),
  ...['embedded-resource', 'with-image'].map((kind) => `prompts-get-${kind}`),
  'json-schema-2020-12',
  'tools-call-simple-text',
  'tools-call-error',
];
const NOT_PASSED: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': [
    ...OF_THE_SUITE,
    ...['with-logging', 'sampling', 'elicitation'].map((kind) => `tools-call-${kind}`),
    ...['elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    ...['resources-subscribe', 'resources-unsubscribe'],
  ],
  '2026-07-28': [
    ...OF_THE_SUITE,
    ...['basic-elicitation', 'basic-sampling', 'basic-list-roots', 'request-state', 'multiple-input-requests'].map(
      (kind) => `input-required-result-${kind}`,
    ),
    ...['multi-round', 'non-tool-request', 'result-type', 'tampered-state', 'capability-check'].map(
      (kind) => `input-required-result-${kind}`,
    ),
    ...['lifecycle', 'capability-negotiation', 'wire-fields', 'request-state-removal', 'mrtr-input'].map(
      (kind) => `tasks-${kind}`,
    ),
    ...['request-headers', 'dispatch-and-envelope', 'required-task-error', 'mrtr-composition'].map(
      (kind) => `tasks-${kind}`,
    ),
    ...['server-stateless', 'http-custom-header-server-validation'],
  ],
};

/** The prompts of the suite, as commands of the user. */
const COMMANDS: Readonly<Record<string, string>> = {
  test_simple_prompt: 'This is a simple prompt for testing.\n',
  test_prompt_with_arguments: "---\nargument-hint: [arg1] [arg2]\n---\nPrompt with arguments: arg1='$1', arg2='$2'\n",
};

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
    const env = { HOME: home.path, PATH: process.env['PATH'] ?? '' };
    await mkdir(join(home.path, '.treadle/commands'), { recursive: true });
    const greeting = '---\nargument-hint: [who] [where]\n---\nGreet $1, who is in $2.\n';
    await writeFile(join(home.path, '.treadle/commands/greet.md'), greeting);
    const args = [...SOURCES, bin, 'mcp', 'serve', '--model', 'demo', '--cwd', home.path];
    const config = { command: process.execPath, args, env, startupTimeoutMs: 30_000 };
    await using servers = await mcpServers({ treadle: config });
    expect(servers.status).toMatchObject([{ state: 'ready' }]);
    const prompt = await servers.prompt('treadle', 'greet', { who: 'Ada "the first"', where: 'Little Town' });
    expect(JSON.stringify(prompt)).toContain('Greet Ada \\"the first\\", who is in Little Town.');
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

  it('passes the scenarios of the conformance suite that need no tools of its own server', async () => {
    await using home = await temporaryFolder();
    await mkdir(join(home.path, '.claude/commands'), { recursive: true });
    for (const [name, text] of Object.entries(COMMANDS)) {
      await writeFile(join(home.path, '.claude/commands', `${name}.md`), text);
    }
    const token = 'a token of the test';
    const env = { HOME: home.path, TREADLE_HOME: join(home.path, 'kept'), TREADLE_TOKEN: token };
    const argv = ['mcp', 'serve', '--http', '--model', 'demo', '--cwd', home.path];
    const serving = startProcess(argv, { cwd: home.path, env, nodeArgs: SOURCES, stdin: 'open' });
    let url = '';
    serving.child.stdout.on('data', (text: string) => (url += text));
    await serving.printed('/mcp\n');
    await using proxy = await withToken(url.trim(), token);
    const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
    for (const [revision, names] of Object.entries(NOT_PASSED)) {
      const args = ['server', '--url', proxy.url, '--requirements', revision];
      const run = startCommand(process.execPath, [join(dirname(suite), 'dist/index.js'), ...args], { cwd: home.path });
      const { stdout } = await run.ended;
      const marked = (mark: string): readonly string[] =>
        [...stdout.matchAll(/^([✓✗]) ([\w-]+): /gm)].flatMap(([, found, name = '']) => (found === mark ? [name] : []));
      expect(marked('✓')).toContain('prompts-get-with-args');
      expect({ revision, notPassed: marked('✗').toSorted() }).toEqual({ revision, notPassed: names.toSorted() });
    }
    serving.child.kill('SIGTERM');
    expect((await serving.ended).code).toBe(143);
  }, 120_000);
});
