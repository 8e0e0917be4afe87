import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createServer, nodeHandler } from '@treadle/server';
import { defineAgent, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { Miniflare } from 'miniflare';
import { rolldown } from 'rolldown';
import { describe, expect, it, onTestFinished } from 'vitest';

const serverAt = (basePath: string) =>
  createServer({
    agents: [defineAgent({ model: scriptedModel(({ messages }) => `This is message ${messages.length}.`) })],
    journal: memoryJournal(),
    tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
    basePath,
  });

const headers = { authorization: 'Bearer a-token-of-my-own', 'content-type': 'application/json' };

type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** A session with a body, a turn of a chat as a stream, and a refusal: what every application must serve. */
async function isServed(ask: Fetch): Promise<void> {
  const made = await ask('/api/agents/v1/sessions', { method: 'POST', headers, body: '{"id":"s1"}' });
  expect([made.status, await made.json()]).toEqual([201, expect.objectContaining({ sessionId: 's1' })]);
  const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }];
  const body = JSON.stringify({ id: 'chat-1', messages });
  const chat = await ask('/api/agents/v1/ai-sdk/chat', { method: 'POST', headers, body });
  expect(chat.headers.get('content-type')).toBe('text/event-stream');
  const text = await chat.text();
  expect([...text.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join('')).toBe('This is message 1.');
  expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  expect((await ask('/api/agents/v1/sessions', {})).status).toBe(401);
}

async function over(server: Server): Promise<Fetch> {
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  if (!server.listening) await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

describe('frameworks', () => {
  it('Express 5: before express.json()', async () => {
    const app = express()
      .use(nodeHandler(serverAt('/api/agents')))
      .use(express.json());
    await isServed(await over(app.listen(0, '127.0.0.1')));
  });

  it('Express 5: after express.json(), and with a path of its own', async () => {
    const app = express()
      .use(express.json())
      .use('/api/agents', nodeHandler(serverAt('')));
    await isServed(await over(app.listen(0, '127.0.0.1')));
  });

  it('Fastify 5: after its own body parser', async () => {
    const app = fastify();
    const handle = nodeHandler(serverAt('/api/agents'));
    app.all('/api/agents/*', (request, reply) => {
      reply.hijack();
      handle(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    await isServed(await over(app.server));
  });

  it('Hono 4: as a route', async () => {
    const app = new Hono();
    const server = serverAt('/api/agents');
    app.all('/api/agents/*', ({ req }) => server.fetch(req.raw));
    await isServed(async (path, init) => app.request(path, init));
  });

  it('node:http', async () => {
    await isServed(await over(createHttpServer(nodeHandler(serverAt('/api/agents'))).listen(0, '127.0.0.1')));
  });
});

async function bundled(file: string): Promise<string> {
  const build = await rolldown({
    input: join(import.meta.dirname, file),
    platform: 'node',
    resolve: { conditionNames: ['treadle-source', 'node', 'import', 'default'] },
    logLevel: 'silent',
  });
  const { output } = await build.generate({ format: 'esm', codeSplitting: false });
  return output[0].code;
}

/** Runs a program of another runtime until the test ends. Resolves once it has printed its port. */
async function portOf(program: string, args: readonly string[], cwd = import.meta.dirname): Promise<number> {
  const child = spawn(program, args, { cwd, env: ENV, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /^(?:port |.*http:\/\/127\.0\.0\.1:)(\d+)$/.exec(line) ?? [];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`${program} has ended.`);
}

const ENV = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };

const ROUTE = `import { server } from '../../../../agent.mjs';
export const GET = server.fetch;
export const POST = server.fetch;
export const DELETE = server.fetch;
`;

describe('frameworks with a build', () => {
  it('Next.js 16: a route handler, built and started', async () => {
    // Next.js takes its packages from the folders above.
    const folder = mkdtempSync(join(import.meta.dirname, 'node_modules', '.next-app-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const route = join(folder, 'app/api/agents/[...path]');
    mkdirSync(route, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    writeFileSync(join(folder, 'agent.mjs'), await bundled('agent.ts'));
    writeFileSync(join(folder, 'app/layout.js'), 'export default ({ children }) => children;\n');
    writeFileSync(join(route, 'route.js'), ROUTE);
    const next = join(import.meta.dirname, 'node_modules/next/dist/bin/next');
    const build = spawn(process.execPath, [next, 'build'], {
      cwd: folder,
      env: ENV,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    expect(await once(build, 'exit')).toEqual([0, null]);
    const port = await portOf(process.execPath, [next, 'start', '--port', '0', '--hostname', '127.0.0.1'], folder);
    await isServed((path, init) => fetch(`http://127.0.0.1:${port}${path}`, init));
  }, 120_000);
});

describe('runtimes', () => {
  const modules = join(import.meta.dirname, 'node_modules');
  const programs = [
    ['Bun 1.4', join(modules, '@oven/bun-linux-x64/bin/bun'), ['run']],
    ['Deno 2.9', join(modules, '@deno/linux-x64-glibc/deno'), ['run', '--allow-all']],
  ] as const;

  it.each(programs.filter(([, program]) => existsSync(program)))('%s: its own server', async (_, program, args) => {
    const folder = mkdtempSync(join(tmpdir(), 'treadle-runtime-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'serve.mjs');
    writeFileSync(file, await bundled('runtime.ts'));
    const port = await portOf(program, [...args, file]);
    await isServed((path, init) => fetch(`http://127.0.0.1:${port}${path}`, init));
  });

  it('Workers (workerd): a module with fetch', async () => {
    const worker = new Miniflare({
      modules: true,
      script: await bundled('worker.ts'),
      compatibilityDate: '2026-07-01',
      compatibilityFlags: ['nodejs_compat'],
    });
    onTestFinished(() => worker.dispose());
    const url = await worker.ready;
    await isServed((path, init) => fetch(new URL(path, url), init));
  });
});
