// Appends to one journal and to the bare store under it, in turns. Prints the milliseconds of each round.

import type { Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { journalAt, openStore, type Log, type StoreName } from './stores.ts';

const ROUNDS = 9;
const [name = '', size = '1', quick = ''] = process.argv.slice(2);
const batchSize = Number(size);
const appends = quick === 'quick' ? 30 : 200;

/** The end of a tool's call: all journals sync it before it is acknowledged. */
const event = (n: number): DurableEventBody => ({
  type: 'tool_ended',
  at: 1_760_000_000_000 + n,
  runId: 'session_1.demo.1',
  turnIndex: n,
  callId: `call_${n}`,
  toolName: 'read_file',
  content: [{ type: 'text', text: `line ${n}: ${'all is well; '.repeat(20)}` }],
  isError: false,
  durationMs: 12,
});

async function logOf(journal: Journal): Promise<Log> {
  await journal.create('session_1', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 'session_1' });
  const claim = await journal.claim('session_1', { id: 'bench', label: 'the benchmark' });
  let { seq } = claim;
  return {
    async append(events) {
      const outcome = await journal.append('session_1', claim.epoch, seq, events);
      if (!outcome.ok) throw new Error('Somebody else has written to the log.');
      seq += events.length;
    },
  };
}

/** Milliseconds of one append. */
async function msOf(log: Log, n: number): Promise<number> {
  const events = Array.from({ length: batchSize }, (_, index) => event(n * batchSize + index));
  const begin = performance.now();
  await log.append(events);
  return performance.now() - begin;
}

const store = await openStore(name as StoreName);
const journal = journalAt(store.place);
const logs = { bare: await store.bare(), treadle: await logOf(journal), again: await store.bare() };
const orders = [
  ['bare', 'treadle', 'again'],
  ['treadle', 'again', 'bare'],
  ['again', 'bare', 'treadle'],
] as const;
const rounds: { bare: number; treadle: number; again: number }[] = [];
// The first round warms up. They take turns with each append, so that what else the disk does meets all of them.
for (let round = 0; round <= ROUNDS; round += 1) {
  const ms = { bare: 0, treadle: 0, again: 0 };
  for (let n = 0; n < appends; n += 1) {
    for (const which of orders[n % 3] ?? []) ms[which] += await msOf(logs[which], n);
  }
  if (round > 0) rounds.push(ms);
}
await journal.close();
await store.close();
process.stdout.write(JSON.stringify({ appends, rounds }), () => process.exit(0));
