// What a process has used so far, as Linux tells it.

import { readdirSync, readFileSync } from 'node:fs';

import type { ExpectStatic } from 'vitest';

/** Milliseconds that its threads have been on a processor. */
export function cpuMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** Megabytes of memory that it holds. */
export const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Prints a figure beside its bound, and fails above three times the bound: machines differ. */
export function figure(what: string, is: number, bound: number, unit: string, expect: ExpectStatic): void {
  console.log(`${what.padEnd(44)} ${is.toFixed(2).padStart(9)} ${unit}, bound ${bound.toFixed(2)} ${unit}`);
  expect.soft(is, what).toBeLessThanOrEqual(3 * bound);
}
