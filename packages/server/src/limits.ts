import { TreadleError } from '@treadle/core';
import { MAX_JSON_DEPTH } from '@treadle/core/json';
import type { RateLimit } from './security/rate.ts';

/** The bounds of a server. Times are in milliseconds, sizes in bytes. */
export interface ServerLimits {
  /** Of a JSON body. Default 1 MiB. */
  readonly bodyBytes: number;
  /** Objects and arrays inside each other in a body. Default 512, as everywhere; more is not taken. */
  readonly bodyDepth: number;
  /** Of an uploaded file. Default 64 MiB. */
  readonly uploadBytes: number;
  /** What may wait for a stream's reader before it is cut off. Default 1 MiB. */
  readonly streamBytes: number;
  /** How long a reader may take nothing while it is told what is past. Default 30 s. */
  readonly streamStallMs: number;
  /** Events of the past that a stream tells one by one; whoever is further behind gets a snapshot. Default 10,000. */
  readonly replayEvents: number;
  /** How often an idle stream says that it lives. Default 15 s. */
  readonly heartbeatMs: number;
  /** Streams at a time, and streams of one token. Default 10,000 and 1,000. */
  readonly streams: number;
  readonly streamsPerToken: number;
  /** Requests of one token. Default 50 a second, 200 at once. */
  readonly requests: RateLimit;
  /** Requests of one address without a good token. Default 1 a second, 20 at once. */
  readonly failedLogins: RateLimit;
  /** How long a request that starts a run waits for it to begin, to name it. Default 5 s. */
  readonly startMs: number;
  /** Of one WebSocket message that comes in, and how many may come. Defaults 64 KiB; 20 a second, 100 at once. */
  readonly socketMessageBytes: number;
  readonly socketMessages: RateLimit;
  /** Sessions whose folded logs are kept for the next question. Default 256. */
  readonly states: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = Object.freeze({
  bodyBytes: 1024 * 1024,
  bodyDepth: MAX_JSON_DEPTH,
  uploadBytes: 64 * 1024 * 1024,
  streamBytes: 1024 * 1024,
  streamStallMs: 30_000,
  replayEvents: 10_000,
  heartbeatMs: 15_000,
  streams: 10_000,
  streamsPerToken: 1000,
  requests: { perSecond: 50, burst: 200 },
  failedLogins: { perSecond: 1, burst: 20 },
  startMs: 5000,
  socketMessageBytes: 64 * 1024,
  socketMessages: { perSecond: 20, burst: 100 },
  states: 256,
});

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
