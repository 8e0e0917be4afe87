import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type JsonValue, errorText } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { type Script, outOfTurns, takeTurn } from '../script.ts';
import { sendJson, stream } from './answer.ts';
import { anthropicWire } from './anthropic.ts';
import { bedrockWire } from './bedrock.ts';
import { geminiWire } from './gemini.ts';
import { ollamaWire } from './ollama.ts';
import { openAIChatWire } from './openai.ts';
import { openAIResponsesWire } from './responses.ts';
import type { FakeProviderOptions, Logged, ProviderRequest, ProviderTurn } from './turn.ts';
import { bearerOf, type Wire } from './wire.ts';

/** A running fake provider. */
export interface FakeProvider {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** What `ANTHROPIC_BASE_URL` wants. */
  readonly anthropicBaseUrl: string;
  /** What `OPENAI_BASE_URL` wants. */
  readonly openaiBaseUrl: string;
  /** What `AZURE_OPENAI_BASE_URL` wants. */
  readonly azureBaseUrl: string;
  /** What `BEDROCK_BASE_URL` wants. */
  readonly bedrockBaseUrl: string;
  /** What `GOOGLE_BASE_URL` and `GOOGLE_VERTEX_BASE_URL` want. */
  readonly googleBaseUrl: string;
  /** What `OLLAMA_BASE_URL` wants. */
  readonly ollamaBaseUrl: string;
  /** All requests so far, oldest first. */
  readonly requests: readonly ProviderRequest[];
  /** The request number `count` (from 1), as soon as it is there. Rejects when the provider closes first. */
  waitForRequest(count: number): Promise<ProviderRequest>;
  /** Resolves once no request is being answered any more. */
  idle(): Promise<void>;
  /** Ends every connection, delay and the server itself. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const WIRES: readonly Wire[] = [
  anthropicWire,
  openAIChatWire,
  openAIResponsesWire,
  bedrockWire,
  geminiWire,
  ollamaWire,
];

/** What servers tell of their models, by the path of the question. */
const MODEL_FACTS: ReadonlyMap<string, (window: number, id: string) => object> = new Map<
  string,
  (window: number, id: string) => object
>([
  ['/api/show', (window) => ({ model_info: { 'general.architecture': 'x', 'x.context_length': window } })],
  ['/v1/models', (window, id) => ({ data: [{ id, max_model_len: window }] })],
  ['/api/v0/models', (window, id) => ({ data: [{ id, loaded_context_length: window }] })],
  ['/props', (window) => ({ default_generation_settings: { n_ctx: window } })],
]);

function parse(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]));

/** Why a request is refused before it gets a turn: its status and what is wrong. */
function refusal(request: ProviderRequest, wire: Wire, options: FakeProviderOptions): [number, string[]] | undefined {
  if (options.apiKey !== undefined && (wire.apiKey ?? bearerOf)(request.headers) !== options.apiKey)
    return [401, ['The API key is not the right one.']];
  if (!isJsonObject(request.body)) return [400, ['The request body is not a JSON object.']];
  if (options.validate === false) return undefined;
  const type = request.headers['content-type'] ?? '';
  const wrong = /^application\/json\b/i.test(type) ? [] : ['content-type: must be application/json'];
  wrong.push(...(wire.checkHeaders?.(request.headers, request.path) ?? []), ...wire.checkBody(request.body));
  return wrong.length > 0 ? [400, wrong] : undefined;
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}

/**
 * Starts a provider on a socket of this machine that speaks Anthropic Messages (`POST /v1/messages`), OpenAI Chat
 * Completions (`POST /v1/chat/completions`), OpenAI Responses (`POST /v1/responses`, and Azure's addresses of it), Amazon
 * Bedrock's ConverseStream (`POST /model/…/converse-stream`), the Gemini API (`POST /v1beta/models/…`, and Vertex AI's
 * addresses of it) and Ollama's chat API (`POST /api/chat`), streamed and whole, and answers from a script. It refuses
 * what the real services refuse, with their status and error shape, logs every request, and breaks in all the ways a
 * network does.
 * A refused request uses up no turn; a request beyond the script's last turn gets a 400 that says so.
 *
 * @example
 * ```ts
 * import { fakeProvider } from '@treadle/testing';
 *
 * const provider = await fakeProvider(['Hello!', { text: 'never whole', faults: { cutAfterEvents: 2 } }]);
 * const response = await fetch(`${provider.openaiBaseUrl}/chat/completions`, {
 *   method: 'POST',
 *   headers: { 'content-type': 'application/json' },
 *   body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'Hi' }] }),
 * });
 * console.log((await response.text()).includes('Hello!'), provider.requests.length); // true 1
 * await provider.close();
 * ```
 */
export async function fakeProvider(
  script: Script<ProviderRequest, ProviderTurn>,
  options: FakeProviderOptions = {},
): Promise<FakeProvider> {
  const requests: Logged[] = [];
  const waiting = new Set<{ count: number; resolve: (request: ProviderRequest) => void; reject: (e: Error) => void }>();
  const closing = new AbortController();
  const active = new Set<Promise<void>>();
  let turns = 0;
  let received = 0;

  function log(request: Logged): void {
    requests.push(request);
    for (const waiter of waiting) {
      const found = requests[waiter.count - 1];
      if (!found) continue;
      waiting.delete(waiter);
      waiter.resolve(found);
    }
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    const requestId = `req_fake${++received}`;
    const rawBody = await text(incoming);
    const path = (incoming.url ?? '/').split('?')[0] ?? '/';
    const told = MODEL_FACTS.get(path);
    if (told !== undefined && (incoming.method === 'GET' || path === '/api/show')) {
      const { contextWindow } = options;
      if (contextWindow === undefined) return sendJson(response, 404, {}, { error: { message: 'not found' } });
      return sendJson(response, 200, {}, told(contextWindow, options.listedModel ?? 'model-1'));
    }
    const wire = WIRES.find((candidate) => candidate.path === path || candidate.otherPaths?.test(path) === true);
    const request: Logged = {
      wire: wire?.name,
      method: incoming.method ?? '',
      path,
      headers: headersOf(incoming),
      rawBody,
      body: parse(rawBody),
      problems: [],
      outcome: 'open',
    };
    response.on('close', () => {
      if (request.outcome === 'open') request.outcome = response.writableFinished ? 'done' : 'left';
      left.abort();
    });
    if (!wire || request.method !== 'POST') {
      log(request);
      const speaks = wire ?? openAIChatWire;
      const message = `There is no ${request.method} ${path} here.`;
      return sendJson(response, wire ? 405 : 404, {}, speaks.errorBody(404, message, undefined, requestId));
    }
    const refused = refusal(request, wire, options);
    const refuse = (status: number, wrong: readonly string[]): void =>
      sendJson(
        response,
        status,
        { [wire.requestIdHeader]: requestId },
        wire.errorBody(status, wrong.join('; '), undefined, requestId),
      );
    if (refused) request.problems = refused[1];
    log(request);
    if (refused) return refuse(...refused);
    const index = turns++;
    const turn = await takeTurn<ProviderRequest, ProviderTurn>(script, request, index);
    if (!turn) return refuse(400, [outOfTurns(script.length, index)]);
    const unspeakable = wire.unspeakable?.(turn);
    if (unspeakable !== undefined) return refuse(400, [unspeakable]);
    const gone = AbortSignal.any([left.signal, closing.signal]);
    const body = isJsonObject(request.body) ? request.body : {};
    await stream({ wire, response, request, body, number: index + 1, requestId, gone }, turn, options);
  }

  const server = createServer((incoming, response) => {
    const work = answer(incoming, response).catch((thrown: unknown) => {
      // A turn function that throws is the test's defect: it must not look like a slow network.
      if (response.headersSent || response.destroyed) response.destroy();
      else sendJson(response, 400, {}, { error: { message: `The script failed: ${errorText(thrown)}` } });
    });
    active.add(work);
    void work.finally(() => active.delete(work));
  });
  // A pooled connection must not close under a client that is about to reuse it.
  server.keepAliveTimeout = 0;
  const url = await listen(server);

  async function close(): Promise<void> {
    closing.abort();
    for (const waiter of waiting) waiter.reject(new Error('The fake provider was closed.'));
    waiting.clear();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await Promise.all(active);
    await closed;
  }

  return {
    url,
    anthropicBaseUrl: url,
    openaiBaseUrl: `${url}/v1`,
    azureBaseUrl: `${url}/openai/v1`,
    bedrockBaseUrl: url,
    googleBaseUrl: url,
    ollamaBaseUrl: url,
    requests,
    waitForRequest(count) {
      const found = requests[count - 1];
      if (found) return Promise.resolve(found);
      if (closing.signal.aborted) return Promise.reject(new Error('The fake provider was closed.'));
      return new Promise((resolve, reject) => void waiting.add({ count, resolve, reject }));
    },
    async idle() {
      while (active.size > 0) await Promise.all(active);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
