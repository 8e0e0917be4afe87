import type { Journal } from '@treadle/core';
import { simulatedDisk, testClock } from '@treadle/testing';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemFiles, type JournalFileSystem } from './file-system.ts';
import { fileJournal } from '../index.ts';

const created = (sessionId: string) =>
  ({ type: 'session_created', at: 1, eventVersion: 1, sessionId, agentId: 'writer' }) as const;
const cancel = { type: 'cancel', reason: 'Enough.' } as const;
const owner = { id: 'me', label: 'me' };

/** After every time of a test. */
const LATE = 9_000_000_000_000;
const dueOf = async (journal: Journal): Promise<readonly string[]> =>
  (await journal.due({ before: LATE })).map(({ sessionId }) => sessionId).toSorted();

/** Processes of one start of the machine: those of an earlier one are gone. */
const processesOf = (boot: string) => ({
  boot: () => boot,
  self: () => ({ pid: 7, start: boot, host: 'here' }),
  isGone: ({ start }: { readonly start: string | null }) => start !== boot,
});

describe('after a power failure', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'a session is due whose input was acknowledged, whatever else the disk has lost: %i',
    async (seed) => {
      const disk = simulatedDisk({ seed });
      const open = (boot: string) =>
        fileJournal({
          folder: '/journal',
          fileSystem: disk.fileSystem,
          clock: testClock(),
          processes: processesOf(boot),
        });
      const before = open('first');
      for (const name of ['never driven', 'idle', 'waits', 'quiet']) await before.create(name, created(name));
      for (const name of ['idle', 'waits', 'quiet']) {
        const claim = await before.claim(name, owner);
        const [wakeAt, status] = name === 'waits' ? ([5000, 'paused'] as const) : ([null, 'idle'] as const);
        await claim.release({ seen: 1, wakeAt, status, waitsFor: [] });
      }
      await before.post('never driven', cancel, 'a', 2);
      await before.post('idle', cancel, 'b', 3);
      disk.cutPower();
      const after = open('second');
      const due = await dueOf(after);
      // One that was just let go may have lost that: then it is due once more.
      expect(due.filter((name) => name !== 'quiet')).toEqual(['idle', 'never driven', 'waits']);
      expect(await after.due({ before: LATE, agents: ['another'] })).toEqual([]);
      // The next process of the same start has them, too.
      expect(await dueOf(open('second'))).toEqual(due);
    },
  );
});

describe('sessions of a version without wakes', () => {
  /** Three sessions as such a version left them: driven, posted to, and new. */
  async function earlier(): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'treadle-wakes-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const journal = fileJournal({ folder });
    for (const name of ['driven', 'posted', 'new']) await journal.create(name, created(name));
    await (await journal.claim('driven', owner)).release();
    await journal.post('posted', cancel, 'k', 2);
    await journal.create('fork', { ...created('fork'), agentId: 'reader' }, { sessionId: 'posted', seq: 2 });
    await journal.post('fork', cancel, 'l', 3);
    await journal.close();
    rmSync(join(folder, 'wakes'), { recursive: true });
    for (const log of readdirSync(join(folder, 'logs'))) {
      const path = join(folder, 'logs', log, 'lease.json');
      const text = systemText(path);
      if (text === null) continue;
      const { wake: _, ...lease } = JSON.parse(text) as { wake: unknown; epoch: number };
      if (lease.epoch === 0) rmSync(path);
      else writeFileSync(path, JSON.stringify(lease));
    }
    return folder;
  }

  const systemText = (path: string): string | null => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return null;
    }
  };

  it('are due once, unless nothing ever happened in them; a fork by its own agent', async () => {
    const folder = await earlier();
    const journal = fileJournal({ folder });
    onTestFinished(() => journal.close());
    expect(await dueOf(journal)).toEqual(['driven', 'fork', 'posted']);
    expect(await journal.due({ before: LATE, agents: ['reader'] })).toMatchObject([{ sessionId: 'fork' }]);
  });

  it('keep what another process claims while their markers are made', async () => {
    const folder = await earlier();
    const other = fileJournal({ folder });
    const claiming: ReturnType<Journal['claim']>[] = [];
    // Whenever this process is about to write a lease, the other one claims that session, if it can by then.
    const fileSystem: JournalFileSystem = {
      ...systemFiles,
      async rename(from, to) {
        if (to.endsWith('lease.json') && claiming.length === 0) {
          claiming.push(other.claim('driven', owner));
          await Promise.race([claiming[0], setTimeout(300)]);
        }
        await systemFiles.rename(from, to);
      },
    };
    const journal = fileJournal({ folder, fileSystem });
    onTestFinished(async () => {
      await Promise.all([journal.close(), other.close()]);
    });
    await journal.due({ before: LATE });
    const claim = await claiming[0];
    expect(claim?.epoch).toBe(2);
    await setTimeout(150); // The other process lets the log go, and reads its lease once more.
    const event = { type: 'task_updated', at: 2, taskId: 't', status: 'running' } as const;
    expect(await other.append('driven', 2, 1, [event])).toMatchObject({ ok: true });
    expect(await dueOf(journal)).not.toContain('driven');
  });
});
