// A server on this machine that keeps what it was asked, and tools that were made of a document for it.

import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject, JsonValue, Tool, ToolContext, ToolResult } from '@treadle/core';

import { openApiTools, type OpenApiOptions } from '../openapi-tools.ts';

export interface Asked {
  readonly method: string;
  /** The path with its query, as it came over the wire. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly asked: readonly Asked[];
  readonly connections: () => number;
}

export async function serve(
  answer: (response: ServerResponse, asked: Asked) => void = (response) => void response.end('ok'),
): Promise<TestServer> {
  const asked: Asked[] = [];
  let connections = 0;
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString('latin1') };
    asked.push(one);
    answer(response, one);
  };
  const server: Server = createServer(
    (request, response) => void take(request, response).catch(() => response.destroy()),
  );
  server.on('connection', () => (connections += 1));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    asked,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A document with these paths. */
export const documentOf = (paths: JsonValue, rest: JsonObject = {}): JsonObject => ({
  openapi: '3.1.0',
  info: { title: 'Test', version: '1' },
  servers: [{ url: 'https://api.example/v1' }],
  paths,
  ...rest,
});

/** Calls a tool as the loop does: checked first. */
export async function callTool(tool: Tool | undefined, args: JsonObject): Promise<ToolResult & { text: string }> {
  if (!tool?.execute) throw new Error('there is no such tool');
  const outcome = await tool.check(args);
  if (!outcome.ok) return { content: '', text: JSON.stringify(outcome.issues), isError: true };
  const context: ToolContext = {
    sessionId: 's',
    runId: 'r',
    callId: 'c',
    toolName: tool.name,
    context: undefined,
    idempotencyKey: 'key-1',
    lastRead: () => null,
    signal: new AbortController().signal,
    update: () => {},
    progress: () => {},
  };
  const result = (await tool.execute(outcome.value, context)) as ToolResult;
  return { ...result, text: typeof result.content === 'string' ? result.content : JSON.stringify(result.content) };
}

/** Makes the one operation of a path a tool, and calls it against a server. */
export async function callOperation(
  server: TestServer,
  path: string,
  operation: JsonObject & { readonly method?: string },
  args: JsonObject,
  options: OpenApiOptions & { readonly document?: JsonObject } = {},
): Promise<ToolResult & { text: string }> {
  const { method = 'get', ...rest } = operation;
  const { document = {}, ...others } = options;
  const { tools } = openApiTools(documentOf({ [path]: { [method]: rest } }, document), {
    baseUrl: `${server.origin}/v1`,
    allow: ['127.0.0.1'],
    ...others,
  });
  return callTool(tools[0], args);
}
