import assert from 'node:assert/strict';
import type { Journal, JsonObject } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import type { JournalCases } from './case.ts';
import {
  append,
  begin,
  created,
  labels,
  noted,
  owner,
  prompt,
  readAll,
  rejects,
  seqsOf,
  turnOfLoop,
} from './support.ts';

async function roundTrip(journal: Journal, decision: JsonObject): Promise<void> {
  const claim = await begin(journal);
  const body: DurableEventBody = { type: 'decision_made', at: 5, runId: 'r', kind: 'hook', key: 'k', decision };
  const before = JSON.stringify(body);
  await append(journal, claim, 1, body);
  const [event] = await readAll(journal, 's', 2);
  assert.ok(event?.type === 'decision_made');
  assert.equal(JSON.stringify(event.decision), JSON.stringify(decision));
  assert.deepEqual({ ...event, decision: null }, { ...body, decision: null, seq: 2 });
  assert.equal(JSON.stringify(body), before, 'the event handed in is left as it was');
}

/** One log: create, append, post, read, watch, close. */
export const logs: JournalCases = {
  async 'a new log has session_created as event 1'({ journal }) {
    await journal.create('s', created('s', 7, { agentId: 'a', metadata: { n: 1 } }));
    assert.deepEqual(await readAll(journal, 's'), [
      { ...created('s', 7, { agentId: 'a', metadata: { n: 1 } }), seq: 1 },
    ]);
  },
  async 'creating a session twice is refused, and the log stays as it was'({ journal }) {
    await journal.create('s', created('s', 1));
    await rejects(journal.create('s', created('s', 2)), 'session_exists', /\bs\b/);
    assert.equal((await readAll(journal, 's'))[0]?.at, 1);
  },
  async 'a session nobody created is refused everywhere'({ journal }) {
    await rejects(journal.claim('x', owner('a')), 'session_not_found', /\bx\b/);
    await rejects(journal.append('x', 1, 0, [noted('n')]), 'session_not_found');
    await rejects(journal.post('x', prompt('p'), 'k', 1), 'session_not_found');
    await rejects(readAll(journal, 'x'), 'session_not_found');
    await rejects(journal.remove('x'), 'session_not_found');
  },
  async 'appends get gapless numbers in the order in which they are acknowledged'({ journal }) {
    const claim = await begin(journal);
    const first = await append(journal, claim, 1, noted('a'), noted('b'));
    const second = await append(journal, claim, 3, noted('c'));
    assert.deepEqual(seqsOf([...first, ...second]), [2, 3, 4]);
    const all = await readAll(journal, 's');
    assert.deepEqual(seqsOf(all), [1, 2, 3, 4]);
    assert.deepEqual(all.slice(1), [...first, ...second]);
  },
  async 'an append of nothing is acknowledged and writes nothing'({ journal }) {
    const claim = await begin(journal);
    assert.deepEqual(await journal.append('s', claim.epoch, 1, []), { ok: true, events: [] });
    assert.equal((await readAll(journal, 's')).length, 1);
  },
  async 'reading starts at the asked number, and beyond the end there is nothing'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'), noted('b'));
    assert.deepEqual(await labels(journal, 's', 3), ['b']);
    assert.deepEqual(await labels(journal, 's', 4), []);
    assert.deepEqual(await labels(journal, 's', 0), ['session_created', 'a', 'b']);
  },
  async 'what is written while someone reads is left to the next read'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, ...Array.from({ length: 2000 }, (_, index) => noted(`n${index}`)));
    let seq = 2001;
    let read = 0;
    for await (const event of journal.read('s', 1)) {
      assert.equal(event.seq, ++read);
      if (read % 400 === 0) seq = (await append(journal, claim, seq, noted('more'))).at(-1)?.seq ?? 0;
    }
    assert.equal(read, 2001);
    assert.equal((await readAll(journal, 's')).length, 2006);
  },
  async 'a read that is given up early disturbs nothing'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, noted('a'), noted('b'));
    for await (const event of journal.read('s', 1)) if (event.seq === 2) break;
    await append(journal, claim, 3, noted('c'));
    assert.deepEqual(await labels(journal, 's', 2), ['a', 'b', 'c']);
  },
  async 'a post is an input_received with its key and time, from anyone'({ journal }) {
    await journal.create('s', created('s'));
    assert.deepEqual(await journal.post('s', prompt('Hello'), 'k1', 77), { seq: 2, duplicate: false });
    assert.deepEqual(await readAll(journal, 's', 2), [
      { type: 'input_received', at: 77, key: 'k1', input: prompt('Hello'), seq: 2 },
    ]);
  },
  async 'the same key again writes nothing, in its own session only'({ journal }) {
    await journal.create('s', created('s'));
    await journal.create('t', created('t'));
    await journal.post('s', prompt('one'), 'k', 1);
    await journal.post('s', prompt('two'), 'l', 2);
    assert.deepEqual(await journal.post('s', prompt('other'), 'k', 3), { seq: 2, duplicate: true });
    assert.deepEqual(await journal.post('t', prompt('one'), 'k', 4), { seq: 2, duplicate: false });
    assert.equal((await readAll(journal, 's')).length, 3);
  },
  async 'an input that a drive appends counts as posted under its key'({ journal }) {
    const claim = await begin(journal);
    await append(journal, claim, 1, { type: 'input_received', at: 5, key: 'k', input: prompt('Hi') });
    assert.deepEqual(await journal.post('s', prompt('Hi'), 'k', 6), { seq: 2, duplicate: true });
    assert.equal((await journal.list()).sessions[0]?.firstPrompt, 'Hi');
  },
  async 'text of every script, controls, half surrogates and odd keys come back as they were'({ journal }) {
    const odd = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1},"":0,"a.b":[]}') as JsonObject;
    await roundTrip(journal, {
      odd,
      text: 'Grüße, 世界 👩‍👩‍👧 \u0000\u0007\u001b[31m\u2028\r\n"\\',
      halves: ['\ud83d', '\ude00', 'x\udc00y'],
      numbers: [0, -1.5, 1e300, 2 ** 53],
      nothing: null,
    });
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  },
  async 'a payload of a megabyte comes back as it was'({ journal }) {
    await roundTrip(journal, { text: '0123456789abcdé\n'.repeat(65_536) });
  },
  async 'a watcher hears every append and post, after it is written, until it stops watching'({ journal }) {
    let heard = 0;
    let last = 0;
    const stop = journal.watch('s', (seq) => {
      // Of the creation a watcher may hear at any time, or not at all.
      if (seq === 1) return;
      heard++;
      last = seq;
    });
    const claim = await begin(journal);
    const before = heard;
    await append(journal, claim, 1, noted('a'));
    assert.deepEqual([heard, last], [before + 1, 2], 'an append is heard before it is acknowledged');
    await journal.post('s', prompt('p'), 'k', 1);
    assert.deepEqual([heard, last], [before + 2, 3], 'a post is heard before it is acknowledged');
    await journal.post('s', prompt('p'), 'k', 1);
    assert.equal(heard, before + 2, 'a duplicate is no news');
    stop();
    stop();
    await append(journal, claim, 3, noted('b'));
    assert.equal(heard, before + 2);
  },
  async 'a watcher that throws or stops itself disturbs neither the writer nor other watchers'({ journal }) {
    const claim = await begin(journal);
    let heard = 0;
    const stopThrower = journal.watch('s', () => {
      throw new Error('a watcher’s own trouble');
    });
    const stopSelf = journal.watch('s', () => stopSelf());
    const stop = journal.watch('s', () => heard++);
    await append(journal, claim, 1, noted('a'));
    await append(journal, claim, 2, noted('b'));
    assert.equal(heard, 2);
    stopThrower();
    stop();
  },
  async 'a removed session is gone, its watchers hear of it, and its id is free again'({ journal }) {
    await journal.create('s', created('s'));
    await journal.post('s', prompt('old'), 'k', 1);
    let heard = 0;
    const stop = journal.watch('s', (seq) => (heard = seq));
    await journal.remove('s');
    stop();
    assert.equal(heard, 2, 'with the number of the last event there was');
    await rejects(readAll(journal, 's'), 'session_not_found');
    assert.deepEqual((await journal.list()).sessions, []);
    await journal.create('s', created('s', 5));
    assert.deepEqual(await labels(journal, 's'), ['session_created']);
    assert.deepEqual(await journal.post('s', prompt('new'), 'k', 1), { seq: 2, duplicate: false });
  },
  async 'after close every call is refused, and closing again does no harm'({ journal }) {
    await journal.create('s', created('s'));
    const reading = journal.read('s', 1);
    await journal.close();
    await journal.close();
    await rejects(journal.create('t', created('t')), 'journal_failed', /closed/);
    await rejects(journal.claim('s', owner('a')), 'journal_failed');
    await rejects(journal.append('s', 1, 1, [noted('n')]), 'journal_failed');
    await rejects(journal.post('s', prompt('p'), 'k', 1), 'journal_failed');
    await rejects(journal.list(), 'journal_failed');
    await rejects(journal.remove('s'), 'journal_failed');
    await rejects(Promise.resolve(reading[Symbol.asyncIterator]().next()), 'journal_failed');
    await turnOfLoop();
  },
};
