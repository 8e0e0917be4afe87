// The table on serving: a server and a client, each in a process of its own, told by this one what to do.

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, short, table } from '../table.ts';
import type { Command, Ready, Received, ServerJob, ServerName, Usage } from './job.ts';

/** Where the programs are. */
interface Programs {
  readonly server: string;
  readonly client: string;
}

interface Size {
  readonly streams: number;
  readonly idle: readonly number[];
  readonly deltas: number;
  readonly rounds: number;
}

const FULL: Size = { streams: 1000, idle: [5000, 10_000], deltas: 60, rounds: 3 };
const QUICK: Size = { streams: 200, idle: [500], deltas: 20, rounds: 1 };

const CPU_LIMIT = 1.5;
const IDLE_LIMIT_KB = 64;
/** What is under way when everybody waits for the next step is soon over. */
const SETTLE_MS = 500;
const TIMEOUT_MS = 120_000;

interface Process {
  ask<Value>(command: Command): Promise<Value>;
  /** The next thing it says by itself. */
  said<Value>(): Promise<Value>;
  stop(): Promise<void>;
}

function start(program: string, args: readonly string[], flags: readonly string[] = []): Process {
  const { PATH = '', HOME = '' } = process.env;
  const child: ChildProcess = fork(program, [...args], {
    execArgv: [...flags],
    env: { PATH, HOME },
  });
  const said = async <Value>(): Promise<Value> => {
    const heard = new AbortController();
    const signal = AbortSignal.any([heard.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const died = once(child, 'exit', { signal }).then(() => {
      throw new Error(`${program} has ended too soon.`);
    });
    died.catch(() => {});
    try {
      const [message] = (await Promise.race([once(child, 'message', { signal }), died])) as [{ readonly value: Value }];
      return message.value;
    } finally {
      heard.abort();
    }
  };
  return {
    said,
    ask(command) {
      child.send(command);
      return said();
    },
    async stop() {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

/** Runs some work with a server, and with a client of it where one is wanted. */
async function withServer<Value>(
  programs: Programs,
  job: ServerJob,
  work: (server: Process, client: Process, ready: Ready) => Promise<Value>,
): Promise<Value> {
  const server = start(programs.server, [JSON.stringify(job)], ['--expose-gc']);
  const client = start(programs.client, []);
  try {
    return await work(server, client, await server.said<Ready>());
  } finally {
    await Promise.all([server.stop(), client.stop()]);
  }
}

interface Streamed {
  /** CPU microseconds of the server's process per event and stream. */
  readonly cpuUs: number;
  readonly received: Received;
}

/** One run that nobody looks at, and then one that is measured, on the same connections. */
function streamed(programs: Programs, job: ServerJob, events: number | null): Promise<Streamed> {
  return withServer(programs, job, async (server, client, ready) => {
    await client.ask({ type: 'open', count: job.streams, ready });
    let received: Received = { events: 0, bytes: 0, text: '' };
    let cpuMs = 0;
    for (const _ of ['warm-up', 'measured']) {
      await server.ask({ type: 'begin' });
      await sleep(SETTLE_MS);
      await client.ask({ type: 'mark' });
      const before = await server.ask<Usage>({ type: 'usage' });
      const finished = client.ask<Received>({ type: 'finish', events });
      await server.ask({ type: 'go' });
      received = await finished;
      cpuMs = (await server.ask<Usage>({ type: 'usage' })).cpuMs - before.cpuMs;
    }
    return { cpuUs: (cpuMs * 1000) / received.events, received };
  });
}

/** CPU milliseconds of runs that nobody watches. */
function unwatched(programs: Programs, job: ServerJob): Promise<number> {
  return withServer(programs, job, async (server) => {
    let cpuMs = 0;
    for (const _ of ['warm-up', 'measured']) {
      await server.ask({ type: 'begin' });
      await sleep(SETTLE_MS);
      const before = await server.ask<Usage>({ type: 'usage' });
      await server.ask({ type: 'go' });
      await server.ask({ type: 'ended' });
      cpuMs = (await server.ask<Usage>({ type: 'usage' })).cpuMs - before.cpuMs;
    }
    return cpuMs;
  });
}

interface Idle {
  readonly rssKB: number;
  readonly heapKB: number;
  /** How long one more takes to be answered. */
  readonly openMs: number;
}

/** What a server grows by for each stream that says nothing. */
function idle(programs: Programs, job: ServerJob): Promise<Idle> {
  return withServer(programs, job, async (server, client, ready) => {
    // Code is compiled and pools are filled by the first ones.
    await client.ask({ type: 'open', count: Math.ceil(job.streams / 10), ready });
    await client.ask({ type: 'close' });
    await sleep(SETTLE_MS);
    const before = await server.ask<Usage>({ type: 'usage' });
    await client.ask({ type: 'open', count: job.streams, ready });
    await sleep(SETTLE_MS);
    const after = await server.ask<Usage>({ type: 'usage' });
    const openMs = await client.ask<number>({ type: 'openMs', count: 100, ready });
    return {
      openMs,
      rssKB: (after.rssKB - before.rssKB) / job.streams,
      heapKB: (after.heapKB - before.heapKB) / job.streams,
    };
  });
}

/** What Treadle said, as texts of a tick each: what a bare server is to write. The last tick has all that ends a run. */
function framesOf({ text }: Received, deltas: number): readonly string[] {
  const events = text
    .split('\n\n')
    .slice(0, -1)
    .map((event) => `${event}\n\n`);
  const end = events.findLastIndex((event) => event.includes('"type":"message_delta"')) + 1;
  if (end < deltas || end === events.length) throw new Error(`A run of ${deltas} deltas was told as ${text}`);
  return [...events.slice(0, end), events.slice(end).join('')];
}

const HEAD = ['what', 'Hono', 'Hono, its helper', 'Treadle', '× Hono', 'range', '× helper', 'Hono × Hono', 'limit'];

/** What the servers of one shape came to, in the order of the rounds. */
interface Rounds {
  readonly treadle: number[];
  readonly hono: number[];
  readonly helper: number[];
  readonly again: number[];
  /** What the runs cost that are streamed, when nobody watches them. */
  readonly alone: number[];
}

/** @param programs where the built programs are */
export async function serveTables(programs: Programs, quick: boolean, rounds?: number): Promise<string> {
  const size = quick ? QUICK : FULL;
  const streams = await streamedTable(programs, size, rounds ?? size.rounds);
  return `${streams}\n\n${await idleTable(programs, size)}`;
}

async function streamedTable(programs: Programs, size: Size, rounds: number): Promise<string> {
  const [watched, own] = [
    await roundsOf(programs, 'watched', size, rounds),
    await roundsOf(programs, 'own', size, rounds),
  ];
  const withoutRuns = own.treadle.map((value, round) => value - (own.alone[round] ?? Number.NaN));
  const what = `CPU per event and stream, ${size.streams.toLocaleString('en')} streams`;
  return table(HEAD, [
    rowOf(`${what} of one run`, watched),
    rowOf(`${what}, each of a run of its own`, own, withoutRuns),
    rowOf('the same, with what the runs cost', own),
  ]);
}

async function roundsOf(programs: Programs, shape: 'watched' | 'own', size: Size, rounds: number): Promise<Rounds> {
  const { streams, deltas } = size;
  const values: Rounds = { treadle: [], hono: [], helper: [], again: [], alone: [] };
  for (let round = 0; round < rounds; round += 1) {
    process.stderr.write(`serve (${shape}, round ${round + 1})\n`);
    const job = (server: ServerName, frames: readonly string[] = []): ServerJob => ({
      server,
      shape,
      streams,
      deltas,
      frames,
    });
    const ours = await streamed(programs, job('treadle'), null);
    const { received } = ours;
    const frames = framesOf(received, deltas);
    const bare = async (server: ServerName): Promise<number> => {
      const theirs = await streamed(programs, job(server, frames), received.events / streams);
      // Chunks say how long they are, and Treadle's are others.
      const off = Math.abs(theirs.received.bytes / received.bytes - 1);
      if (off > 0.02) throw new Error(`${server} wrote ${theirs.received.bytes} bytes, Treadle ${received.bytes}.`);
      return theirs.cpuUs;
    };
    values.treadle.push(ours.cpuUs);
    values.hono.push(await bare('hono'));
    values.helper.push(await bare('hono-helper'));
    values.again.push(await bare('hono'));
    if (shape === 'own')
      values.alone.push(((await unwatched(programs, job('treadle-unwatched'))) * 1000) / received.events);
  }
  return values;
}

const us = (values: readonly number[]): string => `${short(median(values))} µs`;

function rowOf(what: string, { treadle, hono, helper, again }: Rounds, values: readonly number[] = treadle): string[] {
  const over = (some: readonly number[], floor: readonly number[]): number[] =>
    some.map((value, round) => value / (floor[round] ?? Number.NaN));
  const ratios = over(values, hono);
  return [
    what,
    us(hono),
    us(helper),
    us(values),
    short(median(ratios)),
    `${short(Math.min(...ratios))} – ${short(Math.max(...ratios))}`,
    short(median(over(values, helper))),
    short(median(over(again, hono))),
    values === treadle && what.startsWith('the same') ? '' : `≤ ${CPU_LIMIT}`,
  ];
}

async function idleTable(programs: Programs, { idle: counts }: Size): Promise<string> {
  const rows: string[][] = [];
  for (const streams of counts) {
    const of = (server: ServerName): Promise<Idle> => {
      process.stderr.write(`serve (${streams} idle, ${server})\n`);
      return idle(programs, { server, shape: 'idle', streams, deltas: 1, frames: [] });
    };
    const all = [await of('hono'), await of('hono-helper'), await of('treadle')];
    const row = (what: string, name: keyof Idle, unit: string, limit = ''): string[] => [
      streams.toLocaleString('en'),
      what,
      ...all.map((figures) => `${short(figures[name])} ${unit}`),
      limit,
    ];
    rows.push(
      row('memory of the process, per stream', 'rssKB', 'KB', `≤ ${IDLE_LIMIT_KB} KB`),
      row('JavaScript’s heap and buffers in it', 'heapKB', 'KB'),
      row('until one more is answered', 'openMs', 'ms'),
    );
  }
  return table(['idle streams', 'what', 'Hono', 'Hono, its helper', 'Treadle', 'limit'], rows);
}
