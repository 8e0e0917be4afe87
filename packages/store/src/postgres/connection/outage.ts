import type { Clock } from '@treadle/core';
import { codeOf } from '../../errors.ts';

/**
 * What the client says when the connection broke or could not be made, and what the server says when it ends one, goes down
 * or comes up. Whether the statement was carried out is unknown then.
 */
const CODES: ReadonlySet<unknown> = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  // The administrator ended it, the server is crashing, or not yet ready.
  '57P01',
  '57P02',
  '57P03',
  // Nobody has answered.
  'journal_timeout',
]);

/** Whether the connection is gone. */
export const isOutage = (thrown: unknown): boolean => CODES.has(codeOf(thrown));

export interface Outages {
  readonly clock: Clock;
  /** Milliseconds to keep trying after the first failure. */
  readonly outageMs: number;
  readonly isClosed: () => boolean;
}

const SHORTEST_WAIT = 50;
const LONGEST_WAIT = 1000;

/**
 * Runs `work`, and runs it again while the connection breaks. Only for work that finds out by itself whether it was done
 * already: `isAgain` says that it may have been.
 */
export async function throughOutages<Value>(
  { clock, outageMs, isClosed }: Outages,
  work: (isAgain: boolean) => Promise<Value>,
): Promise<Value> {
  let deadline: number | undefined;
  let wait = SHORTEST_WAIT;
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await work(isAgain);
    } catch (thrown) {
      deadline ??= clock.now() + outageMs;
      if (!isOutage(thrown) || isClosed() || clock.now() >= deadline) throw thrown;
    }
    const pause = wait;
    await new Promise<void>((resolve) => void clock.after(pause, resolve));
    wait = Math.min(LONGEST_WAIT, wait * 2);
  }
}
