import type { Clock } from '@treadle/core';

/** How long a transport waits before it gives a request up. */
export interface HttpTimeouts {
  /** Milliseconds until the response's headers, connecting included. Default 120,000. */
  readonly firstByteTimeoutMs?: number;
  /** Milliseconds without a byte of the body, counted only while somebody waits for one. Default 120,000. */
  readonly idleTimeoutMs?: number;
  readonly clock?: Clock;
}

/** {@link HttpTimeouts} of a transport that makes its own connections. */
export interface ConnectionTimeouts extends HttpTimeouts {
  /** Milliseconds until a new connection is made, TLS included. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds that an unused connection is kept for the next request. Default 30,000: longer than most tool calls take,
   * and shorter than the 60 s after which load balancers and NAT gateways begin to forget a connection. A server that
   * announces less (`keep-alive: timeout=5`) gets less.
   */
  readonly keepAliveTimeoutMs?: number;
}

export const DEFAULT_FIRST_BYTE_TIMEOUT_MS = 120_000;
export const DEFAULT_IDLE_TIMEOUT_MS = 120_000;
export const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
export const DEFAULT_KEEP_ALIVE_TIMEOUT_MS = 30_000;

/** A transport's own failure. `code` follows Node's error codes. */
export function transportError(code: string, message: string, cause?: unknown): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code });
}
