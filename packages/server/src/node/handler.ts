import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { AgentServer } from '../app.ts';
import { problemResponse, RequestError } from '../problem.ts';

/** What frameworks add to Node's request. */
interface Mounted {
  /** The URL as it came in, where the framework has cut off the path that it serves. */
  readonly originalUrl?: string;
  /** What a body parser has read. */
  readonly body?: unknown;
  rawBody?: Buffer;
}

/**
 * A server as a handler of Node's requests: for Express, Fastify, Connect and `node:http`. It works before and after a body
 * parser. `next` is called for a path that is not below the server's `basePath`.
 *
 * @example
 * ```ts
 * import { createServer as createHttpServer } from 'node:http';
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { createServer, nodeHandler } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const server = createServer({
 *   agents: [defineAgent({ model: scriptedModel(['Hello.']) })],
 *   journal: memoryJournal(),
 *   tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
 * });
 * const http = createHttpServer(nodeHandler(server)); // in Express: app.use(nodeHandler(server))
 * http.close();
 * ```
 */
export function nodeHandler({ app, parts: { basePath } }: AgentServer) {
  const listener = getRequestListener((request, env) => app.fetch(request, env), {
    overrideGlobalObjects: false,
    errorHandler: () => problemResponse(new RequestError('bad_request', 'The request is not one that HTTP knows.')),
  });
  return (request: IncomingMessage & Mounted, response: ServerResponse, next?: () => void): void => {
    const url = basePath === '' ? request.url : (request.originalUrl ?? request.url);
    if (next && basePath !== '' && url !== basePath && !url?.startsWith(`${basePath}/`)) {
      next();
      return;
    }
    if (url !== undefined) request.url = url;
    if (request.body !== undefined && request.readableEnded) request.rawBody ??= bytesOf(request.body);
    void listener(request, response);
  };
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
