import assert from 'node:assert/strict';
import type { Journal } from '@treadle/core';
import type { JournalCases } from './case.ts';
import {
  append,
  begin,
  created,
  fork,
  ids,
  labels,
  noted,
  prompt,
  owner,
  readAll,
  rejects,
  seqsOf,
} from './support.ts';

/** A released session `s` with events `session_created`, `n2` … `n{count}`. */
async function parentOf(journal: Journal, count: number): Promise<void> {
  const claim = await begin(journal);
  await append(journal, claim, 1, ...Array.from({ length: count - 1 }, (_, index) => noted(`n${index + 2}`)));
  await claim.release();
}

export const forks: JournalCases = {
  async 'a fork reads its parent’s events up to the fork, then its own'({ journal }) {
    await parentOf(journal, 4);
    await fork(journal, 'f', 's', 3);
    const claim = await journal.claim('f', owner('b'));
    assert.equal(claim.seq, 4);
    await append(journal, claim, 4, noted('own'));
    assert.deepEqual(await labels(journal, 'f'), ['session_created', 'n2', 'n3', 'session_created', 'own']);
    assert.deepEqual(seqsOf(await readAll(journal, 'f')), [1, 2, 3, 4, 5]);
    assert.deepEqual(await labels(journal, 'f', 3), ['n3', 'session_created', 'own']);
    assert.deepEqual(await labels(journal, 'f', 5), ['own']);
    assert.deepEqual(await labels(journal, 's'), ['session_created', 'n2', 'n3', 'n4']);
  },
  async 'parent and fork go on without hearing of each other'({ journal }) {
    await parentOf(journal, 2);
    await journal.post('s', prompt('p'), 'k', 1);
    await fork(journal, 'f', 's', 3);
    assert.deepEqual(await journal.post('f', prompt('q'), 'k', 2), { seq: 5, duplicate: false });
    await journal.post('s', prompt('r'), 'later', 3);
    assert.deepEqual(await labels(journal, 'f', 2), ['n2', 'k', 'session_created', 'k']);
    assert.deepEqual(await labels(journal, 's', 2), ['n2', 'k', 'later']);
  },
  async 'a session can be forked at every event, also while it is held, and a fork again'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('n2'), noted('n3'));
    const all = await labels(journal, 's');
    for (let seq = 1; seq <= 3; seq++) {
      await fork(journal, `f${seq}`, 's', seq);
      assert.deepEqual(await labels(journal, `f${seq}`), [...all.slice(0, seq), 'session_created']);
      for (let again = 1; again <= seq + 1; again++) {
        const name = `f${seq}.${again}`;
        await fork(journal, name, `f${seq}`, again);
        const expected = [...all.slice(0, seq), 'session_created'].slice(0, again);
        assert.deepEqual(await labels(journal, name), [...expected, 'session_created']);
      }
    }
  },
  async 'there is no forking at an event that isn’t there, nor from a session that isn’t'({ journal }) {
    await parentOf(journal, 2);
    for (const seq of [-1, 0, 3, 1.5]) await rejects(fork(journal, 'f', 's', seq), 'session_not_found');
    await rejects(fork(journal, 'f', 'nobody', 1), 'session_not_found', /nobody/);
    await rejects(readAll(journal, 'f'), 'session_not_found');
  },
  async 'forks and their forks survive the removal of those they came from'({ journal }) {
    await parentOf(journal, 4);
    await fork(journal, 'f', 's', 3);
    await journal.post('f', prompt('p'), 'own', 1);
    await fork(journal, 'g', 'f', 5);
    await fork(journal, 'h', 'f', 2);
    const before = await Promise.all(['g', 'h'].map((name) => readAll(journal, name)));
    await journal.remove('s');
    await journal.remove('f');
    await journal.create('s', created('s', 9));
    await journal.post('s', prompt('other'), 'other', 1);
    assert.deepEqual(await Promise.all(['g', 'h'].map((name) => readAll(journal, name))), before);
    await rejects(readAll(journal, 'f'), 'session_not_found');
    await rejects(fork(journal, 'x', 'f', 1), 'session_not_found');
    await journal.remove('g');
    assert.deepEqual(await readAll(journal, 'h'), before[1]);
    await journal.remove('h');
    assert.deepEqual(await ids(journal), ['s']);
    assert.deepEqual(await labels(journal, 's'), ['session_created', 'other']);
  },
  async 'a fork’s row names its parent, and its first prompt when that is in the prefix'({ journal }) {
    await journal.create('s', created('s'));
    await journal.post('s', prompt('Hello'), 'k', 1);
    await fork(journal, 'before', 's', 1);
    await fork(journal, 'after', 's', 2);
    await journal.remove('s');
    const rows = new Map((await journal.list()).sessions.map((row) => [row.sessionId, row]));
    assert.deepEqual(rows.get('after')?.parent, { sessionId: 's', seq: 2 });
    assert.equal(rows.get('after')?.firstPrompt, 'Hello');
    assert.equal(rows.get('before')?.firstPrompt, undefined);
    await journal.post('before', prompt('Mine'), 'k', 2);
    const row = (await journal.list()).sessions.find((candidate) => candidate.sessionId === 'before');
    assert.equal(row?.firstPrompt, 'Mine');
  },
};
