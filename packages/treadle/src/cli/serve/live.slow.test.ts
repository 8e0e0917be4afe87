// @module-tag slow

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent, Journal } from '@treadle/core';
import type { LiveBus } from '@treadle/core/ports';
import { serve, type Serving } from '@treadle/server';
import { fileJournal, localBus, sqliteJournal } from '@treadle/store';
import { postgresBus, postgresJournal } from '@treadle/store/postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';
import { startCommand } from '../../test-support/process.ts';
import { talkerAgent } from '../../test-support/talker.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());

const TOKEN = 'a-token-of-my-own';
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

/** The way between two servers of one journal. */
interface Place {
  journal(leaseMs: number): Journal;
  bus(): Promise<LiveBus>;
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  async Postgres() {
    const connection = await server.database();
    return { journal: (leaseMs) => postgresJournal({ connection, leaseMs }), bus: () => postgresBus({ connection }) };
  },
  async SQLite() {
    const folder = newFolder();
    return {
      journal: (leaseMs) => sqliteJournal({ path: join(folder, 'j.db'), leaseMs }),
      bus: () => localBus({ folder: join(folder, 'live') }),
    };
  },
  async files() {
    const folder = newFolder();
    return {
      journal: (leaseMs) => fileJournal({ folder: join(folder, 'j'), leaseMs }),
      bus: () => localBus({ folder: join(folder, 'live') }),
    };
  },
};

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-live-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Cluster {
  /** Where runs are started. */
  readonly here: Serving;
  /** Where they are read. */
  readonly there: Serving;
  cut(isCut: boolean): void;
}

async function cluster(place: Place, agent: Agent, leaseMs = 10_000): Promise<Cluster> {
  let isCut = false;
  const start = async (): Promise<Serving> => {
    const journal = place.journal(leaseMs);
    const bus = await place.bus();
    const send: LiveBus['send'] = async (...sent) => (isCut ? undefined : bus.send(...sent));
    const tokens = [{ name: 'me', token: TOKEN }];
    const serving = await serve({ agents: [agent], journal, tokens, bus: { ...bus, send } });
    onTestFinished(async () => {
      await serving.close(0);
      await bus.close();
      await journal.close();
    });
    return serving;
  };
  return {
    here: await start(),
    there: await start(),
    cut(value) {
      isCut = value;
    },
  };
}

async function startRun(url: string): Promise<string> {
  const post = async (path: string, body: object) =>
    (await (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as object;
  const { sessionId } = (await post('/v1/sessions', {})) as { sessionId: string };
  await post(`/v1/sessions/${sessionId}/runs`, { input: 'Talk.' });
  return sessionId;
}

interface Watched {
  /** What was streamed, and what the message says in the end. */
  readonly streamed: string;
  readonly message: string;
  /** Milliseconds from when a word was said until it was there. */
  readonly hops: readonly number[];
  /** How often a message began. */
  readonly starts: number;
}

/**
 * Reads a session until its run has ended. A delta that doesn't begin where the one before ended is a failure. `seen` is told
 * what has been streamed so far.
 */
async function watch(
  { url }: Serving,
  sessionId: string,
  seen: (streamed: string) => void = () => {},
): Promise<Watched> {
  const response = await fetch(`${url}/v1/sessions/${sessionId}/stream`, {
    headers: { ...headers, accept: 'text/event-stream' },
  });
  let [streamed, message] = ['', ''];
  const hops: number[] = [];
  let starts = 0;
  for await (const event of eventsOf(response)) {
    const now = Date.now();
    if (event['type'] === 'message_started') {
      streamed = '';
      starts += 1;
    }
    if (event['type'] === 'message_delta') {
      const text = String(event['text']);
      expect(event['offset']).toBe(streamed.length);
      streamed += text;
      seen(streamed);
      hops.push(now - Number(text.trim().split(' ').at(-1)));
    }
    if (event['type'] === 'message_added') {
      const { role, content } = event['message'] as { role: string; content: { text: string }[] };
      if (role === 'assistant') message = content[0]?.text ?? '';
    }
    if (event['type'] === 'run_ended') break;
  }
  return { streamed, message, hops, starts };
}

async function* eventsOf(response: Response): AsyncGenerator<Record<string, unknown>> {
  let rest = '';
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice(6)) as Record<string, unknown>;
    }
  }
}

const pause = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;

async function watchRuns(place: Place, runs: number, words: number): Promise<void> {
  // A message that is over before somebody reads it is told whole. So each goes on until its reader has some of it, however
  // slow the machine is.
  const read = new Set<string>();
  const firstOf = (text: string): string => text.split(' ', 1).join();
  const both = await cluster(
    place,
    talkerAgent(words, 25, (said) => read.has(firstOf(said))),
  );
  const all = await Promise.all(
    Array.from({ length: runs }, async (_, index) => {
      const sessionId = await startRun(both.here.url);
      // Every second reader comes late.
      if (index % 2 === 1) await pause((words * 25) / 3);
      return watch(both.there, sessionId, (streamed) => {
        read.add(firstOf(streamed));
      });
    }),
  );
  for (const { streamed, message } of all) {
    expect(message.split(' ').length).toBeGreaterThan(words);
    expect(streamed).toBe(message);
  }
  const hops = all.flatMap((one) => one.hops.slice(1));
  console.log(
    `${runs} runs: ${hops.length} deltas, hop p50 ${percentile(hops, 0.5).toFixed()} ms, p95 ${percentile(hops, 0.95).toFixed()} ms`,
  );
  // With no live text a message would come as one.
  expect(hops.length).toBeGreaterThan(runs * 2);
}

describe.each(Object.entries(PLACES))('two servers of one journal: %s', (name, make) => {
  it('tell each other of their runs, also who comes late: no hole, no repeat', { tags: ['share'] }, async () => {
    await watchRuns(await make(), 3, 20);
  });

  it('do so for 200 runs at the same time', { timeout: 120_000 }, async () => {
    await watchRuns(await make(), 200, name === 'Postgres' ? 120 : 60);
  });

  it.skipIf(name === 'files')('go on after the way between them was cut for 5 s', { timeout: 60_000 }, async () => {
    const both = await cluster(await make(), talkerAgent(320, 25));
    const watching = Array.from({ length: 20 }, async () => watch(both.there, await startRun(both.here.url)));
    await pause(1500);
    both.cut(true);
    await pause(5000);
    both.cut(false);
    for (const { streamed, message } of await Promise.all(watching)) expect(streamed).toBe(message);
  });
});

describe.each(Object.entries(PLACES))('a machine that stood still for longer than a lease: %s', (_, make) => {
  it('goes on with all runs, though nobody else could take them', { timeout: 60_000 }, async () => {
    const leaseMs = 1000;
    const both = await cluster(await make(), talkerAgent(80, 25), leaseMs);
    const watching = Array.from({ length: 10 }, async () => watch(both.there, await startRun(both.here.url)));
    await pause(500);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leaseMs * 1.5);
    for (const { message } of await Promise.all(watching)) expect(message.split(' ')).toHaveLength(81);
  });
});

describe('a run whose process is killed amid its message', () => {
  it('is told from its beginning by whoever takes it over, to the readers of all', { timeout: 60_000 }, async () => {
    const connection = await server.database();
    const place: Place = {
      journal: (leaseMs) => postgresJournal({ connection, leaseMs }),
      bus: () => postgresBus({ connection }),
    };
    const program = new URL('../../test-support/talker-process.ts', import.meta.url).pathname;
    const first = startCommand(process.execPath, ['--conditions=treadle-source', program, connection], {
      cwd: tmpdir(),
    });
    onTestFinished(() => void first.child.kill('SIGKILL'));
    let url = '';
    first.child.stdout.on('data', (text: string) => (url += text));
    await first.printed('\n');
    const others = await cluster(place, talkerAgent(80, 25));
    const sessionId = await startRun(url.trim());
    const watching = [others.here, others.there].map((one) => watch(one, sessionId));
    await pause(1000);
    first.child.kill('SIGKILL');
    await first.ended;
    const body = JSON.stringify({ input: 'Go on.' });
    await fetch(`${others.here.url}/v1/sessions/${sessionId}/steering`, { method: 'POST', headers, body });
    for (const { streamed, message, starts, hops } of await Promise.all(watching)) {
      expect(message.split(' ')).toHaveLength(81);
      expect(streamed).toBe(message);
      // By the one that was killed, and by the one that took over.
      expect(starts).toBeGreaterThanOrEqual(2);
      expect(hops.length).toBeGreaterThan(20);
    }
  });
});
