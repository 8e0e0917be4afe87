// The tables on journals: what an append costs beside the bare store's own, and what opening a long session takes.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { median, short, table } from '../table.ts';
import { STORES } from './stores.ts';

interface Rounds {
  readonly appends: number;
  readonly rounds: readonly { readonly bare: number; readonly treadle: number; readonly again: number }[];
}

const NAMES = { files: 'files', sqlite: 'SQLite', postgres: 'Postgres' } as const;
const LIMIT = 1.3;
const TIMEOUT_MS = 1_800_000;

async function run<Figures>(program: string, args: readonly string[]): Promise<Figures> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], { timeout: TIMEOUT_MS });
  return JSON.parse(stdout) as Figures;
}

/** @param program where the built `append.js` is */
export async function appendTable(program: string, quick: boolean): Promise<string> {
  const rows: string[][] = [];
  for (const store of STORES) {
    for (const size of [1, 10]) {
      process.stderr.write(`append (${store}, ${size})\n`);
      const { appends, rounds } = await run<Rounds>(program, [store, String(size), quick ? 'quick' : '']);
      const ratios = rounds.map(({ bare, treadle }) => treadle / bare);
      rows.push([
        NAMES[store],
        String(size),
        `${short(median(rounds.map(({ bare }) => bare)) / appends)} ms`,
        `${short(median(rounds.map(({ treadle }) => treadle)) / appends)} ms`,
        short(median(ratios)),
        `${short(Math.min(...ratios))} – ${short(Math.max(...ratios))}`,
        short(median(rounds.map(({ bare, again }) => again / bare))),
        `≤ ${LIMIT}`,
      ]);
    }
  }
  return table(['journal', 'events', 'bare store', 'Treadle', '× bare', 'range', 'bare × bare', 'limit'], rows);
}

/** @param program where the built `open.js` is */
export async function openTable(program: string, quick: boolean): Promise<string> {
  const rows: string[][] = [];
  for (const count of quick ? [2000, 20_000] : [10_000, 1_000_000]) {
    for (const store of STORES) {
      process.stderr.write(`open (${store}, ${count})\n`);
      const figures = await run<Record<string, number>>(program, [store, String(count)]);
      const ms = (name: string): string => `${short(figures[name] ?? Number.NaN)} ms`;
      rows.push([
        NAMES[store],
        count.toLocaleString('en'),
        ms('wholeMs'),
        ms('openMs'),
        String(figures['rows']),
        ms('forkMs'),
        String(figures['forkRows']),
        `${short(figures['peakMB'] ?? Number.NaN)} MB`,
      ]);
    }
  }
  const head = [
    'journal',
    'events',
    'from the start',
    'opened',
    'events read',
    'forked, opened',
    'events read',
    'memory',
  ];
  return table(head, rows);
}
