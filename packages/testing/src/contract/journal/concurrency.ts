import assert from 'node:assert/strict';
import type { Journal } from '@treadle/core';
import { chanceOf } from '../../chance.ts';
import type { JournalCases } from './case.ts';
import { created, labelOf, noted, owner, prompt, readAll, rejects, turnOfLoop } from './support.ts';

/** Label of an acknowledged write → its number. */
type Acknowledged = Map<string, number>;

async function drive(
  journal: Journal,
  sessionId: string,
  count: number,
  acknowledged: Acknowledged,
  random: () => number,
) {
  const claim = await journal.claim(sessionId, owner('drive'));
  let seq = claim.seq;
  for (let next = 0; next < count;) {
    const size = 1 + Math.floor(random() * 3);
    const batch = Array.from({ length: size }, (_, index) => noted(`d${next + index}`));
    const outcome = await journal.append(sessionId, claim.epoch, seq, batch);
    if (!outcome.ok) {
      assert.ok(outcome.seq > seq, 'the log is ahead');
      for await (const event of journal.read(sessionId, seq + 1)) seq = event.seq;
      continue;
    }
    for (const event of outcome.events) acknowledged.set(labelOf(event), event.seq);
    seq += size;
    next += size;
    if (random() < 0.3) await turnOfLoop();
  }
  await claim.release();
}

async function poster(
  journal: Journal,
  sessionId: string,
  name: string,
  acknowledged: Acknowledged,
  random: () => number,
) {
  for (let index = 0; index < 8; index++) {
    const key = `${name}${index}`;
    const { seq, duplicate } = await journal.post(sessionId, prompt(key), key, 1);
    assert.equal(duplicate, false);
    acknowledged.set(key, seq);
    if (random() < 0.3) {
      assert.deepEqual(await journal.post(sessionId, prompt(key), key, 2), { seq, duplicate: true });
    }
    if (random() < 0.5) await turnOfLoop();
  }
}

async function interleave(journal: Journal, sessionId: string, random: () => number): Promise<void> {
  await journal.create(sessionId, created(sessionId));
  const acknowledged: Acknowledged = new Map([['session_created', 1]]);
  const posters = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => `p${index}.`);
  await Promise.all([
    drive(journal, sessionId, 20, acknowledged, random),
    ...posters.map((name) => poster(journal, sessionId, name, acknowledged, random)),
  ]);
  const log = await readAll(journal, sessionId);
  assert.deepEqual(
    log.map((event) => event.seq),
    log.map((_, index) => index + 1),
    'the numbers have no gaps',
  );
  assert.deepEqual(
    new Map(log.map((event) => [labelOf(event), event.seq])),
    new Map([...acknowledged].sort((a, b) => a[1] - b[1])),
    'the log is what was acknowledged, at the numbers that were named',
  );
}

/** Many at once. */
export const concurrency: JournalCases = {
  async 'however posts and appends interleave, the log is exactly what was acknowledged'({ journal }, { seed, runs }) {
    for (let index = 0; index < runs; index++) {
      try {
        await interleave(journal, `s${index}`, chanceOf(seed + index));
      } catch (error) {
        if (error instanceof Error)
          error.message += `\n(seed ${seed + index}: give { seed: ${seed + index}, runs: 1 })`;
        throw error;
      }
    }
  },
  async 'of many that claim at once, one gets the session'({ journal }) {
    await journal.create('s', created('s'));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => journal.claim('s', owner(`o${index}`))),
    );
    const held = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    assert.equal(held.length, 1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') await rejects(Promise.reject(outcome.reason as Error), 'session_busy');
  },
  async 'of many that create one session or post one key at once, one writes'({ journal }) {
    const creations = await Promise.allSettled(Array.from({ length: 5 }, () => journal.create('s', created('s'))));
    assert.equal(creations.filter((outcome) => outcome.status === 'fulfilled').length, 1);
    const posts = await Promise.all(Array.from({ length: 5 }, () => journal.post('s', prompt('p'), 'k', 1)));
    assert.deepEqual(new Set(posts.map((post) => post.seq)), new Set([2]));
    assert.equal(posts.filter((post) => !post.duplicate).length, 1);
    assert.equal((await readAll(journal, 's')).length, 2);
  },
};
