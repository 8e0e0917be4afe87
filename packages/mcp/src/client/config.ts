import { TreadleError } from '@treadle/core';

import type { OAuthOptions } from '../login/login.ts';

/** What every server may say. Times are milliseconds. */
interface CommonConfig {
  /** Only these of its tools, by the names that the server gives them. Default: all. */
  readonly tools?: readonly string[];
  /** How long a call may go without a result or a sign of progress. Default 60,000. */
  readonly timeoutMs?: number;
  /** How long the first agent waits for a server whose tools it doesn't know yet. Default 10,000. */
  readonly startupTimeoutMs?: number;
}

/** A server that is started as a process, and talked to over its standard input and output. */
export interface StdioServerConfig extends CommonConfig {
  readonly type?: 'stdio';
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that every server gets: `PATH`, `HOME` and their like. Nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the working folder of this process. */
  readonly cwd?: string;
}

/** A server at an address. Without a `type` it may speak Streamable HTTP or, failing that, the older SSE. */
export interface HttpServerConfig extends CommonConfig {
  readonly type?: 'http' | 'sse';
  readonly url: string;
  /** Sent with every request, such as a token. No model sees them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How this client logs in, where the server wants that. */
  readonly oauth?: OAuthOptions;
}

/** A server of the SDK in this process: a `McpServer`, or a function that makes one for each connection. */
export interface InProcessServerConfig extends CommonConfig {
  readonly server: InProcessServer | (() => InProcessServer | Promise<InProcessServer>);
}

/** The part of the SDK's servers that is used. */
export interface InProcessServer {
  // The transports of the two versions of the SDK have the same methods under different types.
  connect(transport: never): Promise<void>;
}

/** How to reach an MCP server. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig | InProcessServerConfig;

/** Servers by name. The name is a part of their tools' names: `mcp__{server}__{tool}`. */
export type McpServerConfigs = Readonly<Record<string, McpServerConfig>>;

const refuse = (server: string, problem: string): never => {
  throw new TreadleError('invalid_definition', `The MCP server ${JSON.stringify(server)} ${problem}`, {
    details: { server },
  });
};

/**
 * Checks a server's configuration, which may come from a file.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkServer(name: string, config: McpServerConfig): void {
  const { command, url, server, headers, env, args, timeoutMs, startupTimeoutMs }: Loose = config;
  const given = [command, url, server].filter((value) => value !== undefined);
  if (given.length !== 1) refuse(name, 'needs one of command, url and server.');
  if (command !== undefined && (typeof command !== 'string' || command === '')) {
    refuse(name, 'has a command that is no text.');
  }
  if (url !== undefined && !isWebAddress(url)) refuse(name, 'has a url that is no http or https address.');
  for (const [key, value] of Object.entries({ headers, env })) {
    if (value !== undefined && !isTexts(value)) refuse(name, `has ${key} that are not all texts.`);
  }
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === 'string'))) {
    refuse(name, 'has args that are not a list of texts.');
  }
  for (const [key, value] of Object.entries({ timeoutMs, startupTimeoutMs })) {
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      refuse(name, `has a ${key} that is not a positive number of milliseconds.`);
    }
  }
}

type Loose = { readonly [Key in keyof StdioServerConfig | 'url' | 'headers' | 'server']?: unknown };

function isWebAddress(url: unknown): boolean {
  return typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

const isTexts = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');
