// @module-tag slow

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDurable, type DurableEvent, type TreadleEvent } from '@treadle/core';
import { fakeProvider, logOf, type ProviderTurn } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { TestStore } from './test-support/stores.ts';
import { fastFolder, useStores } from './test-support/use-stores.ts';

// The command line keeps its sessions in SQLite. What it does when it is told to end is the same in any journal.
const program = fileURLToPath(new URL('../../treadle/src/test-support/command-line-process.ts', import.meta.url));

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Starts the command line on a store, with a model that says these turns. */
async function startOn(store: TestStore, turns: readonly ProviderTurn[], args: readonly string[], shell?: string) {
  const provider = await fakeProvider(turns);
  const home = mkdtempSync(join(fastFolder, 'treadle-signals-'));
  closing.push(
    () => rmSync(home, { recursive: true, force: true }),
    () => provider.close(),
  );
  const { kind, place, schema } = store.at;
  const journal = kind === 'files' ? { folder: join(place, 'journal') } : { connection: place, schema };
  const argv = ['--conditions=treadle-source', program, ...args, '--model', 'anthropic/x', '--output-format', 'events'];
  const command = shell === undefined ? process.execPath : 'bash';
  const child = spawn(command, shell === undefined ? argv : ['-c', shell, process.execPath, ...argv], {
    cwd: home,
    env: {
      ...process.env,
      HOME: home,
      ANTHROPIC_BASE_URL: provider.url,
      ANTHROPIC_API_KEY: 'key',
      TREADLE_TEST_JOURNAL: JSON.stringify(journal),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  const heard = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (said.stdout.includes(text)) resolve();
      };
      child.stdout.on('data', look);
      child.once('close', () => reject(new Error(`It ended without saying ${text}: ${said.stderr}`)));
      look();
    });
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }));
  return { child, heard, ended, home };
}

/** The log of the only session there is, which another process can have at once. */
async function onlyLog(store: TestStore): Promise<DurableEvent[]> {
  const journal = await store.open();
  const { sessions } = await journal.list();
  expect(sessions).toHaveLength(1);
  const id = sessions[0]?.sessionId ?? '';
  const log = await logOf(journal, id);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  const claim = await journal.claim(id, { id: 'next', label: 'next' });
  expect(claim.seq).toBe(log.length);
  return log;
}

const durable = (stdout: string): DurableEvent[] =>
  stdout
    .slice(0, stdout.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as TreadleEvent]))
    .filter(isDurable);

describe.each(['files', 'Postgres'] as const)('a command line that is told to end, with its session in %s', (kind) => {
  const newStore = useStores(kind);

  it('S15: by SIGTERM exits 143, and its log has an end', { timeout: 60_000 }, async () => {
    const store = newStore();
    const turn = { text: 'This is the beginning of', waitAfter: { deltas: 1, until: new Promise<never>(() => {}) } };
    const { child, heard, ended } = await startOn(store, [turn], ['Go.']);
    await heard('message_delta');
    child.kill('SIGTERM');
    expect((await ended).code).toBe(143);
    const log = await onlyLog(store);
    expect(log.filter(({ type }) => type === 'run_ended')).toHaveLength(1);
    expect(log.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
  });

  it('S15: twice ends at once, with what was acknowledged in its log and no command left behind', async () => {
    const store = newStore();
    // It doesn't end when it is asked to, which keeps the first signal waiting.
    const sleep = `sleep 602.${process.pid}`;
    const command = `trap '' TERM INT HUP; echo it is > started; ${sleep}; true`;
    const turn = { toolCalls: [{ name: 'bash', arguments: { command } }] };
    const { child, heard, ended, home } = await startOn(store, [turn], ['Run it.', '--allow', 'bash']);
    await heard('"tool_started"');
    while (!started(home)) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGINT');
    child.kill('SIGTERM');
    const { code, stdout } = await ended;
    // Whichever of them came second.
    expect([130, 143]).toContain(code);
    const told = durable(stdout);
    expect(told.length).toBeGreaterThan(5);
    expect(await onlyLog(store)).toEqual(expect.arrayContaining(told));
    const { stdout: alive } = spawnSync('ps', ['-eo', 'args='], { encoding: 'utf8' });
    expect(alive.split('\n').filter((line) => line.includes(sleep))).toEqual([]);
  }, 60_000);

  it('S15: by a reader that leaves exits 141, and its log has an end', async () => {
    const store = newStore();
    const turn = { text: 'word '.repeat(500), chunkDelayMs: 1 };
    const script = '"$0" "$@" | head -n 1; exit "${PIPESTATUS[0]}"';
    const { ended } = await startOn(store, [turn], ['Go.'], script);
    expect(await ended).toMatchObject({ code: 141, stderr: '' });
    const log = await onlyLog(store);
    expect(log.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
  }, 60_000);
});

function started(home: string): boolean {
  try {
    return readFileSync(join(home, 'started'), 'utf8').endsWith('\n');
  } catch {
    return false;
  }
}
