import assert from 'node:assert/strict';
import type { Journal } from '@treadle/core';
import type { DueOptions, Rest } from '@treadle/core/journal';
import type { JournalCases } from './case.ts';
import { append, begin, created, noted, owner, prompt } from './support.ts';

/** Long before any claim or release of a test. */
const EARLY = 1000;
/** After every one, whatever clock the journal has. */
const LATE = 9_000_000_000_000;

const due = async (journal: Journal, options: Partial<DueOptions> = {}): Promise<string[]> =>
  (await journal.due({ before: LATE, ...options })).map(({ sessionId }) => sessionId);

const resting = (seen: number, wakeAt: number | null = null): Rest => ({
  seen,
  wakeAt,
  status: wakeAt === null ? 'idle' : 'paused',
  waitsFor: wakeAt === null ? [] : ['approval'],
});

/** Which sessions want to be driven. */
export const wakes: JournalCases = {
  async 'a new session is not due, until something is posted to it'({ journal }) {
    await journal.create('s', created('s', 1, { agentId: 'writer' }));
    await journal.create('t', created('t'));
    assert.deepEqual(await due(journal), []);
    await journal.post('s', prompt('p'), 'k', 5);
    assert.deepEqual(await journal.due({ before: EARLY }), [{ sessionId: 's', dueAt: 5, agentId: 'writer' }]);
    assert.deepEqual(await due(journal, { before: 4 }), [], 'not before its time');
    await journal.post('s', prompt('q'), 'l', 9);
    assert.deepEqual(await journal.due({ before: EARLY }), [{ sessionId: 's', dueAt: 5, agentId: 'writer' }]);
  },
  async 'a session that is held is not due; let go without a word it is'({ journal }) {
    const claim = await begin(journal);
    await journal.post('s', prompt('p'), 'k', 1);
    assert.deepEqual(await due(journal), []);
    await claim.release();
    assert.deepEqual(await due(journal), ['s']);
  },
  async 'a session that was let go at the end of its log is due at its time, or never'({ journal }) {
    const first = await begin(journal);
    await append(journal, first, 1, noted('a'));
    await first.release(resting(2, 5000));
    assert.deepEqual(await due(journal, { before: 4999 }), []);
    assert.deepEqual(await journal.due({ before: 5000 }), [{ sessionId: 's', dueAt: 5000 }]);
    const second = await journal.claim('s', owner('b'));
    await second.release(resting(2));
    assert.deepEqual(await due(journal), []);
    await journal.post('s', prompt('p'), 'k', 7);
    assert.deepEqual(await due(journal, { before: 7 }), ['s']);
  },
  async 'an input that comes before a session has been let go leaves it due'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'));
    await journal.post('s', prompt('p'), 'k', 1);
    await claim.release(resting(2));
    assert.deepEqual(await due(journal), ['s']);
    const again = await journal.claim('s', owner('b'));
    await again.release(resting(3));
    assert.deepEqual(await due(journal), []);
  },
  async 'a claim that was replaced says nothing about its session any more'({ journal }) {
    const first = await begin(journal);
    const second = await journal.claim('s', owner('a'));
    await second.release();
    await first.release(resting(1));
    assert.deepEqual(await due(journal), ['s']);
  },
  async 'those due first come first, as many as are asked for, and of the agents that are asked for'({ journal }) {
    for (const [name, agentId, at] of [
      ['a', 'writer', 30],
      ['b', 'reader', 10],
      ['c', undefined, 20],
    ] as const) {
      await journal.create(name, created(name, 1, agentId === undefined ? {} : { agentId }));
      await journal.post(name, prompt('p'), 'k', at);
    }
    assert.deepEqual(await due(journal), ['b', 'c', 'a']);
    assert.deepEqual(await due(journal, { limit: 2 }), ['b', 'c']);
    assert.deepEqual(await due(journal, { agents: ['writer'] }), ['c', 'a'], 'and those that name none');
    assert.deepEqual(await due(journal, { agents: [] }), ['c']);
  },
  async 'a session that another one drives is never due, and neither is one that was removed'({ journal }) {
    const spawnedBy = { sessionId: 'p', runId: 'r', callId: 'c', toolName: 't' };
    await journal.create('child', created('child', 1, { spawnedBy }));
    await journal.post('child', prompt('p'), 'k', 1);
    await (await journal.claim('child', owner('a'))).release();
    await journal.create('parent', created('parent'));
    await journal.create('branch', created('branch', 2, { branchOf: 'r' }), { sessionId: 'parent', seq: 1 });
    await journal.post('branch', prompt('p'), 'k', 1);
    await (await journal.claim('branch', owner('a'))).release();
    await journal.create('replay', created('replay'));
    const continuation = { kind: 'rerun', tag: 'replay of s' } as const;
    await journal.post('replay', { type: 'prompt', messages: [], continuation }, 'k', 1);
    await (await journal.claim('replay', owner('a'))).release();
    await journal.create('gone', created('gone'));
    await journal.post('gone', prompt('p'), 'k', 1);
    await journal.remove('gone');
    assert.deepEqual(await due(journal), []);
    await journal.create('gone', created('gone'));
    assert.deepEqual(await due(journal), []);
  },
  async 'a list says what sessions are at, as they were left'({ journal }) {
    const rows = async () =>
      (await journal.list()).sessions.map(({ sessionId, status, waitsFor }) => [sessionId, status, waitsFor]);
    const first = await begin(journal);
    assert.deepEqual(await rows(), [['s', 'running', undefined]]);
    await append(journal, first, 1, noted('a'));
    await first.release(resting(2, 5000));
    assert.deepEqual(await rows(), [['s', 'paused', ['approval']]]);
    const second = await journal.claim('s', owner('b'));
    assert.deepEqual(await rows(), [['s', 'running', undefined]], 'and no more what it waited for');
    await second.release(resting(2));
    assert.deepEqual(await rows(), [['s', undefined, undefined]]);
    await journal.remove('s');
    const spawnedBy = { sessionId: 'p', runId: 'r', callId: 'c', toolName: 't' };
    await journal.create('child', created('child', 1, { spawnedBy }));
    await journal.claim('child', owner('a'));
    assert.deepEqual(await rows(), [['child', undefined, undefined]], 'the one that drives it says what it is at');
  },
};
