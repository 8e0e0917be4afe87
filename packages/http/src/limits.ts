import { systemClock, type Clock } from '@treadle/core';

/** How much and how long an exchange may be. Times are milliseconds, sizes bytes. */
export interface HttpLimits {
  /** From the request, over all redirects, to the last byte of the body. Default 30 s. */
  readonly totalTimeoutMs?: number;
  /** From a request to the whole head of its response, and then without a byte of the body. Default 10 s. */
  readonly idleTimeoutMs?: number;
  /** Of a response's head. Default 32 KB. */
  readonly maxHeaderBytes?: number;
  /** Of a body, as it comes and after it was unpacked. Default 10 MB. */
  readonly maxBodyBytes?: number;
  /** For the time limits; the system's clock when absent. */
  readonly clock?: Clock;
}

/** All limits, with what holds where nothing was said. */
export const limitsOf = (given: HttpLimits): Required<HttpLimits> => ({
  totalTimeoutMs: given.totalTimeoutMs ?? 30_000,
  idleTimeoutMs: given.idleTimeoutMs ?? 10_000,
  maxHeaderBytes: given.maxHeaderBytes ?? 32 * 1024,
  maxBodyBytes: given.maxBodyBytes ?? 10 * 1024 * 1024,
  clock: given.clock ?? systemClock,
});
