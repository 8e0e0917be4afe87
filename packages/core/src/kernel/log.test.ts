import { describe, expect, it } from 'vitest';
import type { DurableEventBody } from '../entries/events.ts';
import { initialState } from '../entries/kernel.ts';
import { memoryJournal, type DurableEvent, type Journal } from '../index.ts';
import { openLog } from './log.ts';
import { reduce } from './reduce.ts';

const started = (owner: string): DurableEventBody => ({ type: 'drive_started', at: 1, epoch: 1, owner });

/** A journal that has written when it answers, and the same behind one that passes its answers on later. */
const JOURNALS: readonly [string, (journal: Journal) => Journal][] = [
  ['answers at once', (journal) => journal],
  ['hands the answer on', (journal) => ({ ...journal, append: (...args) => journal.append(...args) })],
  ['answers later', (journal) => ({ ...journal, append: async (...args) => journal.append(...args) })],
];

async function setUp(wrap: (journal: Journal) => Journal) {
  const inner = memoryJournal();
  await inner.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
  const { epoch } = await inner.claim('s', { id: 'me', label: 'me' });
  const appends: (readonly DurableEventBody[])[] = [];
  const wrapped = wrap(inner);
  const journal: Journal = {
    ...wrapped,
    append(...args) {
      appends.push(args[3]);
      return wrapped.append(...args);
    },
  };
  const state = initialState('s');
  for await (const event of inner.read('s', 1)) reduce(state, event);
  const told: DurableEvent[] = [];
  const failures: unknown[] = [];
  const log = openLog({
    journal,
    state,
    epoch,
    applied: (event) => told.push(event),
    failed: (error) => failures.push(error),
  });
  const post = (key: string) => inner.post('s', { type: 'cancel' }, key, 1);
  return { inner, log, state, told, failures, appends, post };
}

describe.each(JOURNALS)('the log of a drive whose journal %s', (_, wrap) => {
  it('writes what is recorded in one tick together, and what comes later after it', async () => {
    const { log, appends, told } = await setUp(wrap);
    for (let round = 0; round < 3; round += 1) {
      const first = log.record([started(`${round}a`)]);
      const second = log.record([started(`${round}b`), started(`${round}c`)]);
      expect(told.length).toBe(3 * round);
      await first;
      expect(told.length).toBe(3 * round + 3);
      await second;
    }
    expect(appends.map(({ length }) => length)).toEqual([3, 3, 3]);
    expect(told.map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
    await log.close();
  });

  it('says of a plan that inputs have overtaken that it was not written, and writes facts after them', async () => {
    const { log, told, post } = await setUp(wrap);
    await log.record([started('me')]);
    const plan = log.tryRecord([started('planned')]);
    const fact = log.record([started('fact')]);
    await post('k');
    expect(await plan).toBe(false);
    await fact;
    expect(told.map((event) => (event.type === 'drive_started' ? event.owner : event.type))).toEqual([
      'me',
      'input_received',
      'fact',
    ]);
    expect(await log.tryRecord([started('planned anew')])).toBe(true);
    await log.close();
  });

  it('tells everybody who waits of a journal that refuses, and writes nothing more', async () => {
    const { inner, log, told, failures, appends } = await setUp(wrap);
    await log.record([started('me')]);
    await inner.claim('s', { id: 'me', label: 'me again' });
    const records = [log.record([started('a')]), log.tryRecord([started('b')])];
    for (const record of records) await expect(record).rejects.toMatchObject({ code: 'fenced' });
    await expect(log.record([started('c')])).rejects.toMatchObject({ code: 'fenced' });
    expect(failures.length).toBe(1);
    expect(appends.length).toBe(2);
    expect(told.length).toBe(1);
    await log.close();
  });

  it('goes on with those who recorded in the order in which they did', async () => {
    const { log } = await setUp(wrap);
    await log.record([started('me')]);
    const order: string[] = [];
    const record = (name: string): Promise<unknown> => log.record([started(name)]).then(() => order.push(name));
    await Promise.all(['a', 'b', 'c', 'd'].map(record));
    expect(order).toEqual(['a', 'b', 'c', 'd']);
    await log.close();
  });

  it('refuses what others have overtaken once it is closed', async () => {
    const { log, post, failures } = await setUp(wrap);
    await log.record([started('me')]);
    const late = log.record([started('late')]);
    const closed = log.close();
    await post('k');
    await expect(late).rejects.toMatchObject({ code: 'fenced' });
    await closed;
    expect(failures).toHaveLength(1);
  });
});
