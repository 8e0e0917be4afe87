// @module-tag slow

import type { DurableEvent, Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import type { Claim } from '@treadle/core/journal';
import { simulatedDisk, testClock, type SimulatedDisk } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileJournal, type DamageReport } from '../index.ts';
import { mustSync } from './record.ts';

const FOLDER = '/home/ada/journal';

/** What is done with a few sessions, by one process. */
type Act =
  | { readonly kind: 'append'; readonly session: number; readonly events: readonly ('lazy' | 'synced')[] }
  | { readonly kind: 'post' | 'claim' | 'release' | 'remove'; readonly session: number }
  | { readonly kind: 'fork'; readonly session: number; readonly at: number };

const session = fc.integer({ min: 0, max: 2 });
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('append' as const),
        session,
        events: fc.array(fc.constantFrom('lazy' as const, 'lazy' as const, 'synced' as const), {
          minLength: 1,
          maxLength: 3,
        }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('post' as const, 'claim' as const), session }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'remove' as const), session }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('fork' as const), session, at: fc.integer({ min: 1, max: 9 }) }),
    },
  ),
  { minLength: 8, maxLength: 40 },
);

/** What the process has been told of a session, and what it tried. */
interface Known {
  /** The events in the order of their numbers, those of the last attempt included. */
  events: DurableEventBody[];
  /** How many of them were acknowledged, and how many of these must survive a power failure. */
  acknowledged: number;
  synced: number;
  epoch: number;
  state: 'being made' | 'there' | 'being removed' | 'removed';
}

const created = (sessionId: string): DurableEventBody => ({
  type: 'session_created',
  at: 1,
  eventVersion: 1,
  sessionId,
});
const lazy = (note: string): DurableEventBody => ({ type: 'task_updated', at: 2, taskId: note, status: 'running' });
const synced = (note: string): DurableEventBody => ({
  type: 'input_received',
  at: 2,
  key: note,
  input: { type: 'cancel', reason: 'x'.repeat(note.length * 40) },
});

/** Processes of one boot of the machine: those of an earlier one are gone. */
const processesOf = (boot: string) => ({
  self: () => ({ pid: 7, start: boot, host: 'here' }),
  isGone: ({ start }: { readonly start: string | null }) => start !== boot,
});

const open = (disk: SimulatedDisk, boot: string, onDamage: (report: DamageReport) => void): Journal =>
  fileJournal({
    folder: FOLDER,
    fileSystem: disk.fileSystem,
    clock: testClock(),
    processes: processesOf(boot),
    onDamage,
  });

async function perform(journal: Journal, known: Map<string, Known>, all: readonly Act[]): Promise<void> {
  const claims = new Map<string, Claim>();
  let count = 0;
  for (const act of all) {
    const name = `s${act.session}`;
    const of = known.get(name);
    count += 1;
    if (act.kind === 'fork') {
      const child = `fork${count}`;
      if (of?.state !== 'there') continue;
      const at = Math.min(act.at, of.acknowledged);
      const made: Known = {
        events: [...of.events.slice(0, at), created(child)],
        acknowledged: 0,
        synced: 0,
        epoch: 0,
        state: 'being made',
      };
      known.set(child, made);
      await journal.create(child, created(child), { sessionId: name, seq: at });
      Object.assign(made, { state: 'there', acknowledged: at + 1, synced: at + 1 });
    } else if (of === undefined || of.state === 'removed') {
      const made: Known = { events: [created(name)], acknowledged: 0, synced: 0, epoch: 0, state: 'being made' };
      known.set(name, made);
      claims.delete(name);
      await journal.create(name, created(name));
      Object.assign(made, { state: 'there', acknowledged: 1, synced: 1 });
    } else await actOn(journal, act, name, of, claims, count);
  }
}

async function actOn(
  journal: Journal,
  act: Act,
  name: string,
  of: Known,
  claims: Map<string, Claim>,
  count: number,
): Promise<void> {
  const claim = claims.get(name);
  const written = (events: readonly DurableEventBody[]): void => {
    of.acknowledged = of.events.length;
    if (events.some(mustSync)) of.synced = of.events.length;
  };
  if (act.kind === 'append' && claim) {
    const events = act.events.map((kind, index) => (kind === 'lazy' ? lazy : synced)(`${count}.${index}`));
    of.events.push(...events);
    expect((await journal.append(name, claim.epoch, of.acknowledged, events)).ok).toBe(true);
    written(events);
  } else if (act.kind === 'post') {
    const input = { type: 'cancel', reason: 'posted' } as const;
    const event: DurableEventBody = { type: 'input_received', at: 3, key: `p${count}`, input };
    of.events.push(event);
    await journal.post(name, input, event.key, 3);
    written([event]);
  } else if (act.kind === 'release') {
    claims.delete(name);
    await claim?.release();
  } else if (act.kind === 'remove') {
    await claim?.release();
    claims.delete(name);
    of.state = 'being removed';
    await journal.remove(name);
    of.state = 'removed';
  } else {
    claims.set(name, await journal.claim(name, { id: 'me', label: 'me' }));
    of.epoch = claims.get(name)?.epoch ?? 0;
  }
}

async function eventsIn(journal: Journal, name: string): Promise<DurableEvent[] | 'session_not_found'> {
  const events: DurableEvent[] = [];
  try {
    for await (const event of journal.read(name, 1)) events.push(event);
    return events;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'session_not_found') return 'session_not_found';
    throw error;
  }
}

/** Checks what a power failure has left of a session, and that it can be gone on with. Returns what is in it then. */
async function checkSurvivor(journal: Journal, name: string, of: Known): Promise<number | null> {
  const found = await eventsIn(journal, name);
  if (found === 'session_not_found') {
    expect(of.state, `${name} is lost`).not.toBe('there');
    return null;
  }
  expect(of.state, `${name} is back`).not.toBe('removed');
  expect(found).toEqual(of.events.slice(0, found.length).map((event, index) => ({ ...event, seq: index + 1 })));
  expect(found.length, `${name} has lost what was synced`).toBeGreaterThanOrEqual(of.synced);
  const claim = await journal.claim(name, { id: 'next', label: 'next' });
  expect(claim.epoch, `an epoch of ${name} is given out again`).toBeGreaterThan(of.epoch);
  expect(claim.seq).toBe(found.length);
  const outcome = await journal.append(name, claim.epoch, claim.seq, [synced('after')]);
  expect(outcome.ok).toBe(true);
  return found.length + 1;
}

/** Plays the acts up to the power failure, and whether it came. */
async function playedUntilCut(disk: SimulatedDisk, known: Map<string, Known>, all: readonly Act[], cut: Promise<void>) {
  const journal = open(disk, 'first', () => {});
  return Promise.race([cut.then(() => true), perform(journal, known, all).then(() => false)]);
}

/** The files of logs, as they are before anyone opens the journal. */
async function filesOf(disk: SimulatedDisk): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const { fileSystem: fs } = disk;
  for (const log of await fs.readdir(`${FOLDER}/logs`).catch(() => [])) {
    const path = `${FOLDER}/logs/${log}/log.jsonl`;
    const text = await fs.readFile(path, 'utf8').catch(() => null);
    if (text !== null) found.set(path, text);
  }
  return found;
}

describe('fileJournal, when the power fails', () => {
  it('S5: has everything that was synced, whatever the disk kept, dropped, tore or reordered of the rest', async () => {
    const seen = { cuts: 0, mended: 0, lost: 0 };
    await fc.assert(
      fc.asyncProperty(
        acts,
        fc.integer(),
        fc.integer({ min: 20, max: 700 }),
        fc.constantFrom('before' as const, 'after' as const),
        async (all, seed, call, when) => {
          const disk = simulatedDisk({ seed });
          const known = new Map<string, Known>();
          if (await playedUntilCut(disk, known, all, disk.cutPowerAt(call, when))) seen.cuts += 1;
          else disk.cutPower();
          const files = await filesOf(disk);
          const reports: DamageReport[] = [];
          const journal = open(disk, 'second', (report) => reports.push(report));
          const lengths = new Map<string, number | null>();
          for (const [name, of] of known) {
            const length = await checkSurvivor(journal, name, of);
            if (length !== null && length <= of.acknowledged) seen.lost += 1;
            lengths.set(name, length);
          }
          for (const { path, copy } of reports) {
            expect(await disk.fileSystem.readFile(copy, 'utf8'), 'the original is kept').toBe(files.get(path));
          }
          seen.mended += reports.length;
          // What was mended and written after it is as good as ever.
          disk.cutPower();
          const last = open(disk, 'third', () => expect.fail('there was nothing to mend'));
          for (const [name, length] of lengths) {
            const events = await eventsIn(last, name);
            expect(events === 'session_not_found' ? null : events.length).toBe(length);
          }
        },
      ),
      { numRuns: 100 },
    );
    // It was no walk in the park: there were torn ends, and events that were not yet synced and are gone.
    expect(seen.cuts).toBeGreaterThan(10);
    expect(seen.mended).toBeGreaterThan(1);
    expect(seen.lost).toBeGreaterThan(5);
  }, 120_000);
});
