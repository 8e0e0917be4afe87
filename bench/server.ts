// A model server in a process of its own, so that its work is not counted as anybody's. It speaks every wire, keeps no
// state (a request's tool results say how far its run has come), and sends replies that were written beforehand.
// It prints its port as its first line, and ends when its parent goes.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicEvents } from './replies/anthropic.ts';
import { bedrockMessages } from './replies/bedrock.ts';
import { geminiEvents } from './replies/gemini.ts';
import { ollamaLines } from './replies/ollama.ts';
import { openaiChatEvents } from './replies/openai-chat.ts';
import { openaiResponsesEvents } from './replies/openai-responses.ts';
import { replyTo, type Reply } from './replies/reply.ts';
import { LONG_RUN, parseScenario, UNREPEATED_PATH } from './scenarios.ts';

interface Wire {
  /** The path of its requests; a group in it is the model, which is otherwise in the body. */
  readonly path: RegExp;
  readonly contentType: string;
  readonly write: (reply: Reply, model: string) => readonly (string | Buffer)[];
  /** What every tool result has in a request's body, and nothing else has. */
  readonly resultMark: string;
}

const SSE = 'text/event-stream; charset=utf-8';

const WIRES: readonly Wire[] = [
  {
    path: /^\/v1\/chat\/completions$/,
    contentType: SSE,
    write: openaiChatEvents,
    resultMark: '"role":"tool"',
  },
  { path: /^\/v1\/messages$/, contentType: SSE, write: anthropicEvents, resultMark: '"type":"tool_result"' },
  {
    path: /^\/v1\/responses$/,
    contentType: SSE,
    write: openaiResponsesEvents,
    resultMark: '"type":"function_call_output"',
  },
  {
    path: /^\/v1beta\/models\/([^:]+):streamGenerateContent\?alt=sse$/,
    contentType: SSE,
    write: geminiEvents,
    resultMark: '"functionResponse":{',
  },
  {
    path: /^\/model\/([^/]+)\/converse-stream$/,
    contentType: 'application/vnd.amazon.eventstream',
    write: bedrockMessages,
    resultMark: '"toolResult":{',
  },
  { path: /^\/api\/chat$/, contentType: 'application/x-ndjson', write: ollamaLines, resultMark: '"role":"tool"' },
];

const MODEL = /"model"\s*:\s*"([^"]+)"/;
const written = new Map<string, Buffer>();

function count(body: Buffer, mark: string): number {
  let found = 0;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) found++;
  return found;
}

const modelIn = (body: Buffer): string | undefined =>
  (MODEL.exec(body.toString('latin1', 0, 4096)) ?? MODEL.exec(body.toString('latin1')))?.[1];

/** The bytes of the reply to this request, or null when it asks for no scenario. */
function replyBytes(wire: Wire, url: string, body: Buffer): Buffer | null {
  const model = wire.path.exec(url)?.[1] ?? modelIn(body);
  const scenario = model === undefined ? null : parseScenario(model);
  if (model === undefined || !scenario) return null;
  const results = scenario.kind === 'text' ? 0 : count(body, wire.resultMark);
  if (scenario.kind === 'turns' && scenario.size >= LONG_RUN) compare(body, results);
  const key = `${wire.path.source} ${model} ${results}`;
  let bytes = written.get(key);
  if (!bytes) {
    const parts = wire.write(replyTo(scenario.kind, scenario.size, results), model);
    bytes = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
    written.set(key, bytes);
  }
  return bytes;
}

/** How the requests of the last long run continued each other. Long runs are measured one at a time. */
const longRun: { previous: Uint8Array; requests: number; bytes: number } = {
  previous: new Uint8Array(0),
  requests: 0,
  bytes: 0,
};

/** Keeps the most bytes, at the end of a request, with which the next one doesn't begin. */
function compare(body: Buffer, results: number): void {
  const { previous } = longRun;
  longRun.previous = body;
  if (results === 0) {
    longRun.requests = 0;
    longRun.bytes = 0;
    return;
  }
  let same = 0;
  while (same < previous.length && previous[same] === body[same]) same++;
  longRun.requests++;
  longRun.bytes = Math.max(longRun.bytes, previous.length - same);
}

function answer(response: ServerResponse, url: string, body: Buffer): void {
  if (url === UNREPEATED_PATH) {
    const { requests, bytes } = longRun;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ requests, bytes }));
    return;
  }
  const wire = WIRES.find(({ path }) => path.test(url));
  const bytes = wire ? replyBytes(wire, url, body) : null;
  if (!wire || !bytes) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { type: 'not_found_error', message: `No scenario answers at ${url}.` } }));
    return;
  }
  response.writeHead(200, { 'content-type': wire.contentType });
  response.end(bytes);
}

const server = createServer((request: IncomingMessage, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => answer(response, request.url ?? '', Buffer.concat(chunks)));
});
server.keepAliveTimeout = 120_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  console.log((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());
