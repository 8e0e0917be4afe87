import type { ServerResponse } from 'node:http';
import { type Clock, type JsonObject, systemClock } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { nextEvent } from '../pause.ts';
import { type ScriptedError, type Turn, DEFAULT_CHUNK_SIZE, playTurn } from '../turns.ts';
import { type Chunking, cutConnection, sink } from './sink.ts';
import type { FakeProviderOptions, Logged, ProviderTurn, WireFaults } from './turn.ts';
import { type ReplyContext, type Wire, statusOfError } from './wire.ts';

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** A request and what it is answered with. */
export interface Exchange {
  readonly wire: Wire;
  readonly response: ServerResponse;
  readonly request: Logged;
  readonly body: JsonObject;
  /** The script's turn, counted from 1. */
  readonly number: number;
  readonly requestId: string;
  /** Aborted when the client leaves or the provider closes. */
  readonly gone: AbortSignal;
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: object,
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  });
  response.end(text);
}

async function sendError(exchange: Exchange, error: ScriptedError, extra: Record<string, string>): Promise<void> {
  const { wire, response, requestId } = exchange;
  const status = statusOfError(error);
  if (status === undefined) {
    exchange.request.outcome = 'cut';
    return cutConnection(response, 'reset');
  }
  const overflow = error.kind === 'context_overflow' ? wire.overflow : undefined;
  const message = error.message ?? overflow?.message ?? 'The script says that this call fails.';
  const code = error.code ?? overflow?.code;
  const { retryAfterMs } = error;
  const retry = retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
  sendJson(
    response,
    status,
    { [wire.requestIdHeader]: requestId, ...retry, ...extra },
    wire.errorBody(status, message, code, requestId),
  );
}

function sinkFor(exchange: Exchange, faults: WireFaults, chunking: Chunking) {
  return sink(exchange.response, {
    chunking: faults.chunking ?? chunking,
    cutAfterBytes: faults.cutAfterBytes ?? Number.POSITIVE_INFINITY,
    cutAfterEvents: faults.cutAfterEvents ?? Number.POSITIVE_INFINITY,
    cutBy: faults.cutBy ?? 'close',
  });
}

/** Answers with the bytes a fault names. */
async function sendFault(exchange: Exchange, faults: WireFaults, chunking: Chunking): Promise<void> {
  const { body = '', status = 200 } = faults;
  const isJson = typeof body !== 'string' && !(body instanceof Uint8Array);
  const type = isJson
    ? 'application/json'
    : status === 200
      ? (exchange.wire.contentType ?? EVENT_STREAM)
      : 'text/plain';
  const bytes = body instanceof Uint8Array ? body : Buffer.from(isJson ? JSON.stringify(body) : body);
  exchange.response.writeHead(status, {
    'content-type': type,
    [exchange.wire.requestIdHeader]: exchange.requestId,
    ...faults.headers,
  });
  exchange.response.flushHeaders();
  const out = sinkFor(exchange, faults, chunking);
  const whole = (await out.event(bytes)) && (await out.end());
  if (!whole) exchange.request.outcome = 'cut';
}

/** Answers with the turn: streamed or whole, as the request asks, and broken as the turn says. */
export async function stream(exchange: Exchange, turn: ProviderTurn, options: FakeProviderOptions): Promise<void> {
  const { wire, response, gone } = exchange;
  const { chunkSize = DEFAULT_CHUNK_SIZE, chunking = 'events', clock = systemClock } = options;
  const faults = turn.faults ?? {};
  const steps = playTurn(turn, exchange.number, chunkSize);
  let event = await nextEvent(steps, clock, gone);
  if (gone.aborted) return;
  if (faults.status !== undefined || faults.body !== undefined) return sendFault(exchange, faults, chunking);
  if (turn.error && (turn.error.afterDeltas ?? 0) <= 0) return sendError(exchange, turn.error, { ...faults.headers });
  const context = contextOf(exchange, turn, clock);
  const { path } = exchange.request;
  if (!(wire.asksForStream?.(path, exchange.body) ?? exchange.body['stream'] === true)) {
    if (turn.error) return sendError(exchange, turn.error, { ...faults.headers });
    const headers = { [wire.requestIdHeader]: exchange.requestId, ...faults.headers };
    return sendJson(response, 200, headers, wire.whole(context));
  }
  response.writeHead(200, {
    'content-type': wire.contentType ?? EVENT_STREAM,
    'cache-control': 'no-cache',
    [wire.requestIdHeader]: exchange.requestId,
    ...faults.headers,
  });
  response.flushHeaders();
  const out = sinkFor(exchange, faults, chunking);
  const encode = wire.encoder(context);
  let open = await out.event(new Uint8Array());
  while (event && open) {
    if (event.type === 'error' && statusOfError(turn.error ?? {}) === undefined) {
      exchange.request.outcome = 'cut';
      await out.flush();
      await new Promise((resolve) => setImmediate(resolve));
      return cutConnection(response, 'reset');
    }
    const written = encode(event);
    open = await out.event(typeof written === 'string' ? Buffer.from(written) : written);
    event = await nextEvent(steps, clock, gone, () => out.flush());
    if (gone.aborted) return;
  }
  if (!(open && (await out.end()))) exchange.request.outcome = 'cut';
}

function contextOf(exchange: Exchange, turn: Turn, clock: Clock): ReplyContext {
  const { model, stream_options: streamOptions } = exchange.body;
  return {
    number: exchange.number,
    model:
      exchange.wire.modelOf?.(exchange.request.path, exchange.body) ?? (typeof model === 'string' ? model : 'unknown'),
    turn,
    created: Math.floor(clock.now() / 1000),
    includeUsage: isJsonObject(streamOptions) && streamOptions['include_usage'] === true,
  };
}
