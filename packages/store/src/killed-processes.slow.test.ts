// @module-tag slow

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { DurableEvent } from '@treadle/core';
import { logOf } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { driveToTheEnd, effectsIn, journalAt, SESSION, type JournalName } from './test-support/killed-run.ts';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));

/** Says where it is, and stays for ever at the moment it is to be killed at. */
const CHILD = `
  import { writeSync } from 'node:fs';
  import { driveToTheEnd } from './src/test-support/killed-run.ts';
  const [folder, kind, last] = process.argv.slice(1);
  const hold = async (moment) => {
    writeSync(1, moment + '\\n');
    if (moment !== last) return;
    setInterval(() => {}, 1000);
    await new Promise(() => {});
  };
  await driveToTheEnd(folder, kind, hold);
`;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Drives the run in a process of its own and kills that at a moment. Returns the events it had been told are written. */
async function killedAt(moment: string, folder: string, kind: JournalName): Promise<string[]> {
  const flags = ['--conditions=treadle-source', '--input-type=module', '-e', CHILD, '--', folder, kind, moment];
  const child = spawn(process.execPath, flags, { cwd: packageFolder, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === moment) child.kill('SIGKILL');
    if (line.startsWith('acknowledged ')) acknowledged.push(line.slice('acknowledged '.length));
  }
  expect((await exited)[1], `it was to be killed: ${moment}`).toBe('SIGKILL');
  return acknowledged;
}

/** What is wanted of the world, and of the log, after a death at a moment. */
interface Wanted {
  /** The lines of the effects, without their keys. */
  readonly effects: readonly string[];
  readonly inDoubt?: string;
  readonly asked?: string;
}

const begun = ['look begins', 'look ends', 'charge begins', 'charge ends', 'deploy begins', 'deploy ends'];
const wanted: readonly [string, Wanted][] = [
  ['before run_started+turn_started+message_added', { effects: begun }],
  ['after look', { effects: ['look begins', 'look ends', ...begun] }],
  ['before charge', { effects: begun.toSpliced(2, 2), inDoubt: 'charge' }],
  ['inside charge', { effects: begun.toSpliced(3, 1), inDoubt: 'charge' }],
  ['after charge', { effects: begun, inDoubt: 'charge' }],
  ['inside deploy', { effects: [...begun.slice(0, 5), 'deploy begins', 'deploy ends'], asked: 'deploy' }],
];

const toolOf = (line: string): string | undefined => line.split(' ')[0];
const toolAndKey = (line: string): string => `${toolOf(line)} ${line.split(' ').at(-1)}`;

const only = <Type extends DurableEvent['type']>(log: readonly DurableEvent[], type: Type) =>
  log.filter((event): event is Extract<DurableEvent, { type: Type }> => event.type === type);

// What the loop does is the same on both; files show that what was acknowledged is there, and the claim to be had.
describe.each([
  ['SQLite', wanted],
  ['files', wanted.filter((_, index) => index % 3 === 0)],
] as const)('a process that is killed, with its session in %s', (kind, cases) => {
  it.each(cases)(
    'S1, S2: %s, leaves what another process brings to its end',
    async (moment, { effects, inDoubt, asked }) => {
      const folder = mkdtempSync(join(tmpdir(), 'treadle-killed-'));
      folders.push(folder);
      const acknowledged = await killedAt(moment, folder, kind);
      expect(acknowledged.length).toBeGreaterThan(0);
      const result = await driveToTheEnd(folder, kind, async () => {});
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      const journal = journalAt[kind](folder);
      const log = await logOf(journal, SESSION);
      await journal.close();
      expect(log.map(({ seq, type }) => `${seq} ${type}`)).toEqual(expect.arrayContaining(acknowledged));
      expect(only(log, 'run_ended').map(({ status }) => status)).toEqual(['completed']);
      const lines = effectsIn(folder);
      expect(lines.map((line) => line.replace(/ \S+$/, ''))).toEqual(effects);
      // A call that is done again is done under its own key.
      expect(new Set(lines.map(toolAndKey)).size).toBe(new Set(lines.map(toolOf)).size);
      const rejected = only(log, 'tool_call_rejected').map(({ toolName, reason }) => [toolName, reason]);
      expect(rejected).toEqual(inDoubt === undefined ? [] : [[inDoubt, 'in_doubt']]);
      expect(only(log, 'tool_ended')).toHaveLength(3 - rejected.length);
      expect(only(log, 'approval_requested').map(({ toolName }) => toolName)).toEqual(
        asked === undefined ? [] : [asked],
      );
    },
  );
});
