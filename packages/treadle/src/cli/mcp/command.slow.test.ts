// @module-tag slow

import { scriptedModel, type Turn } from '@treadle/testing';

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { runCli, startCli, temporaryFolder, type CliOptions, type CliOutcome } from '../../test-support/harness.ts';

const SERVER = join(import.meta.dirname, '../../../../mcp/src/test-support/server-process.ts');

interface World extends AsyncDisposable {
  readonly folder: string;
  put(path: string, content: unknown): Promise<void>;
  read(path: string): Promise<string>;
  has(path: string): boolean;
  cli(args: readonly string[], more?: CliOptions): Promise<CliOutcome>;
  run(args: readonly string[], turns: readonly (Turn | string)[], more?: CliOptions): Promise<CliOutcome>;
}

async function world(): Promise<World> {
  const top = await temporaryFolder();
  const folder = join(top.path, 'project');
  await mkdir(folder);
  const env = {
    TREADLE_MODEL: 'scripted',
    HOME: join(top.path, 'home'),
    TREADLE_HOME: join(top.path, 'kept'),
    PATH: process.env['PATH'] ?? '',
  };
  const cli = (args: readonly string[], more?: CliOptions) => runCli(args, { cwd: folder, env, ...more });
  return {
    folder,
    async put(path, content) {
      const file = join(top.path, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    },
    read: (path) => readFile(join(top.path, path), 'utf8'),
    has: (path) => existsSync(join(top.path, path)),
    cli,
    run: (args, turns, more) =>
      cli(['Go.', '--allow', 'mcp__*', ...args], { model: scriptedModel(turns), stdin: '', ...more }),
    [Symbol.asyncDispose]: () => top[Symbol.asyncDispose](),
  };
}

/** A server that notes its start in a file of the folder above the project's. */
const noting = (file: string) => ({ command: process.execPath, args: [SERVER], env: { CALLS: `../${file}` } });
const PID: Turn = { toolCalls: [{ name: 'mcp__s__pid' }] };

const typed = (...lines: readonly string[]): CliOptions => ({
  stdin: Object.assign(Readable.from(lines.map((line) => Buffer.from(`${line}\n`))), { isTTY: true }),
  isTTY: 'both',
});

describe('a server of the user', () => {
  it('is added, listed, tried, used and removed', async () => {
    await using w = await world();
    const added = await w.cli(['mcp', 'add', 's', '--env', 'GIVEN=yes', '--', process.execPath, SERVER]);
    expect(added.stdout).toContain('Try it: treadle mcp test s');
    expect(JSON.parse(await w.read('home/.config/treadle/mcp.json'))).toEqual({
      mcpServers: { s: { command: process.execPath, args: [SERVER], env: { GIVEN: 'yes' } } },
    });
    expect((await w.cli(['mcp', 'list'])).stdout).toBe(`s (user, ok): ${process.execPath} ${SERVER} (sets GIVEN)\n`);
    expect(await w.cli(['mcp', 'test'])).toMatchObject({ code: 0, stdout: 's: ready, 6 tools\n' });
    const turn: Turn = { toolCalls: [{ name: 'mcp__s__env', arguments: { name: 'GIVEN' } }] };
    expect(await w.run([], [turn, 'Done.'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Done.') as string,
    });
    expect((await w.cli(['mcp', 'remove', 's'])).code).toBe(0);
    expect((await w.cli(['mcp', 'list'])).stdout).toContain('No MCP servers');
  });

  it('that can not start is said, and fails no run', async () => {
    await using w = await world();
    await w.put('home/.config/treadle/mcp.json', { mcpServers: { s: { ...noting('x'), env: { FAIL: 'luck' } } } });
    const { code, stdout, stderr } = await w.run([], ['Done.']);
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'Done.']);
    expect(stderr).toContain('No luck here.');
    expect(await w.cli(['mcp', 'test', 's'])).toMatchObject({ code: 1, stdout: 's: failed, 0 tools\n' });
  });

  it('that has not started in time is said too', async () => {
    await using w = await world();
    const silent = { ...noting('x'), env: { SILENT: '1' }, startupTimeoutMs: 50 };
    await w.put('home/.config/treadle/mcp.json', { mcpServers: { s: silent } });
    const { code, stderr } = await w.run([], ['Done.']);
    expect(code).toBe(0);
    expect(stderr).toContain('The MCP server s has not started in time: this run has none of its tools.');
  });

  it('is asked for like any other tool that may do anything', async () => {
    await using w = await world();
    await w.put('home/.config/treadle/mcp.json', { mcpServers: { s: noting('x') } });
    const refused = await w.cli(['Go.'], { model: scriptedModel([PID, 'No.']), stdin: '' });
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('--allow mcp__s__pid');
  });

  it('is left out with --no-mcp, and where tools are named', async () => {
    await using w = await world();
    await w.put('home/.config/treadle/mcp.json', { mcpServers: { s: noting('noted') } });
    await w.run(['--no-mcp'], ['Done.']);
    await w.run(['--tools', 'read_file'], ['Done.']);
    expect(w.has('noted')).toBe(false);
  });
});

describe('a server of a folder', () => {
  const PROJECT = 'project/.mcp.json';

  it('that nobody has trusted starts nothing', async () => {
    await using w = await world();
    await w.put(PROJECT, { mcpServers: { s: noting('noted') } });
    const { code, stderr } = await w.run([], ['Done.']);
    expect(code).toBe(0);
    expect(stderr).toContain('.mcp.json left alone: nobody has trusted this folder');
    expect(await w.run([], ['Done.'], typed('n'))).toMatchObject({ code: 0 });
    expect((await w.cli(['mcp', 'list'])).stdout).toContain('(project, not approved)');
    expect(await w.cli(['mcp', 'test'], { stdin: '' })).toMatchObject({ code: 1 });
    expect(w.has('noted')).toBe(false);
  });

  it('in a file that can not be read keeps no run from starting', async () => {
    await using w = await world();
    for (const broken of ['{', '[]', '{"mcpServers":3}']) {
      await w.put(PROJECT, broken);
      expect(await w.run(['--trust'], ['Done.'])).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('It is left alone.') as string,
      });
    }
  });

  it('is approved once at a terminal, and again when its command changes', async () => {
    await using w = await world();
    await w.put(PROJECT, { mcpServers: { s: noting('first') } });
    const asked = await w.run([], [PID, 'Done.'], typed('y'));
    expect(asked.screen).toContain(`MCP servers, .mcp.json:\n  s: ${process.execPath} ${SERVER} (sets CALLS)`);
    expect(asked.screen).toContain('Trust the folder? [y/n]');
    expect(w.has('first')).toBe(true);
    const later = await w.run([], [PID, 'Done.']);
    expect(later).toMatchObject({ code: 0, stderr: expect.not.stringContaining('left alone') as string });
    await w.put(PROJECT, { mcpServers: { s: noting('second') } });
    const changed = await w.run([], ['Done.']);
    expect(changed.stderr).toContain('s left alone: not approved as it is now');
    expect(w.has('second')).toBe(false);
    const again = await w.run([], ['Done.'], typed('y'));
    expect(again.screen).not.toContain('Trust the folder?');
    expect(w.has('second')).toBe(true);
  });

  it('is approved with --trust, as it is then', async () => {
    await using w = await world();
    await w.put(PROJECT, { mcpServers: { s: noting('noted') } });
    expect(await w.run(['--trust'], [PID, 'Done.'])).toMatchObject({ code: 0 });
    expect(w.has('noted')).toBe(true);
  });

  it("can not take the place of the user's", async () => {
    await using w = await world();
    await w.put('home/.config/treadle/mcp.json', { mcpServers: { s: noting('mine') } });
    await w.put(PROJECT, { mcpServers: { s: noting('theirs') } });
    await w.run(['--trust'], [PID, 'Done.']);
    expect([w.has('mine'), w.has('theirs')]).toEqual([true, false]);
  });

  it('is added with --project, and needs no approval then but trust', async () => {
    await using w = await world();
    await w.cli(['mcp', 'add', 's', '--project', '--', process.execPath, SERVER]);
    expect(JSON.parse(await w.read(PROJECT))).toMatchObject({ mcpServers: { s: { command: process.execPath } } });
    expect((await w.cli(['mcp', 'list'])).stdout).toContain('(project, ok)');
  });
});

describe('--mcp-config', () => {
  it.each([
    ['Claude Code', { mcpServers: { s: noting('noted') } }],
    ['VS Code', { servers: { s: { type: 'stdio', ...noting('noted') } } }],
  ])('names a file of %s', async (_program, file) => {
    await using w = await world();
    await w.put('project/servers.json', file);
    const { code } = await w.run(['--mcp-config', 'servers.json'], [PID, 'Done.']);
    expect(code).toBe(0);
    expect(w.has('noted')).toBe(true);
  });

  it.each([
    ['none', undefined, /names no file/],
    ['one that is no JSON', '{', /is no JSON/],
    ['one without servers', '{}', /names no servers/],
  ])('refuses %s', async (_what, content, expected) => {
    await using w = await world();
    if (content !== undefined) await w.put('project/servers.json', content);
    const { code, stderr } = await w.run(['--mcp-config', 'servers.json'], ['Done.']);
    expect(code).toBe(2);
    expect(stderr).toMatch(expected);
  });
});

it("puts a server's form to the user at the terminal", async () => {
  await using w = await world();
  await w.put('home/.config/treadle/mcp.json', { mcpServers: { s: noting('x') } });
  const turn: Turn = { toolCalls: [{ name: 'mcp__s__order' }] };
  const filled = await w.run([], [turn, 'Done.'], typed('tea', '2', 'y'));
  expect(filled.screen).toContain('The MCP server s asks: What shall it be?');
  expect(filled.screen).toContain('count [1]:');
  expect(filled.screen).toContain('Done.');
  expect(await w.read('x')).toContain('order reserved-7');
  const declined = await w.run([], [turn, 'Nothing.'], typed('tea', '', 'n'));
  expect(declined.screen).toContain('Nothing.');
});

it('says what it does not understand', async () => {
  await using w = await world();
  for (const [args, expected] of [
    [['mcp', 'lst'], /Did you mean list|knows no 'lst'/],
    [['mcp', 'add', 'a'], /What is to be added/],
    [['mcp', 'add', 'a', 'https://a.example/', 'b'], /too much/],
    [['mcp', 'add', 'a', '--env', 'A', '--', 'b'], /--env takes NAME=VALUE/],
    [['mcp', 'remove', 'a'], /has no server a/],
    [['mcp', 'test', 'a'], /no MCP server a/],
    [['mcp', 'login', 'a'], /no MCP server a/],
  ] as const) {
    const { code, stderr } = await w.cli(args);
    expect([args.join(' '), code]).toEqual([args.join(' '), 2]);
    expect(stderr).toMatch(expected);
  }
  expect((await w.cli(['mcp', '--help'])).stdout).toContain('treadle mcp login NAME');
});

it('login shows a page that the user opens, and never opens it', async () => {
  await using w = await world();
  const visited: string[] = [];
  const server = createServer((request, response) => {
    visited.push(request.url ?? '');
    const { port } = server.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    const json = (status: number, value: object, headers = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (request.url?.includes('oauth-protected-resource')) {
      return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (request.url?.includes('.well-known')) {
      return json(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      });
    }
    if (request.url === '/register')
      return json(201, { client_id: 'us', redirect_uris: ['http://127.0.0.1/callback'] });
    return json(401, {}, { 'www-authenticate': 'Bearer' });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await w.cli(['mcp', 'add', 'web', `http://127.0.0.1:${port}/mcp`]);
  const call = startCli(['mcp', 'login', 'web'], { cwd: w.folder, env: { HOME: join(w.folder, '../home') } });
  await call.printed('/authorize?');
  expect(visited.some((url) => url.startsWith('/authorize'))).toBe(false);
  call.signal('SIGINT');
  expect((await call.outcome).code).toBe(130);
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
