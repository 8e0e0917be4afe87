import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TreadleError } from '@treadle/core';

import type { McpAgentServer } from './agent-server.ts';

/** Settings of {@link serveMcp}. */
export interface ServeMcpOptions {
  /** Default `127.0.0.1`. Another address needs a `token` of your own. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** What clients send as `Authorization: Bearer`. Default: a new one. */
  readonly token?: string;
}

/** A server that listens. */
export interface ServingMcp extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);
const PATH = '/mcp';

/**
 * Serves an agent over Streamable HTTP at `/mcp`. Every request needs the token. On a loopback address, requests of other
 * hosts and origins are refused, so that no web page reaches it.
 *
 * @throws TreadleError `invalid_definition` for an address that others reach, without a token.
 */
export async function serveMcp(agent: McpAgentServer, options: ServeMcpOptions = {}): Promise<ServingMcp> {
  const { host = '127.0.0.1', port = 0 } = options;
  const isLocal = LOOPBACK.has(host);
  if (!isLocal && options.token === undefined) {
    throw new TreadleError('invalid_definition', `Others reach ${host}: it needs a token of your own.`);
  }
  const token = options.token ?? randomBytes(24).toString('base64url');
  const sdk = await import('@modelcontextprotocol/server');
  const refused = (request: Request): Response | undefined => {
    if (!isLocal) return undefined;
    const hosts = sdk.localhostAllowedHostnames();
    return sdk.hostHeaderValidationResponse(request, hosts) ?? sdk.originValidationResponse(request, hosts);
  };
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = requestOf(incoming, response);
    const { pathname } = new URL(request.url);
    let reply = refused(request);
    if (!reply && pathname !== PATH) reply = new Response('Not found', { status: 404 });
    if (!reply && !isAllowed(request, token)) {
      reply = new Response('Unauthorized', { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    await send(reply ?? (await agent.fetch(request)), response);
  };
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  const { port: own } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    await agent.close();
  };
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${own}${PATH}`;
  return { url, token, close, [Symbol.asyncDispose]: close };
}

/** Compared by hash, in the same time wherever the two differ. */
function isAllowed(request: Request, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

function requestOf(incoming: IncomingMessage, response: ServerResponse): Request {
  const { method = 'GET', url = '/', headers: given } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  }
  const left = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) left.abort();
  });
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const base = `http://${given.host ?? 'localhost'}`;
  const address = URL.canParse(url, base) ? new URL(url, base) : new URL('http://localhost/');
  return new Request(address, {
    method,
    headers,
    signal: left.signal,
    ...(hasBody ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
  });
}

async function send(reply: Response, response: ServerResponse): Promise<void> {
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  if (!reply.body) return void response.end();
  // A client that leaves is no failure.
  await pipeline(Readable.fromWeb(reply.body), response).catch(() => {});
}
