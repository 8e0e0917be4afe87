import type { Clock, Http, ModelError } from '@treadle/core';
import type { ModelBlock, ModelEvent, ModelRequest } from '@treadle/core/model';
import { wireModel } from '../model.ts';
import type { Protocol } from '../protocols/shared/protocol.ts';

/** What a stream came to. */
export interface Reading {
  readonly events: readonly ModelEvent[];
  /** All text deltas, then all thinking deltas, joined. */
  readonly text: string;
  readonly thinking: string;
  /** The blocks that ended, in the order of the message. A second start forgets those before it. */
  readonly blocks: readonly ModelBlock[];
  readonly finish: Extract<ModelEvent, { type: 'finish' }> | undefined;
  readonly error: ModelError | undefined;
}

/** One server-sent event per value; a string is sent as it is. */
export function sse(...events: readonly unknown[]): string {
  return events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** `bytes` in pieces of these sizes, over and over. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let position = 0;
  for (let turn = 0; position < bytes.length; turn++) {
    const end = position + Math.max(1, sizes[turn % sizes.length] ?? 1);
    chunks.push(bytes.slice(position, end));
    position = end;
  }
  return chunks;
}

async function* streamed(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** An `Http` without a network, that answers every request with these chunks. */
export function answering(
  chunks: readonly Uint8Array[],
  headers: Readonly<Record<string, string>> = { 'content-type': 'text/event-stream' },
  status = 200,
): Http {
  return () => Promise.resolve({ status, headers, body: streamed(chunks) });
}

/** A transport that tells how many bytes of its bodies were read, and when one came to its end. */
export function countedHttp(http: Http): {
  readonly http: Http;
  bytes(count: number): Promise<void>;
  ended: Promise<void>;
} {
  let total = 0;
  let wake = (): void => {};
  const end = Promise.withResolvers<void>();
  return {
    ended: end.promise,
    async http(request) {
      const response = await http(request);
      const source = response.body[Symbol.asyncIterator]();
      const next = async (): Promise<IteratorResult<Uint8Array>> => {
        const result = await source.next();
        if (result.done === true) end.resolve();
        else total += result.value.length;
        wake();
        return result;
      };
      const leave = (): Promise<IteratorResult<Uint8Array>> =>
        source.return?.() ?? Promise.resolve({ done: true, value: undefined });
      return { ...response, body: { [Symbol.asyncIterator]: () => ({ next, return: leave }) } };
    },
    async bytes(count) {
      while (total < count) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}

export const REQUEST: ModelRequest = { system: '', messages: [], tools: [] };

export interface ReadingOptions {
  readonly protocol: Protocol;
  readonly http: Http;
  readonly headers?: Readonly<Record<string, string>>;
  readonly baseUrl?: string;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** Everything one model call streams. */
export async function readModel(options: ReadingOptions): Promise<Reading> {
  const { protocol, http, headers = {}, baseUrl = 'http://localhost', signal = new AbortController().signal } = options;
  const clock = options.clock === undefined ? {} : { clock: options.clock };
  const model = wireModel({ protocol, provider: 'test', modelId: 'test', baseUrl, headers, http, ...clock });
  const events: ModelEvent[] = [];
  for await (const event of model.stream(REQUEST, signal)) events.push(event);
  return summary(events);
}

/** What a response body of these bytes streams, in pieces of these sizes. */
export function readBody(
  protocol: Protocol,
  body: string | Uint8Array,
  sizes: readonly number[] = [1e9],
): Promise<Reading> {
  return readModel({ protocol, http: answering(cut(typeof body === 'string' ? utf8(body) : body, sizes)) });
}

/** What a response that is one JSON object comes to. */
export function readJson(protocol: Protocol, body: unknown): Promise<Reading> {
  const http = answering([utf8(JSON.stringify(body))], { 'content-type': 'application/json; charset=utf-8' });
  return readModel({ protocol, http });
}

function summary(events: readonly ModelEvent[]): Reading {
  let text = '';
  let thinking = '';
  let blocks = new Map<number, ModelBlock>();
  let finish: Reading['finish'];
  let error: ModelError | undefined;
  for (const event of events) {
    if (event.type === 'start') blocks = new Map();
    else if (event.type === 'text_delta') text += event.text;
    else if (event.type === 'thinking_delta') thinking += event.text;
    else if (event.type === 'block_end') blocks.set(event.index, event.block);
    else if (event.type === 'finish') finish = event;
    else if (event.type === 'error') error = event.error;
  }
  const ordered = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
  return { events, text, thinking, blocks: ordered, finish, error };
}

/** Events of one stream with the deltas of each block joined: what may not depend on how the bytes were cut. */
export function joined(events: readonly ModelEvent[]): ModelEvent[] {
  const result: ModelEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (
      last !== undefined &&
      'text' in event &&
      'text' in last &&
      last.type === event.type &&
      last.index === event.index
    ) {
      result[result.length - 1] = { ...last, text: last.text + event.text };
    } else result.push(event);
  }
  return result;
}

/** Problems with the order of a stream's events; empty for a stream that keeps the contract of the port. */
export function contractProblems(events: readonly ModelEvent[]): string[] {
  const problems: string[] = [];
  let ended = new Set<number>();
  for (const [at, event] of events.entries()) {
    const terminal = event.type === 'finish' || event.type === 'error';
    if (terminal !== (at === events.length - 1)) problems.push(`${event.type} at ${at} of ${events.length}`);
    if (event.type === 'start') ended = new Set();
    if (!('index' in event)) continue;
    if (ended.has(event.index)) problems.push(`${event.type} after the end of block ${event.index}`);
    if (event.type === 'block_end') ended.add(event.index);
  }
  if (events.length === 0) problems.push('no event at all');
  return problems;
}
