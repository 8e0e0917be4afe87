import type { Transport } from '@modelcontextprotocol/client';

import type { McpLogin } from '../login/login.ts';
import type { HttpServerConfig, InProcessServerConfig, McpServerConfig, StdioServerConfig } from './config.ts';

/** How a client gets through: a transport, and what can be said of the other side. */
export interface Opened {
  readonly transport: Transport;
  /** The last lines that a process wrote to its standard error. */
  readonly lastWords: () => string;
}

/** What requests over HTTP take. */
export interface HttpParts {
  /** Absent where a server takes no login. */
  readonly auth?: McpLogin | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const NOTHING = (): string => '';

/** Makes a transport for one connection. Nothing is started by it. */
export async function openTransport(config: McpServerConfig, parts: HttpParts, kind: 'http' | 'sse'): Promise<Opened> {
  if ('server' in config) return { transport: await inProcess(config), lastWords: NOTHING };
  if ('url' in config) return { transport: await overHttp(config, parts, kind), lastWords: NOTHING };
  return overPipes(config);
}

/** Characters kept of what a process writes to its standard error. */
const MOST_WORDS = 4000;

async function overPipes({ command, args = [], env = {}, cwd }: StdioServerConfig): Promise<Opened> {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
  });
  let words = '';
  // Read always: a process whose standard error is full stops.
  transport.stderr?.on('data', (chunk: Uint8Array) => {
    words = (words + Buffer.from(chunk).toString('utf8')).slice(-MOST_WORDS);
  });
  return { transport, lastWords: () => words.trim() };
}

async function overHttp({ url, headers = {} }: HttpServerConfig, parts: HttpParts, kind: 'http' | 'sse') {
  const sdk = await import('@modelcontextprotocol/client');
  const options = {
    requestInit: { headers: { ...headers } },
    ...(parts.auth === undefined ? {} : { authProvider: parts.auth.provider }),
    ...(parts.fetch === undefined ? {} : { fetch: parts.fetch }),
  };
  // oxlint-disable-next-line typescript/no-deprecated -- servers that speak nothing else are still about
  if (kind === 'sse') return new sdk.SSEClientTransport(new URL(url), options);
  return new sdk.StreamableHTTPClientTransport(new URL(url), options);
}

async function inProcess({ server }: InProcessServerConfig): Promise<Transport> {
  const { InMemoryTransport } = await import('@modelcontextprotocol/client');
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const one = typeof server === 'function' ? await server() : server;
  await one.connect(theirs as never);
  return ours;
}
