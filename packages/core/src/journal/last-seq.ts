import type { LogReader } from './history.ts';

/** The number of the last event: found by looking, each time twice as far, then in between. */
export async function lastSeq(log: LogReader): Promise<number> {
  let there = 0;
  let beyond = 1;
  while (await isThere(log, beyond)) {
    there = beyond;
    beyond *= 2;
  }
  while (beyond - there > 1) {
    const middle = there + Math.floor((beyond - there) / 2);
    if (await isThere(log, middle)) there = middle;
    else beyond = middle;
  }
  return there;
}

async function isThere(log: LogReader, seq: number): Promise<boolean> {
  for await (const event of log.read(seq)) return event.seq >= seq;
  return false;
}
