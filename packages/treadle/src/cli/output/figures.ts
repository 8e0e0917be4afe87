import type { Usage } from '@treadle/core';
import { totalTokens } from '@treadle/core/model';

/** `1,234`. */
export const grouped = (count: number): string => count.toLocaleString('en-US');

/** `1 turn`, `2 turns`. */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `300 bytes`, `1.2 KB`, `100.0 MB`. */
export function bytes(count: number): string {
  if (count < 1000) return counted(count, 'byte');
  return count < 999_950 ? `${(count / 1000).toFixed(1)} KB` : `${(count / 1_000_000).toFixed(1)} MB`;
}

/** `12 ms`, `3.4 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Tokens of a run. What no provider reported is unknown, not 0. */
export function tokens(usage: Usage): string {
  const { input, output, cacheRead, cacheWrite } = usage;
  if (input === null && output === null) return 'tokens unknown';
  const read = (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
  return `${counted(totalTokens(usage), 'token')} (${grouped(read)} in, ${grouped(output ?? 0)} out)`;
}

/** US dollars. */
export function cost(dollars: number | null): string {
  if (dollars === null) return 'cost unknown';
  if (dollars === 0) return '$0';
  if (dollars < LEAST) return 'under $0.0001';
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

const LEAST = 0.0001;

/** US dollars, where not all of the price is known. */
export const costAtLeast = (dollars: number): string =>
  dollars < LEAST ? 'cost unknown' : `at least ${cost(dollars)}`;
