import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { journalContract } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { memoryJournal } from './memory.ts';

describe('memoryJournal', () => {
  for (const { name, run } of journalContract(() => ({ journal: memoryJournal() }))) it(name, run);

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
