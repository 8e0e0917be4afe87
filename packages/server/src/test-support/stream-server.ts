import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeAll, type StreamFormat } from '../encoders/encoder.ts';
import type { Conversation, Drive } from './conversation.ts';

/** A server that answers each request with the next drive of a conversation, in one format. */
export interface StreamServer extends AsyncDisposable {
  readonly url: string;
  /** The bodies of the requests. */
  readonly requests: unknown[];
}

/** `formatOf` makes the format from the body of a request. */
export async function streamServer(
  { sessionId, runId, drives }: Conversation,
  formatOf: (body: unknown) => StreamFormat,
): Promise<StreamServer> {
  const requests: unknown[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const drive: Drive | undefined = drives[requests.push(body) - 1];
      if (!drive) return response.writeHead(404).end();
      const format = formatOf(body);
      response.writeHead(200, { 'content-type': format.contentType, ...format.headers });
      const start = { sessionId, runId, resumed: false };
      for (const { data } of encodeAll(format, start, drive.events, { reason: 'finished' })) {
        response.write(`data: ${data}\n\n`);
      }
      return response.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text === '' ? null : JSON.parse(text);
}
