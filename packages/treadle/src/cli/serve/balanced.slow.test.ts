// @module-tag slow
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient, type RunOutcome, type Snapshot } from '@treadle/client';
import type { TreadleEvent } from '@treadle/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startBalancer } from '../../test-support/balancer.ts';
import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';

/** The full size: `npm run test:cluster`. */
const CLIENTS = Number(process.env['CLUSTER_CLIENTS'] ?? 15);
const KILLS = Number(process.env['CLUSTER_KILLS'] ?? 2);

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());

type Told = TreadleEvent | Snapshot;

/** The texts that were streamed, by message: those that were voided left out, and begun anew where they were. */
function streamed(events: readonly Told[]): Map<string, string> {
  const texts = new Map<string, string>();
  let open = '';
  for (const event of events) {
    if (event.type === 'message_started') {
      open = event.messageId;
      texts.set(open, '');
    } else if (event.type === 'message_delta' && event.kind === 'text') {
      const before = texts.get(event.messageId) ?? '';
      expect(event.offset).toBe(before.length);
      texts.set(event.messageId, before + event.text);
    } else if (event.type === 'message_discarded') texts.delete(open);
  }
  return texts;
}

/** A run as its client was told of it: each event once and in its order, and of each message exactly its text. */
function check(events: readonly Told[]): void {
  const seqs = events.flatMap((event) => ('seq' in event ? [event.seq] : []));
  expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
  const texts = streamed(events);
  for (const event of events) {
    if (event.type !== 'message_added' || event.message.role !== 'assistant') continue;
    const final = event.message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    // One that was written while its reader was away is told as a whole, or its rest is.
    expect(texts.get(event.message.id) ?? final).toBe(final);
    texts.delete(event.message.id);
  }
  expect([...texts.values()].filter((text) => text !== '')).toEqual([]);
}

async function startServer(where: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const program = join(import.meta.dirname, '../../test-support/balanced-process.ts');
  const child = spawn(process.execPath, ['--conditions=treadle-source', program, where], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, url };
}

const PLACES: Readonly<Record<string, () => Promise<string>>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'treadle-balanced-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  },
  Postgres: () => server.database(),
};

describe.each(Object.entries(PLACES))('two servers behind a balancer, on %s', (name, make) => {
  it(
    'serve all clients though one of them is killed again and again: no gap, no repeat, no broken text',
    { timeout: 60_000 + KILLS * 10_000 },
    async () => {
      const where = await make();
      const balancer = await startBalancer();
      onTestFinished(() => balancer.close());
      const servers = [await startServer(where), await startServer(where)];
      for (const { url } of servers) balancer.add(url);
      const retryDelayMs = (failures: number): number => Math.min(25 * 2 ** failures, 400);
      const client = createClient({ url: balancer.url, token: 'token-of-the-balanced', retryDelayMs });
      let told = 0;
      let killed = 0;

      /** Each amid the work of both, and never the last one. */
      async function kill(): Promise<void> {
        const before = told;
        while (told < before + CLIENTS * (1 + Math.random() * 10))
          await new Promise((next) => void setTimeout(next, 5));
        const dying = servers.shift();
        if (!dying) return;
        const gone = once(dying.child, 'exit');
        dying.child.kill('SIGKILL');
        await gone;
        balancer.remove(dying.url);
        const fresh = await startServer(where);
        balancer.add(fresh.url);
        servers.push(fresh);
        killed += 1;
      }

      async function use(): Promise<number> {
        const session = await client.createSession();
        for (let runs = 1; ; runs += 1) {
          const events: Told[] = [];
          const outcome: RunOutcome = await session.run('Where am I?', {
            tools: { locate: () => 'Oslo' },
            onEvent(event) {
              events.push(event);
              told += 1;
            },
          });
          expect(outcome.status).toBe('completed');
          check(events);
          if (killed === KILLS) return runs;
        }
      }

      const using = Promise.all(Array.from({ length: CLIENTS }, use));
      const killing = (async () => {
        for (let count = 0; count < KILLS; count += 1) await kill();
      })();
      const [runs] = await Promise.all([using, killing]);
      expect(killed).toBe(KILLS);
      console.log(
        `${name}: ${CLIENTS} clients, ${KILLS} kills, ${runs.reduce((sum, each) => sum + each, 0)} runs, ${told} events`,
      );
    },
  );
});
