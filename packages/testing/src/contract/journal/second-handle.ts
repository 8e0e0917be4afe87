import assert from 'node:assert/strict';
import type { Journal } from '@treadle/core';
import type { JournalCases } from './case.ts';
import { append, begin, created, labels, noted, owner, prompt, rejects } from './support.ts';

/** A case with the same store opened twice. */
const twice = (name: string, test: (journal: Journal, other: Journal) => Promise<void>): JournalCases => ({
  async [`opened twice: ${name}`]({ journal, open }) {
    assert.ok(open, 'this case needs `open`');
    const other = await open();
    try {
      await test(journal, other);
    } finally {
      await other.close();
    }
  },
});

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `${what}, within ten seconds`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** What another process sees of a store. */
export const secondHandle: JournalCases = {
  ...twice('what one has acknowledged the other reads', async (journal, other) => {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'));
    assert.deepEqual(await labels(other, 's'), ['session_created', 'a']);
    await other.post('s', prompt('p'), 'k', 1);
    assert.deepEqual(await journal.append('s', claim.epoch, 2, [noted('b')]), { ok: false, seq: 3 });
    assert.deepEqual(await journal.post('s', prompt('p'), 'k', 2), { seq: 3, duplicate: true });
  }),
  ...twice(
    'a session held by one is refused to the other, until it is released or its holder closes',
    async (journal, other) => {
      const claim = await begin(journal);
      await rejects(other.claim('s', owner('b')), 'session_busy', /the drive a/);
      await rejects(other.remove('s'), 'session_busy');
      await claim.release();
      const second = await other.claim('s', owner('b'));
      assert.ok(second.epoch > claim.epoch);
      await rejects(journal.append('s', claim.epoch, 1, [noted('n')]), 'fenced');
      await rejects(journal.claim('s', owner('a')), 'session_busy', /the drive b/);
      await other.close();
      await journal.claim('s', owner('a'));
    },
  ),
  ...twice('what one holds is due for nobody, what it lets go is for the other', async (journal, other) => {
    const before = 9_000_000_000_000;
    const claim = await begin(journal);
    await journal.post('s', prompt('p'), 'k', 1);
    assert.deepEqual(await other.due({ before }), []);
    await claim.release({ seen: 1, wakeAt: null, status: 'idle', waitsFor: [] });
    assert.deepEqual(
      (await other.due({ before })).map(({ sessionId }) => sessionId),
      ['s'],
    );
  }),
  ...twice('snapshots kept by one are found by the other', async (journal, other) => {
    if (!journal.snapshots || !other.snapshots) return;
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'));
    await journal.snapshots.save('s', { seq: 2, text: 'two' });
    assert.deepEqual(await other.snapshots.load('s', 9), { seq: 2, text: 'two' });
  }),
  ...twice('a watcher of one soon hears of the other’s writes', async (journal, other) => {
    await journal.create('s', created('s'));
    await journal.create('t', created('t'));
    let heard = 0;
    let elsewhere = 0;
    const stops = [journal.watch('s', (seq) => (heard = seq)), journal.watch('t', () => elsewhere++)];
    await other.post('s', prompt('p'), 'k', 1);
    await until('a post elsewhere is heard', () => heard > 0);
    assert.equal(heard, 2);
    heard = 0;
    await other.remove('s');
    await until('a removal elsewhere is heard', () => heard > 0);
    assert.equal(elsewhere, 0, 'only of the session that changed');
    for (const stop of stops) stop();
  }),
};
