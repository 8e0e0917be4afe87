import { type Clock, type Http, type Model, systemClock, TreadleError } from '@treadle/core';
import { type HttpResponse, bytesOfBody } from '@treadle/core/ports';
import { chanceOf } from '../chance.ts';
import { pauseFor } from '../pause.ts';
import { bodyDifference } from './difference.ts';
import { packBody, readCassette, unpackBody } from './format.ts';
import type { Cassette, RecordedBody, RecordedExchange } from './format.ts';
import type { RequestFacts } from './record.ts';
import { createCleaner, type Redaction } from './secrets.ts';

/** How replayed bytes are cut: as recorded, in one piece, so many bytes each, or at random, the same for the same seed. */
export type ReplayChunking = 'recorded' | 'whole' | number | { readonly seed: number };

/** Options of {@link replayedModel} and {@link replayingHttp}. */
export interface ReplayOptions {
  /** Default `recorded`. */
  readonly chunking?: ReplayChunking;
  /**
   * `order` (the default) gives the responses in their order; a request must have the recorded method and path. `request`
   * looks for the exchange with the same method, path, query and body, and gives each out once. Neither asks for the same host.
   */
  readonly match?: 'order' | 'request';
  /** What was secret in the recording: needed to match requests that carry such values in their bodies. */
  readonly redact?: Redaction;
  /** True takes as long as the recording did, where it has timings. Default: no time at all. */
  readonly timings?: boolean;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

const mismatch = (message: string): TreadleError => new TreadleError('invalid_definition', message);

/** A request in the form in which two are compared. */
interface Comparable {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: string;
}

/** Secrets of different lengths leave different numbers of asterisks. */
const collapsed = (text: string): string => text.replace(/\*{6,}/g, '******');

const comparable = (method: string, url: string, body: RecordedBody | undefined): Comparable => {
  const { pathname, searchParams } = new URL(url);
  searchParams.sort();
  const text = body === undefined ? '' : typeof body === 'string' ? body : body.base64;
  return {
    method: method.toUpperCase(),
    path: pathname,
    query: collapsed(searchParams.toString()),
    body: collapsed(text),
  };
};

const place = (request: Comparable): string => `${request.method} ${request.path}`;

const difference = (recorded: Comparable, now: Comparable): string | undefined => {
  if (place(recorded) !== place(now)) return `address: recorded ${place(recorded)}, now ${place(now)}`;
  if (recorded.query !== now.query) return `query: recorded '${recorded.query}', now '${now.query}'`;
  return bodyDifference(recorded.body, now.body);
};

/** Gives out exchanges, each once. */
type Choose = (request: Comparable) => RecordedExchange;

interface Tape {
  readonly exchange: RecordedExchange;
  readonly request: Comparable;
}

const inOrder = (tapes: readonly Tape[]): Choose => {
  let next = 0;
  return (request) => {
    const index = next++;
    const tape = tapes[index];
    if (tape === undefined)
      throw mismatch(
        `The cassette has ${tapes.length} exchanges, and this is request ${index + 1}: ${place(request)}.`,
      );
    if (place(tape.request) !== place(request))
      throw mismatch(
        `Request ${index + 1} is not the recorded one: recorded ${place(tape.request)}, now ${place(request)}.`,
      );
    return tape.exchange;
  };
};

const byRequest = (tapes: readonly Tape[]): Choose => {
  const used = new Set<Tape>();
  return (request) => {
    const fitting = tapes.filter((tape) => difference(tape.request, request) === undefined);
    const tape = fitting.find((candidate) => !used.has(candidate));
    if (tape !== undefined) {
      used.add(tape);
      return tape.exchange;
    }
    if (fitting.length > 0)
      throw mismatch(`${place(request)} was recorded ${fitting.length} time(s) like this and is asked for once more.`);
    const candidates = tapes.filter((candidate) => !used.has(candidate));
    const nearest = candidates.find((candidate) => place(candidate.request) === place(request)) ?? candidates[0];
    if (nearest === undefined) throw mismatch(`${place(request)} was not recorded, and every exchange is used up.`);
    const number = tapes.indexOf(nearest) + 1;
    throw mismatch(
      `${place(request)} was not recorded like this. The nearest, exchange ${number} of ${tapes.length}, differs in ` +
        `${difference(nearest.request, request) ?? 'nothing'}.`,
    );
  };
};

/** Sizes of pieces from 1 to 64 bytes. */
const randomSizes = (seed: number): (() => number) => {
  const chance = chanceOf(seed);
  return () => 1 + Math.floor(chance() * 64);
};

const sizesOf = (chunking: ReplayChunking, recorded: readonly number[]): (() => number) => {
  if (chunking === 'whole') return () => Number.POSITIVE_INFINITY;
  if (typeof chunking === 'object') return randomSizes(chunking.seed);
  if (typeof chunking === 'number') {
    if (!(Number.isInteger(chunking) && chunking > 0))
      throw mismatch(`A chunk of ${chunking} bytes can't be: give a whole number from 1 on.`);
    return () => chunking;
  }
  let at = 0;
  return () => recorded[at++] ?? Number.POSITIVE_INFINITY;
};

const cut = (bytes: Uint8Array, size: () => number): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(bytes.length, from + size());
    // A copy, so that nothing can read past the piece.
    pieces.push(bytes.slice(from, to));
    from = to;
  }
  return pieces;
};

const aborted = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new Error('The request was aborted.', { cause: signal.reason });

/** `ms` milliseconds, or until the signal ends them. */
async function pass(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  if (ms > 0) await pauseFor(ms, clock, signal);
  if (signal?.aborted === true) throw aborted(signal);
}

/** The failure of a recording, as good as new. */
const failure = (exchange: RecordedExchange): Error => {
  const { message = 'The recorded request failed.', code, name } = exchange.error ?? {};
  const error = Object.assign(new Error(message), code === undefined ? {} : { code });
  if (name !== undefined) error.name = name;
  return error;
};

const ending = (exchange: RecordedExchange): Error | undefined => {
  if (exchange.end === 'failed') return failure(exchange);
  return exchange.end === 'left'
    ? mismatch('The recording ends here: whoever read the response then, left.')
    : undefined;
};

async function* replayedBody(
  pieces: readonly Uint8Array[],
  end: Error | undefined,
  wait: (piece: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for (const [index, piece] of pieces.entries()) {
    await wait(index);
    yield piece;
  }
  await wait(pieces.length);
  if (end !== undefined) throw end;
}

/** Answers a request out of a cassette. */
export type Player = (request: RequestFacts, signal: AbortSignal | undefined) => Promise<HttpResponse>;

/** @throws TreadleError `invalid_definition` when the cassette can't be read or the chunking makes no sense. */
export function createPlayer(cassette: string | Cassette, options: ReplayOptions): Player {
  const { chunking = 'recorded', match = 'order', timings = false, clock = systemClock } = options;
  const exchanges = typeof cassette === 'string' ? readCassette(cassette) : cassette;
  const cleaner = createCleaner(options.redact);
  // Says at once when the chunking makes no sense.
  sizesOf(chunking, []);
  const tapes = exchanges.map((exchange) => {
    const { method, url, body } = exchange.request;
    return { exchange, request: comparable(method, url, body) };
  });
  const choose = match === 'order' ? inOrder(tapes) : byRequest(tapes);

  return async (request, signal) => {
    if (signal?.aborted === true) throw aborted(signal);
    cleaner.headers(request.headers);
    const url = cleaner.url(request.url);
    const sent = request.body === undefined ? undefined : bytesOfBody(request.body);
    const body = sent === undefined ? undefined : packBody(cleaner.bytes(sent));
    const exchange = choose(comparable(request.method, url, body));
    const { response } = exchange;
    if (response === undefined) throw failure(exchange);
    const delays = timings ? (response.delaysMs ?? []) : [];
    await pass(delays[0] ?? 0, clock, signal);
    const pieces = cut(unpackBody(response.body), sizesOf(chunking, response.chunks));
    // Delays are those of the recorded pieces; others have none of their own.
    const wait = (piece: number): Promise<void> =>
      pass(chunking === 'recorded' ? (delays[piece + 1] ?? 0) : 0, clock, signal);
    return { status: response.status, headers: response.headers, body: replayedBody(pieces, ending(exchange), wait) };
  };
}

/**
 * An `Http` without a network that answers out of a recording, byte for byte. A request that the recording doesn't have is
 * refused with an error that says what is different.
 *
 * @param cassette The path of a file, or its exchanges.
 * @throws TreadleError `invalid_definition` when the cassette can't be read.
 * @example
 * ```ts
 * import { parseCassette, replayingHttp } from '@treadle/testing';
 *
 * const line =
 *   '{"cassette":1,"index":0,"request":{"method":"GET","url":"https://example.com/v1/models","headers":{}},' +
 *   '"response":{"status":200,"headers":{},"body":"[]","chunks":[2]},"end":"done"}';
 * const http = replayingHttp(parseCassette(line));
 * const response = await http({ method: 'GET', url: 'http://localhost/v1/models', headers: {} });
 * console.log(response.status); // 200
 * ```
 */
export function replayingHttp(cassette: string | Cassette, options: ReplayOptions = {}): Http {
  const play = createPlayer(cassette, options);
  return (request) => play(request, request.signal);
}

/**
 * A model whose provider is a recording.
 *
 * @param make Makes the model, with any key: none is sent anywhere.
 */
export function replayedModel(
  cassette: string | Cassette,
  make: (http: Http) => Model,
  options: ReplayOptions = {},
): Model {
  return make(replayingHttp(cassette, options));
}
