import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  openSession,
  type DurableEvent,
  type Journal,
  type RunResult,
} from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { logOf, scriptedModel, simulatedDisk, testClock, type DiskCall, type SimulatedDisk } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileJournal } from '../index.ts';

const FOLDER = '/journal';

/** A process of its own each time: the one before it is dead. */
function open(disk: SimulatedDisk, name: string): Journal {
  const processes = {
    self: () => ({ pid: 7, start: name, host: 'here' }),
    isGone: ({ start }: { readonly start: string | null }) => start !== name,
  };
  return fileJournal({
    folder: FOLDER,
    fileSystem: disk.fileSystem,
    clock: testClock(),
    processes,
    onDamage: () => {},
  });
}

const agent = defineAgent({
  model: scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { text: 'I act.', toolCalls: [{ name: 'act' }] },
  ),
  tools: [defineTool({ name: 'act', description: 'Acts.', replay: 'safe', execute: () => 'acted' })],
});

interface Told {
  readonly result: RunResult | null;
  readonly error: unknown;
  /** What an observer was shown of the log. */
  readonly events: readonly DurableEvent[];
}

/** One run, as its caller and an observer hear of it. */
async function runOn(journal: Journal): Promise<Told> {
  const events: DurableEvent[] = [];
  try {
    const session = await createSession(agent, { journal, id: 's', clock: testClock(), onObserverError: () => {} });
    const run = session.prompt('Go.');
    for await (const event of run) if (isDurable(event)) events.push(event);
    return { result: await run.result, error: null, events };
  } catch (error) {
    return { result: null, error, events };
  }
}

const calls: readonly DiskCall[] = [
  'open',
  'write',
  'writeFile',
  'datasync',
  'sync',
  'rename',
  'link',
  'mkdir',
  'unlink',
  'readFile',
  'read',
  'readdir',
  'stat',
  'close',
];

describe('a run on a disk that fails', () => {
  it.each(calls)('S6: at any %s stops with an error, and is never said to be saved when it is not', async (call) => {
    const counting = simulatedDisk();
    await runOn(open(counting, 'whole'));
    const all = counting.calls.filter((made) => made === call).length;
    let failed = 0;
    // Some of the many: each of the first, then ever fewer.
    for (let nth = 1; nth <= all; nth += Math.ceil(nth / 4)) {
      const disk = simulatedDisk({ seed: nth });
      const code = ['ENOSPC', 'EIO', 'EROFS'][nth % 3] ?? 'EIO';
      disk.fail({ calls: [call], code, nth, times: Number.POSITIVE_INFINITY });
      const { result, error, events } = await runOn(open(disk, 'first'));
      disk.repair();
      if (result === null) expect(error).toMatchObject({ code: 'journal_failed' });
      else expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      failed += result === null ? 1 : 0;
      const journal = open(disk, 'second');
      const { sessions } = await journal.list();
      if (sessions.length === 0) {
        expect(events).toEqual([]);
        continue;
      }
      // All that anyone was shown is there, and another process brings the run to its end.
      const log = await logOf(journal, 's');
      expect(log).toEqual(expect.arrayContaining([...events]));
      const session = await openSession(agent, 's', { journal, clock: testClock() });
      const last = session.status !== 'idle' ? await session.resume().result : result;
      if (last !== null) expect(last).toMatchObject({ status: 'completed', text: 'Done.' });
      await journal.close();
    }
    // Only locks are unlinked, when they are let go: one that stays is swept away by the next process.
    if (all > 0 && call !== 'unlink') expect(failed).toBeGreaterThan(0);
  });
});

const event = (text: string): DurableEventBody => ({ type: 'task_updated', at: 2, taskId: text, status: 'running' });
const synced = (text: string): DurableEventBody => ({
  type: 'input_received',
  at: 2,
  key: text,
  input: { type: 'cancel' },
});

async function labels(journal: Journal): Promise<string[]> {
  return (await logOf(journal, 's')).map((one) =>
    one.type === 'input_received' ? one.key : one.type === 'task_updated' ? one.taskId : one.type,
  );
}

describe('a sync that fails', () => {
  it('S6: is not believed the next time: the log is written anew, by whichever process is next', async () => {
    let rewritten = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: 5 }), fc.boolean(), async (seed, lazy, same) => {
        const disk = simulatedDisk({ seed });
        const first = open(disk, 'first');
        await first.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
        const claim = await first.claim('s', { id: 'a', label: 'a' });
        const wanted = ['session_created'];
        for (let index = 0; index < lazy; index += 1) {
          await first.append('s', claim.epoch, wanted.length, [event(`lazy ${index}`)]);
          wanted.push(`lazy ${index}`);
        }
        disk.fail({ calls: ['datasync'], code: 'EIO', nth: 1 });
        const failing = first.append('s', claim.epoch, wanted.length, [synced('lost')]);
        await expect(failing).rejects.toMatchObject({ code: 'journal_failed' });
        const again = first.append('s', claim.epoch, wanted.length, [synced('again')]);
        await expect(again).rejects.toMatchObject({ code: 'journal_failed' });
        await expect(first.post('s', { type: 'cancel' }, 'k', 3)).rejects.toMatchObject({ code: 'journal_failed' });
        disk.repair();
        if (same) await first.close();
        // Its data was acknowledged as surviving the process, and what the next one syncs, also the machine.
        const second = open(disk, 'second');
        expect(await labels(second)).toEqual(wanted);
        const next = await second.claim('s', { id: 'b', label: 'b' });
        expect((await second.append('s', next.epoch, wanted.length, [synced('safe')])).ok).toBe(true);
        rewritten += disk.calls.filter((call) => call === 'copyFile').length;
        disk.cutPower();
        expect(await labels(open(disk, 'third'))).toEqual([...wanted, 'safe']);
      }),
      { numRuns: 60 },
    );
    expect(rewritten).toBeGreaterThanOrEqual(60);
  });
});
