import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { journalContract } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { Journal } from './journal.ts';
import { memoryJournal } from './memory.ts';

function resting(journal: Journal): Journal {
  const rest = (sessionId: string): void => void journal.rest?.(sessionId);
  return {
    ...journal,
    async append(sessionId, ...written) {
      const outcome = await journal.append(sessionId, ...written);
      rest(sessionId);
      return outcome;
    },
    async post(sessionId, ...written) {
      const outcome = await journal.post(sessionId, ...written);
      rest(sessionId);
      return outcome;
    },
  };
}

describe('memoryJournal', () => {
  for (const { name, run } of journalContract(() => ({ journal: memoryJournal() }))) it(name, run);

  describe('whose sessions come to rest after every write', () => {
    for (const { name, run } of journalContract(() => ({ journal: resting(memoryJournal()) }))) it(name, run);
  });

  it('shares events instead of copying them: an append costs the same however long the log is', async () => {
    const journal = memoryJournal();
    await journal.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
    const claim = await journal.claim('s', { id: 'o', label: 'the test' });
    expect(claim.leaseMs).toBe(Number.POSITIVE_INFINITY);
    const decision = { nested: ['value'] };
    const outcome = await journal.append('s', claim.epoch, 1, [
      { type: 'decision_made', at: 2, runId: 'r', kind: 'hook', key: 'k', decision },
    ]);
    const [written] = outcome.ok ? outcome.events : [];
    const read = await journal.read('s', 2)[Symbol.asyncIterator]().next();
    expect(read.value).toBe(written);
    expect(written?.type === 'decision_made' && written.decision).toBe(decision);
  });

  it('gives back what a session had that rested, and all it was forked from, after they were removed', async () => {
    const journal = memoryJournal();
    const first = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
    await journal.create('parent', first('parent'));
    for (const key of ['a', 'b']) await journal.post('parent', { type: 'cancel' }, key, 1);
    await journal.create('fork', first('fork'), { sessionId: 'parent', seq: 2 });
    const recall = journal.rest?.('fork');
    const seqs = () => Array.from(recall?.() ?? [], ({ seq }) => seq);
    expect(seqs()).toEqual([1, 2, 3]);
    await journal.post('fork', { type: 'cancel' }, 'c', 1);
    expect(seqs()).toEqual([1, 2, 3, 4]);
    await journal.remove('fork');
    await journal.remove('parent');
    expect(seqs()).toEqual([1, 2, 3]);
  });

  it('drops the events of a removed session that no fork reads', async () => {
    const journal = memoryJournal();
    const first = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
    await journal.create('s', first('s'));
    for (const key of ['a', 'b', 'c']) await journal.post('s', { type: 'cancel' }, key, 1);
    const secret = new WeakRef((await journal.read('s', 4)[Symbol.asyncIterator]().next()).value as object);
    await journal.create('f', first('f'), { sessionId: 's', seq: 2 });
    await journal.remove('s');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(secret.deref()).toBeUndefined();
    const seqs: number[] = [];
    for await (const event of journal.read('f', 1)) seqs.push(event.seq);
    expect(seqs).toEqual([1, 2, 3]);
  });
});
