import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { McpEvent } from '../client/connection.ts';
import { mcpServers } from '../client/servers.ts';
import { callOnce } from '../test-support/play.ts';
import { listenForCallback } from './callback.ts';
import { browserLogin, savedLogin } from './login.ts';
import { fileCredentials } from './store.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'mcp-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A server that takes one token, and the authorization server that gives it out and refreshes it. */
async function guarded() {
  const asked: string[] = [];
  let valid = 'access-token-1';
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'guarded', version: '1.0.0' });
    server.registerTool('secret', { description: 'x' }, () => ({ content: [{ type: 'text', text: 'treasure' }] }));
    server.registerTool('mirror', { description: 'x' }, ({ http }) => {
      const authorization = http?.req?.headers.get('authorization') ?? '';
      return { content: [{ type: 'text', text: authorization }], structuredContent: { authorization } };
    });
    return server;
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += Buffer.from(chunk as Uint8Array).toString('utf8');
    const { pathname, searchParams } = new URL(request.url ?? '/', origin);
    const json = (status: number, value: object, headers = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (pathname.startsWith('/.well-known/')) {
      const at = (path: string): string => origin + path;
      return json(200, {
        issuer: origin,
        authorization_endpoint: at('/authorize'),
        token_endpoint: at('/token'),
        registration_endpoint: at('/register'),
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      });
    }
    if (pathname === '/register') return json(201, { client_id: 'us', ...(JSON.parse(body) as object) });
    if (pathname === '/authorize') {
      const to = new URL(searchParams.get('redirect_uri') ?? '');
      to.searchParams.set('code', 'code-1');
      to.searchParams.set('state', searchParams.get('state') ?? '');
      return void response.writeHead(302, { location: to.href }).end();
    }
    if (pathname === '/token') {
      const grant = new URLSearchParams(body).get('grant_type') ?? '';
      asked.push(grant);
      if (grant === 'refresh_token') valid = 'access-token-2';
      return json(200, { access_token: valid, token_type: 'Bearer', refresh_token: 'refresh-1', expires_in: 3600 });
    }
    if (request.headers.authorization !== `Bearer ${valid}`) {
      const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      return json(401, { error: 'invalid_token' }, { 'www-authenticate': challenge });
    }
    const headers = new Headers(request.headers as Record<string, string>);
    const reply = await handler.fetch(new Request(origin + pathname, { method: 'POST', headers, body }));
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    for await (const chunk of reply.body ?? []) response.write(chunk);
    response.end();
  };
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    asked,
    /** The token that is out is no longer taken. */
    expire: () => void (valid = 'another'),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const browser = (page: string): void => void fetch(page).catch(() => {});

describe('a server that wants a login', () => {
  it('fails no agent, and says what to do', async () => {
    await using server = await guarded();
    const store = fileCredentials(join(folder, 'none'));
    const auth = (name: string, { url }: { readonly url: string }) => savedLogin(name, url, store);
    await using servers = await mcpServers({ vault: { type: 'http', url: server.url } }, { auth });
    expect(servers.status).toMatchObject([
      { state: 'needs_login', problem: 'The MCP server vault wants a login. Run: treadle mcp login vault' },
    ]);
  });

  it('is used with the tokens of a login, which are refreshed, and told nobody', async () => {
    await using server = await guarded();
    const store = fileCredentials(join(folder, 'tokens'));
    const events: McpEvent[] = [];
    const config = { vault: { type: 'http' as const, url: server.url } };
    {
      await using login = await browserLogin(server.url, store, { open: browser });
      await using servers = await mcpServers(config, { auth: () => login, onEvent: (event) => events.push(event) });
      expect(servers.status).toMatchObject([{ state: 'ready' }]);
    }
    const auth = () => savedLogin('vault', server.url, store);
    {
      await using servers = await mcpServers(config, { auth, onEvent: (event) => events.push(event) });
      expect((await callOnce(servers.tools, 'mcp__vault__secret')).text).toBe('treasure');
      expect(server.asked).toEqual(['authorization_code']);
      expect(await callOnce(servers.tools, 'mcp__vault__mirror')).toMatchObject({
        text: 'Bearer [hidden]',
        details: { structuredContent: { authorization: 'Bearer [hidden]' } },
      });
      server.expire();
      expect((await callOnce(servers.tools, 'mcp__vault__secret')).text).toBe('treasure');
      expect(server.asked).toEqual(['authorization_code', 'refresh_token']);
    }
    const [file = ''] = await readdir(join(folder, 'tokens'));
    const path = join(folder, 'tokens', file);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'tokens'))).mode & 0o777).toBe(0o700);
    expect(await readFile(path, 'utf8')).toContain('access-token-2');
    expect(JSON.stringify(events)).not.toMatch(/token-|refresh-/);
  });
});

describe('credentials', () => {
  it('of one authorization server are not given to another one', async () => {
    const store = fileCredentials(join(folder, 'issuers'));
    const url = 'https://mcp.example/';
    await store.write(url, 'https://a.example', { client: { client_id: 'a' }, tokens: { access_token: 'ta' } });
    await store.write(url, 'https://b.example', { client: { client_id: 'b' } });
    expect(await store.read(url, 'https://a.example')).toMatchObject({ tokens: { access_token: 'ta' } });
    expect(await store.read(url, 'https://b.example')).toEqual({ client: { client_id: 'b' } });
    expect(await store.read(url, 'https://c.example')).toEqual({});
    expect(await store.read('https://other.example/', 'https://a.example')).toEqual({});
    expect(await store.read(url)).toEqual({ client: { client_id: 'b' } });
  });

  it('are forgotten', async () => {
    const store = fileCredentials(join(folder, 'forgotten'));
    const url = 'https://mcp.example/';
    await store.write(url, 'i', { client: { client_id: 'a' }, tokens: { access_token: 't' } });
    await store.forget(url, 'tokens');
    expect(await store.read(url)).toEqual({ client: { client_id: 'a' } });
    await store.forget(url, 'all');
    expect(await store.read(url)).toEqual({});
  });
});

it('a call back with another state is not taken for ours', async () => {
  await using callback = await listenForCallback();
  const taken = callback.wait('mine', AbortSignal.timeout(5000));
  expect((await fetch(`${callback.redirectUrl}?code=evil&state=other`)).status).toBe(404);
  expect((await fetch(`${callback.redirectUrl}?code=good&state=mine`)).status).toBe(200);
  expect((await taken).get('code')).toBe('good');
});
