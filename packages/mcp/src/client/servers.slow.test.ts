// @module-tag slow

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createSession, defineAgent, memoryBlobs } from '@treadle/core';
import { promptedTools } from '@treadle/models';
import { scriptedModel } from '@treadle/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { callOnce, play } from '../test-support/play.ts';
import { fileCache } from './cache.ts';
import type { StdioServerConfig } from './config.ts';
import type { McpEvent } from './connection.ts';
import { mcpServers } from './servers.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'mcp-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const SERVER = join(import.meta.dirname, '../test-support/server-process.ts');
let calls = 0;

/** A server that is a process, and the file in which it notes what reaches it. */
function stdio(env: Readonly<Record<string, string>> = {}): {
  config: StdioServerConfig;
  noted: () => Promise<string>;
} {
  const log = join(folder, `calls-${++calls}`);
  const config = { command: process.execPath, args: [SERVER], env: { CALLS: log, ...env } };
  return { config, noted: () => readFile(log, 'utf8') };
}

const words = (text: string) => ({ content: [{ type: 'text' as const, text }] });
const newServer = (): McpServer => new McpServer({ name: 'test', version: '1.0.0' });

/** A server with one tool, in this process. */
function withTool(name: string, options: Parameters<McpServer['registerTool']>[1], result: object): McpServer {
  const server = newServer();
  server.registerTool(name, options as { description: string }, () => result as ReturnType<typeof words>);
  return server;
}

describe('tools', () => {
  it('are named mcp__server__tool, and take the arguments that the server describes', { tags: ['share'] }, async () => {
    const server = newServer();
    const inputSchema = z.object({ a: z.number(), b: z.number() });
    server.registerTool('add', { description: 'Adds.', inputSchema }, ({ a, b }) => words(String(a + b)));
    await using servers = await mcpServers({ sums: { server } });
    expect(servers.tools).toMatchObject([{ name: 'mcp__sums__add', description: 'Adds.', readOnly: false }]);
    expect(await callOnce(servers.tools, 'mcp__sums__add', { a: 1, b: 2 })).toMatchObject({
      text: '3',
      isError: false,
    });
    const { session } = await play(servers.tools, [['mcp__sums__add', { a: 'one' }]]);
    expect(JSON.stringify(session.messages)).toContain("don't fit its schema");
  });

  it('have names that every provider takes, and that stay theirs', async () => {
    const server = newServer();
    const names = ['a.b', 'a-b', 'x'.repeat(100), 'a_b'];
    for (const name of names) server.registerTool(name, { description: 'x' }, () => words(name));
    await using servers = await mcpServers({ 'my server': { server } });
    const given = servers.tools.map(({ name }) => name);
    expect(new Set(given).size).toBe(4);
    for (const name of given) expect(name).toMatch(/^mcp__my_server__[A-Za-z0-9_-]+$/);
    expect(Math.max(...given.map((name) => name.length))).toBeLessThanOrEqual(64);
    for (const [index, name] of given.entries()) expect((await callOnce(servers.tools, name)).text).toBe(names[index]);
  });

  it('of two servers with one name in rules are refused', async () => {
    const configs = { 'a b': { server: newServer() }, a_b: { server: newServer() } };
    await expect(mcpServers(configs)).rejects.toMatchObject({ code: 'invalid_definition' });
  });

  it('with a schema that no model should read are left out', async () => {
    const server = newServer();
    const huge = z.object({ a: z.string().describe('x'.repeat(100_000)) });
    server.registerTool('huge', { description: 'x', inputSchema: huge }, () => words('huge'));
    server.registerTool('told', { description: 'x'.repeat(50_000) }, () => words('told'));
    await using servers = await mcpServers({ s: { server } });
    expect(servers.tools.map(({ name, description }) => [name, description.length])).toEqual([['mcp__s__told', 8000]]);
  });

  it('can be chosen by the names that the server gives them', async () => {
    const server = newServer();
    for (const name of ['read', 'write']) server.registerTool(name, { description: 'x' }, () => words(name));
    await using servers = await mcpServers({ files: { server, tools: ['read'] } });
    expect(servers.tools.map(({ name }) => name)).toEqual(['mcp__files__read']);
  });

  it('that say they only read get no right by it', async () => {
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };
    const server = withTool('look', { description: 'Looks.', annotations }, words('seen'));
    await using servers = await mcpServers({ s: { server } });
    for (const mode of ['default', 'plan', 'acceptEdits', 'dontAsk'] as const) {
      const model = scriptedModel([{ toolCalls: [{ name: 'mcp__s__look' }] }, 'Done.']);
      const session = await createSession(defineAgent({ model, tools: servers.tools, permissions: { mode } }));
      const { status: end, messages } = await session.prompt('Look.').result;
      expect([mode, JSON.stringify(messages).includes('seen'), end]).toEqual([
        mode,
        false,
        mode === 'default' || mode === 'acceptEdits' ? 'paused' : 'completed',
      ]);
    }
    expect(servers.tools[0]).toMatchObject({ readOnly: false, replay: 'never' });
  });

  it('are called by models that know only prompted tools, with their server_name', async () => {
    await using servers = await mcpServers({ s: { server: withTool('greet', { description: 'x' }, words('hello')) } });
    const call = '<tool>{"server_name":"s","tool_name":"greet","arguments":{}}</tool>';
    const model = promptedTools(scriptedModel([call, 'Done.']));
    const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__s__greet'] }] };
    const session = await createSession(defineAgent({ model, tools: servers.tools, permissions }));
    await session.prompt('Greet.').result;
    expect(session.messages.find(({ role }) => role === 'tool')).toMatchObject({
      toolName: 'mcp__s__greet',
      content: [{ text: 'hello' }],
    });
  });
});

describe('a result', () => {
  it('keeps text, images, audio, resources and links', async () => {
    const content = [
      { type: 'text', text: 'one' },
      { type: 'image', mimeType: 'image/png', data: 'aW1n' },
      { type: 'audio', mimeType: 'audio/wav', data: 'd2F2' },
      { type: 'resource', resource: { uri: 'a://1', text: 'two' } },
      { type: 'resource', resource: { uri: 'a://2', mimeType: 'application/pdf', blob: 'cGRm' } },
      { type: 'resource_link', uri: 'a://3', name: 'three', mimeType: 'text/plain' },
    ];
    await using servers = await mcpServers({ s: { server: withTool('all', { description: 'x' }, { content }) } });
    const result = await callOnce(servers.tools, 'mcp__s__all');
    expect(result.content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'image', mediaType: 'image/png', data: 'aW1n' },
      { type: 'file', mediaType: 'audio/wav', data: 'd2F2' },
      { type: 'text', text: '[resource a://1]\ntwo' },
      { type: 'file', mediaType: 'application/pdf', name: 'a://2', data: 'cGRm' },
      { type: 'text', text: '[resource a://3: three, text/plain]' },
    ]);
  });

  it('with a large image keeps it as a blob', async () => {
    const content = [{ type: 'image', mimeType: 'image/png', data: Buffer.alloc(100_000, 7).toString('base64') }];
    await using servers = await mcpServers({ s: { server: withTool('image', { description: 'x' }, { content }) } });
    const blobs = memoryBlobs();
    const { results } = await play(servers.tools, [['mcp__s__image']], { blobs });
    expect(results[0]?.content).toMatchObject([{ type: 'image', blob: { size: 100_000 } }]);
  });

  it('that is an error is one for the model', async () => {
    const server = withTool('fail', { description: 'x' }, { ...words('No such city.'), isError: true });
    await using servers = await mcpServers({ s: { server } });
    expect(await callOnce(servers.tools, 'mcp__s__fail')).toMatchObject({ text: 'No such city.', isError: true });
  });

  it('gives programs its structured content, and the model too where there is no text', async () => {
    const outputSchema = z.object({ degrees: z.number() });
    const structured = { content: [], structuredContent: { degrees: 20 } };
    await using servers = await mcpServers({
      s: { server: withTool('weather', { description: 'x', outputSchema }, structured) },
    });
    expect(await callOnce(servers.tools, 'mcp__s__weather')).toMatchObject({
      text: '{"degrees":20}',
      isError: false,
      details: { structuredContent: { degrees: 20 } },
    });
  });

  it.each([
    ['that its own schema refuses', { degrees: 'warm' }, '/degrees must be number'],
    ['that is missing', undefined, 'has no structured content'],
  ])('with structured content %s is an error', async (_what, structuredContent, expected) => {
    // A server that doesn't check what it sends.
    const server = newServer();
    server.registerTool('weather', { description: 'x' }, () => words('warm'));
    server.server.setRequestHandler('tools/list', () => ({
      tools: [
        {
          name: 'weather',
          inputSchema: { type: 'object' },
          outputSchema: { type: 'object', properties: { degrees: { type: 'number' } } },
        },
      ],
    }));
    server.server.setRequestHandler('tools/call', () => ({ ...words('warm'), structuredContent }));
    await using servers = await mcpServers({ s: { server } });
    const result = await callOnce(servers.tools, 'mcp__s__weather');
    expect(result).toMatchObject({ isError: true, details: { problem: 'bad_answer' } });
    expect(result.text).toContain(expected);
  });
});

describe('a list of tools', () => {
  it('that changes is followed, and a tool that is gone says so', async () => {
    const server = newServer();
    const old = server.registerTool('old', { description: 'x' }, () => words('old'));
    const events: McpEvent[] = [];
    await using servers = await mcpServers({ s: { server } }, { onEvent: (event) => events.push(event) });
    const before = servers.tools;
    old.remove();
    server.registerTool('new', { description: 'x' }, () => words('new'));
    await expect.poll(() => servers.tools.map(({ name }) => name)).toEqual(['mcp__s__new']);
    expect(events.map(({ type }) => type)).toContain('tools_changed');
    const gone = await callOnce(before, 'mcp__s__old');
    expect(gone).toMatchObject({ isError: true, text: 'The MCP server s has no tool old any more. It has: new.' });
    expect((await callOnce(servers.tools, 'mcp__s__new')).text).toBe('new');
  });

  it('of a process that changes is followed too', async () => {
    await using servers = await mcpServers({ s: stdio().config });
    expect((await callOnce(servers.tools, 'mcp__s__grow')).text).toBe('grown');
    await expect.poll(() => servers.tools.map(({ name }) => name)).toContain('mcp__s__grown');
    expect((await callOnce(servers.tools, 'mcp__s__grown')).text).toBe('I am new.');
  });
});

it('of a server at an address goes on to be followed when the stream of its changes broke', async () => {
  const names = ['one'];
  const handler = createMcpHandler(() => {
    const server = newServer();
    for (const name of names) server.registerTool(name, { description: 'x' }, () => words(name));
    return server;
  });
  const http = createServer((request, response) => {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const init = { method: request.method ?? 'GET', headers: request.headers as Record<string, string> };
    const body = request.method === 'POST' ? { body: Readable.toWeb(request), duplex: 'half' as const } : {};
    void handler
      .fetch(new Request(`http://127.0.0.1${request.url}`, { ...init, ...body, signal: left.signal }))
      .then(async (reply) => {
        response.writeHead(reply.status, Object.fromEntries(reply.headers));
        for await (const chunk of reply.body ?? []) response.write(chunk);
        response.end();
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  {
    await using servers = await mcpServers({ s: { type: 'http', url } });
    const known = () => servers.tools.map(({ name }) => name);
    expect(known()).toEqual(['mcp__s__one']);
    http.closeAllConnections();
    names.push('two');
    await expect.poll(known, { timeout: 10_000 }).toEqual(['mcp__s__one', 'mcp__s__two']);
    names.push('three');
    handler.notify.toolsChanged();
    await expect.poll(known, { timeout: 10_000 }).toContain('mcp__s__three');
  }
  await handler.close();
  http.closeAllConnections();
  await new Promise((done) => http.close(done));
});

describe('a server that is a process', () => {
  it('gets the variables of its configuration, and none of ours', async () => {
    process.env['OUR_SECRET'] = 'canary';
    try {
      await using servers = await mcpServers({ s: stdio({ GIVEN: 'yes' }).config });
      const { results } = await play(servers.tools, [
        ['mcp__s__env', { name: 'GIVEN' }],
        ['mcp__s__env', { name: 'OUR_SECRET' }],
      ]);
      expect(results.map(({ text }) => text)).toEqual(['yes', 'unset']);
    } finally {
      delete process.env['OUR_SECRET'];
    }
  });

  it('that dies in a call gives that call an error, and is started again for the next one', async () => {
    const { config, noted } = stdio();
    await using servers = await mcpServers({ s: config });
    const { results } = await play(servers.tools, [['mcp__s__pid'], ['mcp__s__die'], ['mcp__s__pid']]);
    expect(results.map(({ isError }) => isError)).toEqual([false, true, false]);
    expect(results[1]).toMatchObject({ details: { server: 's', problem: 'disconnected' } });
    expect(results[1]?.text).toContain('Whether the call took effect is unknown');
    expect(results[2]?.text).not.toBe(results[0]?.text);
    // Called once, whatever became of it.
    expect((await noted()).split('\n').filter((line) => line === 'die')).toHaveLength(1);
  });

  it('that can not start fails no agent, says why to people, and is not tried without end', async () => {
    const events: McpEvent[] = [];
    const config = stdio({ FAIL: 'luck' }).config;
    await using servers = await mcpServers({ s: config }, { onEvent: (event) => events.push(event) });
    expect(servers.tools).toEqual([]);
    expect(servers.status).toMatchObject([{ name: 's', state: 'failed', tools: 0 }]);
    const failed = events.find(({ type }) => type === 'failed');
    expect(failed).toMatchObject({ message: expect.stringContaining('No luck here.') as string });
  });

  it('is asked to cancel a call whose run was cancelled', async () => {
    const { config, noted } = stdio();
    await using servers = await mcpServers({ s: config });
    const model = scriptedModel([{ toolCalls: [{ name: 'mcp__s__hang' }] }, 'Done.']);
    const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__*'] }] };
    const session = await createSession(defineAgent({ model, tools: servers.tools, permissions }));
    const run = session.prompt('Hang.');
    await expect.poll(noted).toContain('hang');
    await session.abort();
    expect((await run.result).status).toBe('aborted');
    await expect.poll(noted).toContain('cancelled');
  });

  it('that gives no sign in time has its call cancelled', async () => {
    const { config, noted } = stdio();
    await using servers = await mcpServers({ s: { ...config, timeoutMs: 200 } });
    const result = await callOnce(servers.tools, 'mcp__s__hang');
    expect(result).toMatchObject({ isError: true, details: { problem: 'timeout' } });
    await expect.poll(noted).toContain('cancelled');
  });
});

describe('starting', () => {
  it('waits for no server whose tools are known from before', async () => {
    const cache = fileCache(join(folder, 'cache'));
    const { config } = stdio();
    await using first = await mcpServers({ s: config }, { cache });
    const known = first.tools.map(({ name }) => name);
    const events: McpEvent[] = [];
    await using second = await mcpServers({ s: config }, { cache, onEvent: (event) => events.push(event) });
    expect(second.tools.map(({ name }) => name)).toEqual(known);
    expect(events).toEqual([]);
    // A call waits for its server.
    expect((await callOnce(second.tools, 'mcp__s__pid')).text).toMatch(/^\d+$/);
    // Another command is another server.
    await using third = await mcpServers({ s: { ...config, env: { FAIL: 'x' } } }, { cache });
    expect(third.tools).toEqual([]);
  });

  it('gives up waiting at its time, and has the tools once they are there', async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const server = async (): Promise<McpServer> => {
      await gate;
      return withTool('late', { description: 'x' }, words('here'));
    };
    await using servers = await mcpServers({ s: { server, startupTimeoutMs: 20 } });
    expect(servers.status).toMatchObject([{ state: 'starting', tools: 0 }]);
    open();
    await servers.settled();
    expect((await callOnce(servers.tools, 'mcp__s__late')).text).toBe('here');
  });

  it.each([
    ['nothing', {}],
    ['two of them', { command: 'a', url: 'http://a/' }],
    ['no address', { url: 'a' }],
    ['another protocol', { url: 'ftp://a/' }],
    ['no list', { command: 'a', args: 'b' }],
    ['no texts', { command: 'a', env: { A: 1 } }],
    ['no time', { command: 'a', timeoutMs: 0 }],
  ])('refuses a configuration with %s', async (_what, config) => {
    await expect(mcpServers({ s: config as never })).rejects.toMatchObject({ code: 'invalid_definition' });
  });
});

describe('prompts and resources', () => {
  it('are listed, written out and read', async () => {
    const server = newServer();
    server.registerPrompt(
      'greet',
      { description: 'Greets.', argsSchema: z.object({ name: z.string() }) },
      ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] }),
    );
    server.registerResource('readme', 'docs://readme', { mimeType: 'text/plain' }, (uri) => ({
      contents: [{ uri: uri.href, text: 'Read me.' }],
    }));
    await using servers = await mcpServers({ s: { server } });
    expect(await servers.prompts()).toEqual([
      {
        server: 's',
        name: 'greet',
        command: 'mcp__s__greet',
        description: 'Greets.',
        arguments: [{ name: 'name', description: '', required: true }],
      },
    ]);
    expect(await servers.prompt('s', 'greet', { name: 'Ada' })).toEqual([
      { content: [{ type: 'text', text: 'Greet Ada.' }] },
    ]);
    await expect(servers.prompt('s', 'none')).rejects.toMatchObject({ code: 'refused' });
    const { results } = await play(servers.tools, [
      ['mcp__s__list_resources'],
      ['mcp__s__read_resource', { uri: 'docs://readme' }],
      ['mcp__s__read_resource', { uri: 'docs://none' }],
    ]);
    expect(results.map(({ text }) => text)).toEqual([
      'docs://readme: readme, text/plain',
      '[resource docs://readme]\nRead me.',
      expect.stringContaining('refused it'),
    ]);
  });

  it('of a server are denied by a rule about it', async () => {
    const server = newServer();
    server.registerResource('r', 'a://r', {}, () => ({ contents: [{ uri: 'a://r', text: 'canary' }] }));
    await using servers = await mcpServers({ s: { server } });
    const model = scriptedModel([
      { toolCalls: [{ name: 'mcp__s__read_resource', arguments: { uri: 'a://r' } }] },
      'No.',
    ]);
    const permissions = { mode: 'bypass' as const, settings: [{ source: 'agent' as const, deny: ['mcp__s__*'] }] };
    const session = await createSession(
      defineAgent({ model, tools: servers.tools, permissions: { ...permissions, allowBypass: true } }),
    );
    await session.prompt('Read.').result;
    expect(JSON.stringify(session.messages)).not.toContain('canary');
  });
});

describe('a set of servers', () => {
  it('takes in more, replaces one of the same name, and lets one go', async () => {
    await using servers = await mcpServers({ one: { server: withTool('a', {}, words('1')) } });
    const names = () => servers.tools.map(({ name }) => name);
    await servers.add({ two: { server: withTool('b', {}, words('2')) } });
    expect(names()).toEqual(['mcp__one__a', 'mcp__two__b']);
    await servers.add({ one: { server: withTool('c', {}, words('3')) } });
    expect(names()).toEqual(['mcp__two__b', 'mcp__one__c']);
    expect(await callOnce(servers.tools, 'mcp__one__c', {})).toMatchObject({ text: '3' });
    expect(await servers.remove('two')).toBe(true);
    expect(await servers.remove('two')).toBe(false);
    expect(names()).toEqual(['mcp__one__c']);
    await expect(servers.add({ 'o.ne': { server: newServer() }, o_ne: { server: newServer() } })).rejects.toThrow(
      'have the same name in rules',
    );
    expect(names()).toEqual(['mcp__one__c']);
  });
});
