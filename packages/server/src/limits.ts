import { TreadleError } from '@treadle/core';
import { MAX_JSON_DEPTH } from '@treadle/core/json';
import type { RateLimit } from './security/rate.ts';

const DEFAULTS = {
  /** Of a JSON body. Default 1 MiB. */
  bodyBytes: 1024 * 1024,
  /** Objects and arrays inside each other in a body. Default 512, as everywhere; more is not taken. */
  bodyDepth: MAX_JSON_DEPTH,
  /** Of an uploaded file. Default 64 MiB. */
  uploadBytes: 64 * 1024 * 1024,
  /** What may wait for a stream's reader. The rest is read from the log when it was taken. Default 1 MiB. */
  streamBytes: 1024 * 1024,
  /** How long a reader may take to take what waits, before it is cut off. Default 30 s. */
  streamStallMs: 30_000,
  /** Events of the past that a stream tells one by one; whoever is further behind gets a snapshot. Default 10,000. */
  replayEvents: 10_000,
  /** How often an idle stream says that it lives. Default 15 s. */
  heartbeatMs: 15_000,
  /** Streams at a time. Default 10,000. */
  streams: 10_000,
  /** Streams of one token at a time. Default 10,000: a backend may hold one token for all its users. */
  streamsPerToken: 10_000,
  /** Requests of one token. Default 500 a second, 2,000 at once. `requests` of a token has precedence. */
  requests: { perSecond: 500, burst: 2000 } as RateLimit,
  /** How long a browser's `EventSource` waits that can't be served now. Default 2 s. */
  retryMs: 2000,
  /** Requests of one address without a good token. Default 1 a second, 20 at once. */
  failedLogins: { perSecond: 1, burst: 20 } as RateLimit,
  /** Branches of one run. Default 8. */
  branches: 8,
  /** How long a request that starts a run waits for it to begin, to name it. Default 5 s. */
  startMs: 5000,
  /** Of one WebSocket message that comes in. Default 64 KiB. */
  socketMessageBytes: 64 * 1024,
  /** WebSocket messages that come in. Default 20 a second, 100 at once. */
  socketMessages: { perSecond: 20, burst: 100 } as RateLimit,
  /** Sessions whose folded logs are kept for the next question. Default 256. */
  states: 256,
};

/** The bounds of a server. Times are in milliseconds, sizes in bytes. */
export type ServerLimits = Readonly<typeof DEFAULTS>;

/** The limits that a server has by default. */
export const DEFAULT_SERVER_LIMITS: ServerLimits = Object.freeze(DEFAULTS);

/** @throws TreadleError `invalid_definition` for a limit that makes no sense. */
export function checkServerLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const limits: ServerLimits = { ...DEFAULT_SERVER_LIMITS, ...given };
  for (const [name, value] of Object.entries<unknown>({ ...limits })) {
    if (!Object.hasOwn(DEFAULT_SERVER_LIMITS, name)) {
      const known = Object.keys(DEFAULT_SERVER_LIMITS).join(', ');
      throw new TreadleError('invalid_definition', `There is no limit \`${name}\`. The limits are: ${known}.`);
    }
    const numbers: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [value];
    if (numbers.every((number) => typeof number === 'number' && number > 0)) continue;
    throw new TreadleError('invalid_definition', `limits.${name} must be greater than 0.`);
  }
  return { ...limits, bodyDepth: Math.min(limits.bodyDepth, MAX_JSON_DEPTH) };
}
