// @module-tag slow

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Journal } from '@treadle/core';
import { afterEach, describe, expect, it } from 'vitest';
import { sqliteJournal } from '../index.ts';

/** A process that works on the journal `path` and prints a line for each thing that was acknowledged. */
const PRELUDE = `
  import { sqliteJournal } from '@treadle/store';
  const [path, name] = process.argv.slice(1);
  const journal = sqliteJournal({ path });
  const say = (line) => process.stdout.write(line + '\\n');
  const note = (label) => ({ type: 'task_updated', at: 1, taskId: label, status: 'running' });
  const prompt = (text) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] });
`;
const packageFolder = fileURLToPath(new URL('../..', import.meta.url));

const children: ChildProcess[] = [];
const folders: string[] = [];
const journals: Journal[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newJournal(): { journal: Journal; path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-store-'));
  folders.push(folder);
  const path = join(folder, 'journal.db');
  const journal = sqliteJournal({ path });
  journals.push(journal);
  return { journal, path };
}

function start(work: string, ...args: string[]) {
  const flags = ['--conditions=treadle-source', '--input-type=module', '-e', PRELUDE + work];
  const child = spawn(process.execPath, [...flags, '--', ...args], {
    cwd: packageFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let errors = '';
  child.stderr.on('data', (part: Buffer) => {
    errors += part.toString();
  });
  const exited = once(child, 'exit').then(([code, signal]: unknown[]) => ({ code, signal, errors }));
  return { child, lines: createInterface({ input: child.stdout }), exited };
}

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;

async function labels(journal: Journal): Promise<string[]> {
  const all: string[] = [];
  for await (const event of journal.read('s', 2))
    all.push(event.type === 'input_received' ? event.key : event.type === 'task_updated' ? event.taskId : event.type);
  return all;
}

describe('sqliteJournal among processes', () => {
  it('keeps all that a killed writer was told is written, and gives its session away at once', async () => {
    const { journal, path } = newJournal();
    await journal.create('s', created('s'));
    const writer = start(
      `
      const claim = await journal.claim('s', { id: 'w', label: 'the writer ' + process.pid });
      for (let seq = claim.seq; ; seq++) {
        await journal.append('s', claim.epoch, seq, [note('n' + seq)]);
        say('n' + seq);
      }`,
      path,
    );
    const acknowledged: string[] = [];
    for await (const line of writer.lines) {
      acknowledged.push(line);
      if (acknowledged.length === 1) {
        await expect(journal.claim('s', { id: 'b', label: 'b' })).rejects.toMatchObject({
          code: 'session_busy',
          message: expect.stringContaining(`the writer ${writer.child.pid}`) as string,
        });
      }
      if (acknowledged.length === 50) writer.child.kill('SIGKILL');
    }
    expect(await writer.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(acknowledged.length).toBeGreaterThanOrEqual(50);
    const claim = await journal.claim('s', { id: 'b', label: 'b' });
    expect(claim.epoch).toBe(2);
    const log = await labels(journal);
    expect(log.slice(0, acknowledged.length)).toEqual(acknowledged);
    // What was written in the moment of death is whole too.
    expect(log).toEqual(log.map((_, index) => `n${index + 1}`));
    expect((await journal.append('s', claim.epoch, claim.seq, [created('s')])).ok).toBe(true);
  });

  it('loses no post of four processes that write at once', async () => {
    const { journal, path } = newJournal();
    await journal.create('s', created('s'));
    const writers = ['a', 'b', 'c', 'd'].map((name) =>
      start(
        `
        for (let index = 0; index < 60; index++) {
          const { seq } = await journal.post('s', prompt('x'.repeat(500)), name + index, 1);
          say(seq + ' ' + name + index);
        }
        await journal.close();`,
        path,
        name,
      ),
    );
    const acknowledged = new Map<number, string>();
    await Promise.all(
      writers.map(async (writer) => {
        for await (const line of writer.lines) {
          const [seq, key = ''] = line.split(' ');
          acknowledged.set(Number(seq), key);
        }
      }),
    );
    for (const writer of writers) expect(await writer.exited).toEqual({ code: 0, signal: null, errors: '' });
    expect(acknowledged.size).toBe(240);
    expect(await labels(journal)).toEqual(Array.from({ length: 240 }, (_, index) => acknowledged.get(index + 2)));
  });

  it('is made once when several processes open it for the first time at once', async () => {
    const { journal, path } = newJournal();
    const openers = ['a', 'b', 'c', 'd'].map((name) =>
      start(
        `
        await journal.create(name, { type: 'session_created', at: 1, eventVersion: 1, sessionId: name });
        await journal.close();`,
        path,
        name,
      ),
    );
    for (const opener of openers) expect(await opener.exited).toEqual({ code: 0, signal: null, errors: '' });
    expect((await journal.list()).sessions.map((row) => row.sessionId).sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  it(
    'does not keep a process alive that only watches, and prints nothing of its own',
    { tags: ['share'] },
    async () => {
      const { journal, path } = newJournal();
      await journal.create('s', created('s'));
      const watcher = start(`journal.watch('s', () => {}); await journal.list(); say('watching');`, path);
      expect(await watcher.exited).toEqual({ code: 0, signal: null, errors: '' });
    },
  );

  // The file may not grow beyond what `ulimit` allows: a write fails in the middle, as on a full disk.
  it.runIf(process.platform !== 'win32')(
    'says journal_failed when the disk takes no more, and keeps what it had',
    async () => {
      const { journal, path } = newJournal();
      await journal.create('s', created('s'));
      const code = `${PRELUDE}
      let count = 0;
      try {
        for (; count < 10000; count++) await journal.post('s', prompt('x'.repeat(5000)), 'k' + count, 1);
      } catch (error) {
        say(error.code + ' ' + count);
      }
      await journal.close();`;
      const shell = spawn(
        'sh',
        ['-c', 'ulimit -f 1000; exec "$@"', 'sh', process.execPath].concat([
          '--conditions=treadle-source',
          '--input-type=module',
          '-e',
          code,
          '--',
          path,
        ]),
        { cwd: packageFolder, stdio: ['ignore', 'pipe', 'inherit'] },
      );
      children.push(shell);
      const said: string[] = [];
      for await (const line of createInterface({ input: shell.stdout })) said.push(line);
      const [errorCode, count] = (said[0] ?? '').split(' ');
      expect(errorCode).toBe('journal_failed');
      expect(Number(count)).toBeGreaterThan(10);
      expect(await labels(journal)).toEqual(Array.from({ length: Number(count) }, (_, index) => `k${index}`));
    },
  );
});
