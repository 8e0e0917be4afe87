// @module-tag slow

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TreadleEvent } from '@treadle/core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient, type RunOutcome, type Snapshot } from './index.ts';

const CLIENTS = 50;
const KILLS = 8;
const SEED = 20261122;
const TOKEN = 'token-of-the-killed';

// In memory where there is such a place: a process that dies takes nothing from it, and no disk has to be waited for.
const place = (): string => {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
};
const folder = mkdtempSync(join(place(), 'treadle-killed-'));
const program = join(folder, 'server-process.js');
let server: ChildProcess | null = null;

// It is started again and again, and to read it as one file takes a fifth of the time that its sources take.
beforeAll(async () => {
  const build = await rolldown({
    input: join(import.meta.dirname, 'test-support/server-process.ts'),
    platform: 'node',
    resolve: { conditionNames: ['treadle-source', 'node', 'import'] },
  });
  await build.write({ dir: folder, format: 'esm', codeSplitting: false });
  await build.close();
});

afterAll(() => {
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function start(port: number): Promise<number> {
  const child = spawn(process.execPath, [program, folder, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  server = child;
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return Number(line);
}

/** Numbers from 0 to 1 that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The texts that were streamed, by message: those that were voided left out, and begun anew where they were. */
function streamed(events: readonly (TreadleEvent | Snapshot)[]): Map<string, string> {
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

it('50 clients finish though their server is killed again and again; none sees a gap, a repeat, or a broken text', async () => {
  const random = seeded(SEED);
  const port = await start(0);
  // Not so often that asking for the next server takes its time from it.
  const retryDelayMs = (failures: number): number => Math.min(25 * 2 ** failures, 400);
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: TOKEN, retryDelayMs });
  const seen = Array.from({ length: CLIENTS }, (): (TreadleEvent | Snapshot)[] => []);
  let told = 0;
  let killed = 0;
  let reborn: Promise<unknown> = Promise.resolve();
  // About so many events come in all; each life is cut off somewhere in its share of them.
  const share = (CLIENTS * 42) / (KILLS + 1);
  let next = share * random();
  const count = (): void => {
    told += 1;
    if (killed === KILLS || told < next || !server) return;
    killed += 1;
    next = told + share * (0.2 + 0.8 * random());
    const dying = server;
    server = null;
    const gone = once(dying, 'exit');
    dying.kill('SIGKILL');
    reborn = gone.then(() => start(port));
  };
  const outcomes = await Promise.all(
    seen.map(async (events): Promise<RunOutcome> => {
      const session = await client.createSession();
      return session.run('Where am I?', {
        tools: { locate: () => 'Oslo' },
        onEvent(event) {
          events.push(event);
          count();
        },
      });
    }),
  );
  await reborn;
  expect(killed).toBe(KILLS);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['completed']));
  for (const events of seen) {
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
  // A few seconds; a machine that is busy takes long to start a process.
}, 120_000);
