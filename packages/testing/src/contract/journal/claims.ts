import assert from 'node:assert/strict';
import type { JournalCases } from './case.ts';
import { append, begin, created, labels, noted, owner, prompt, rejects } from './support.ts';

/** Who may write: claims, epochs and fences. */
export const claims: JournalCases = {
  async 'a claim knows where the log ends, and its epoch is positive'({ journal }) {
    await journal.create('s', created('s'));
    await journal.post('s', prompt('p'), 'k', 1);
    const claim = await journal.claim('s', owner('a'));
    assert.equal(claim.sessionId, 's');
    assert.equal(claim.seq, 2);
    assert.ok(claim.epoch >= 1);
    assert.ok(claim.leaseMs > 0);
    assert.equal(await claim.renew(), true);
  },
  async 'a session that is held is refused to others, naming its owner'({ journal }) {
    await begin(journal, 's', 'a');
    await rejects(journal.claim('s', owner('b')), 'session_busy', /the drive a/);
  },
  async 'holding one session leaves the others free'({ journal }) {
    await begin(journal, 's', 'a');
    await begin(journal, 't', 'b');
  },
  async 'released, a session can be claimed with a higher epoch, and the older drive is fenced'({ journal }) {
    const old = await begin(journal, 's', 'a');
    await append(journal, old, 1, noted('old'));
    await old.release();
    const now = await journal.claim('s', owner('b'));
    assert.ok(now.epoch > old.epoch);
    assert.equal(await old.renew(), false);
    await rejects(journal.append('s', old.epoch, 2, [noted('too late')]), 'fenced');
    await old.release();
    assert.equal(await now.renew(), true, 'a late release takes nothing from the new owner');
    await append(journal, now, 2, noted('new'));
    assert.deepEqual(await labels(journal, 's', 2), ['old', 'new']);
  },
  async 'an owner that claims again replaces its own claim'({ journal }) {
    const first = await begin(journal, 's', 'a');
    const second = await journal.claim('s', owner('a'));
    assert.ok(second.epoch > first.epoch);
    await rejects(journal.append('s', first.epoch, 1, [noted('n')]), 'fenced');
    await append(journal, second, 1, noted('n'));
  },
  async 'without a claim nothing can be appended, whatever epoch is given'({ journal }) {
    await journal.create('s', created('s'));
    for (const epoch of [0, 1, 99]) await rejects(journal.append('s', epoch, 1, [noted('n')]), 'fenced');
    const claim = await journal.claim('s', owner('a'));
    await claim.release();
    await claim.release();
    await rejects(journal.append('s', claim.epoch, 1, [noted('n')]), 'fenced');
    await rejects(journal.append('s', claim.epoch + 1, 1, [noted('n')]), 'fenced');
    assert.deepEqual(await labels(journal, 's'), ['session_created']);
  },
  async 'a post between read and append gives ok: false with the new end, and writes nothing'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'));
    await journal.post('s', prompt('one'), 'k1', 1);
    await journal.post('s', prompt('two'), 'k2', 2);
    assert.deepEqual(await journal.append('s', claim.epoch, 2, [noted('b')]), { ok: false, seq: 4 });
    assert.deepEqual(await journal.append('s', claim.epoch, 3, [noted('b')]), { ok: false, seq: 4 });
    await append(journal, claim, 4, noted('b'));
    assert.deepEqual(await labels(journal, 's', 2), ['a', 'k1', 'k2', 'b']);
  },
  async 'a drive that is wrong about its own writes is fenced'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'));
    await journal.post('s', prompt('p'), 'k', 1);
    await rejects(journal.append('s', claim.epoch, 1, [noted('b')]), 'fenced');
    await rejects(journal.append('s', claim.epoch, 9, [noted('b')]), 'fenced');
    assert.deepEqual(await labels(journal, 's', 2), ['a', 'k']);
  },
  async 'a session that is held can not be removed'({ journal }) {
    const claim = await begin(journal);
    await rejects(journal.remove('s'), 'session_busy', /the drive a/);
    await claim.release();
    await journal.remove('s');
  },
};
