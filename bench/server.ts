// A model server in a process of its own, so that its work is not counted as anybody's. It speaks both wires, keeps no
// state (a request's tool results say how far its run has come), and sends replies that were written beforehand.
// It prints its port as its first line, and ends when its parent goes.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicEvents } from './replies/anthropic.ts';
import { openaiChatEvents } from './replies/openai-chat.ts';
import { replyTo, type Reply } from './replies/reply.ts';
import { parseScenario } from './scenarios.ts';

interface Wire {
  readonly path: string;
  readonly events: (reply: Reply, model: string) => string[];
  /** What every tool result has in a request's body, and nothing else has. */
  readonly resultMark: Buffer;
}

const WIRES: readonly Wire[] = [
  { path: '/v1/chat/completions', events: openaiChatEvents, resultMark: Buffer.from('"role":"tool"') },
  { path: '/v1/messages', events: anthropicEvents, resultMark: Buffer.from('"type":"tool_result"') },
];

const MODEL = /"model"\s*:\s*"([^"]+)"/;
const written = new Map<string, Buffer>();

function count(body: Buffer, mark: Buffer): number {
  let found = 0;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) found++;
  return found;
}

/** The bytes of the reply to this request, or null when it asks for no scenario. */
function replyBytes(wire: Wire, body: Buffer): Buffer | null {
  const model = MODEL.exec(body.toString('latin1', 0, 4096))?.[1] ?? MODEL.exec(body.toString('latin1'))?.[1];
  const scenario = model === undefined ? null : parseScenario(model);
  if (model === undefined || !scenario) return null;
  const results = scenario.kind === 'text' ? 0 : count(body, wire.resultMark);
  const key = `${wire.path} ${model} ${results}`;
  let bytes = written.get(key);
  if (!bytes) {
    bytes = Buffer.from(wire.events(replyTo(scenario.kind, scenario.size, results), model).join(''));
    written.set(key, bytes);
  }
  return bytes;
}

function answer(response: ServerResponse, url: string | undefined, body: Buffer): void {
  const wire = WIRES.find(({ path }) => path === url);
  const bytes = wire ? replyBytes(wire, body) : null;
  if (!bytes) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { type: 'not_found_error', message: `No scenario answers at ${url}.` } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.end(bytes);
}

const server = createServer((request: IncomingMessage, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => answer(response, request.url, Buffer.concat(chunks)));
});
server.keepAliveTimeout = 120_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  console.log((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());
