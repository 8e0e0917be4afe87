import assert from 'node:assert/strict';
import type { Journal } from '@treadle/core';
import type { Snapshots } from '@treadle/core/journal';
import type { JournalCases, JournalUnderTest } from './case.ts';
import { append, begin, fork, noted, prompt, readAll, rejects } from './support.ts';

/** A case of the capability; a journal that keeps no snapshots has nothing to show. */
const snapshotting = (
  name: string,
  test: (under: JournalUnderTest, snapshots: Snapshots) => Promise<void>,
): JournalCases => ({
  async [`snapshots: ${name}`](under) {
    const { snapshots } = under.journal;
    if (snapshots) await test(under, snapshots);
  },
});

/** A released session with so many events. */
async function sessionOf(journal: Journal, count: number, sessionId = 's'): Promise<void> {
  const claim = await begin(journal, sessionId);
  const rest = Array.from({ length: count - 1 }, (_, index) => noted(`n${index + 2}`));
  if (rest.length > 0) await append(journal, claim, 1, ...rest);
  await claim.release();
}

/** Numbers of all that are kept, newest first, as somebody finds them who passes one over after the other. */
async function kept(snapshots: Snapshots, sessionId: string): Promise<number[]> {
  const seqs: number[] = [];
  for (let found = await snapshots.load(sessionId, Number.MAX_SAFE_INTEGER); found !== null;) {
    assert.ok(found.seq < (seqs.at(-1) ?? Number.POSITIVE_INFINITY), 'each is older than the one before');
    seqs.push(found.seq);
    found = await snapshots.load(sessionId, found.seq - 1);
  }
  return seqs;
}

const ANYWHERE = Number.MAX_SAFE_INTEGER;

/** The capability to keep snapshots. */
export const snapshots: JournalCases = {
  ...snapshotting('the newest up to an event is found, as it was given', async ({ journal }, store) => {
    await sessionOf(journal, 6);
    assert.equal(await store.load('s', ANYWHERE), null);
    const text = '{"a":"\\u0000 \\ud800 é 😀 \'\\"\\n"}\n{}';
    await store.save('s', { seq: 2, text });
    await store.save('s', { seq: 5, text: 'five' });
    assert.deepEqual(await store.load('s', ANYWHERE), { seq: 5, text: 'five' });
    assert.deepEqual(await store.load('s', 5), { seq: 5, text: 'five' });
    assert.deepEqual(await store.load('s', 4), { seq: 2, text });
    assert.equal(await store.load('s', 1), null);
  }),
  ...snapshotting('one at the same event takes the place of the other', async ({ journal }, store) => {
    await sessionOf(journal, 3);
    await store.save('s', { seq: 2, text: 'a' });
    await store.save('s', { seq: 2, text: 'b' });
    assert.deepEqual(await store.load('s', ANYWHERE), { seq: 2, text: 'b' });
    assert.deepEqual(await kept(store, 's'), [2]);
  }),
  ...snapshotting('there is none of a session or an event that isn’t there', async ({ journal }, store) => {
    await sessionOf(journal, 3);
    for (const seq of [-1, 0, 1.5, 4]) await rejects(store.save('s', { seq, text: '' }), 'session_not_found');
    await rejects(store.save('nobody', { seq: 1, text: '' }), 'session_not_found', /nobody/);
    await rejects(store.load('nobody', 1), 'session_not_found', /nobody/);
    assert.equal(await store.load('s', ANYWHERE), null);
  }),
  ...snapshotting('the log is as it was, and nobody who watches or lists is told', async ({ journal }, store) => {
    await sessionOf(journal, 3);
    const before = [await readAll(journal, 's'), await journal.list()];
    let heard = 0;
    const stop = journal.watch('s', () => heard++);
    await store.save('s', { seq: 3, text: 'a' });
    assert.deepEqual([await readAll(journal, 's'), await journal.list()], before);
    assert.equal(heard, 0);
    stop();
  }),
  ...snapshotting('also while a drive holds the session, from anyone', async ({ journal }, store) => {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'));
    await journal.post('s', prompt('p'), 'k', 1);
    await store.save('s', { seq: 3, text: 'three' });
    await append(journal, claim, 3, noted('b'));
    assert.deepEqual(await store.load('s', ANYWHERE), { seq: 3, text: 'three' });
  }),
  ...snapshotting('a fork has its parents’ up to where it began, and its own', async ({ journal }, store) => {
    await sessionOf(journal, 6);
    for (const seq of [2, 4, 6]) await store.save('s', { seq, text: `s${seq}` });
    await fork(journal, 'f', 's', 5);
    assert.deepEqual(await store.load('f', ANYWHERE), { seq: 4, text: 's4' });
    assert.deepEqual(await store.load('f', 3), { seq: 2, text: 's2' });
    await store.save('f', { seq: 6, text: 'f6' });
    assert.deepEqual(await store.load('f', ANYWHERE), { seq: 6, text: 'f6' });
    assert.deepEqual(await store.load('s', ANYWHERE), { seq: 6, text: 's6' });
    await fork(journal, 'g', 'f', 5);
    assert.deepEqual(await store.load('g', ANYWHERE), { seq: 4, text: 's4' });
    await fork(journal, 'h', 'f', 3);
    assert.deepEqual(await store.load('h', ANYWHERE), { seq: 2, text: 's2' });
    assert.deepEqual(await store.load('f', 5), { seq: 4, text: 's4' });
  }),
  ...snapshotting('of a removed session nothing is left but what its forks use', async ({ journal }, store) => {
    await sessionOf(journal, 6);
    for (const seq of [2, 4, 6]) await store.save('s', { seq, text: `s${seq}` });
    await fork(journal, 'f', 's', 5);
    await journal.remove('s');
    await rejects(store.load('s', ANYWHERE), 'session_not_found');
    assert.deepEqual(await kept(store, 'f'), [4, 2]);
    await sessionOf(journal, 6);
    assert.equal(await store.load('s', ANYWHERE), null);
    await journal.remove('f');
    await sessionOf(journal, 6, 'f');
    assert.equal(await store.load('f', ANYWHERE), null);
  }),
  ...snapshotting('of many few are kept, the older the fewer', async ({ journal }, store) => {
    const count = 120;
    await sessionOf(journal, count);
    for (let seq = 1; seq <= count; seq++) await store.save('s', { seq, text: `at ${seq}` });
    const seqs = await kept(store, 's');
    assert.deepEqual(seqs.slice(0, 2), [count, count - 1]);
    assert.ok(seqs.length <= 2 * Math.ceil(Math.log2(count)) + 2, `${seqs.length} are kept: ${seqs.join(', ')}`);
    for (let at = 1; at <= count; at++) {
      const { seq = 0 } = (await store.load('s', at)) ?? {};
      assert.ok(at - seq <= Math.max(1, count - at), `before event ${at} there is one not further away than the end`);
    }
  }),
  ...snapshotting('none are kept or found after close', async ({ journal }, store) => {
    await sessionOf(journal, 2);
    await journal.close();
    await rejects(store.save('s', { seq: 1, text: '' }), 'journal_failed');
    await rejects(store.load('s', 1), 'journal_failed');
  }),
};
