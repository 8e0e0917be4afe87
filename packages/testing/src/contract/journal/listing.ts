import assert from 'node:assert/strict';
import type { JournalCases } from './case.ts';
import { append, created, ids, noted, owner, prompt } from './support.ts';

export const listing: JournalCases = {
  async 'an empty journal lists nothing'({ journal }) {
    assert.deepEqual(await journal.list(), { sessions: [] });
  },
  async 'a row says when, who, how far and how it began'({ journal }) {
    await journal.create('s', created('s', 10, { agentId: 'helper' }));
    await journal.post('s', { type: 'cancel' }, 'c', 15);
    await journal.post('s', prompt('First\n  prompt'), 'k', 20);
    await journal.post('s', prompt('second'), 'l', 30);
    assert.deepEqual(await journal.list(), {
      sessions: [
        { sessionId: 's', seq: 4, createdAt: 10, updatedAt: 30, agentId: 'helper', firstPrompt: 'First prompt' },
      ],
    });
  },
  async 'a long first prompt is cut at 120 characters, never inside one'({ journal }) {
    await journal.create('s', created('s'));
    await journal.post('s', prompt(`${'x'.repeat(119)}👋${'y'.repeat(100_000)}`), 'k', 1);
    assert.equal((await journal.list()).sessions[0]?.firstPrompt, 'x'.repeat(119));
  },
  async 'the session last written to comes first; of equals the one created later'({ journal }) {
    await journal.create('a', created('a', 1));
    await journal.create('b', created('b', 1));
    await journal.create('c', created('c', 1));
    assert.deepEqual(await ids(journal), ['c', 'b', 'a']);
    await journal.post('a', prompt('p'), 'k', 2);
    assert.deepEqual(await ids(journal), ['a', 'c', 'b']);
    const claim = await journal.claim('b', owner('o'));
    await append(journal, claim, 1, noted('n', 3));
    assert.deepEqual(await ids(journal), ['b', 'a', 'c']);
  },
  async 'pages follow each other without gap or repeat, and the last has no cursor'({ journal }) {
    for (let index = 0; index < 10; index++) await journal.create(`s${index}`, created(`s${index}`, index >> 1));
    const expected = Array.from({ length: 10 }, (_, index) => `s${9 - index}`);
    for (const limit of [1, 3, 5, 10, 11]) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await journal.list({ limit, ...(cursor !== undefined && { cursor }) });
        assert.ok(page.sessions.length <= limit && page.sessions.length > 0);
        seen.push(...page.sessions.map((row) => row.sessionId));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen, expected);
    }
  },
  async 'what is written to between two pages is not listed twice'({ journal }) {
    for (let index = 0; index < 6; index++) await journal.create(`s${index}`, created(`s${index}`, index));
    const first = await journal.list({ limit: 2 });
    await journal.post('s5', prompt('p'), 'k', 100);
    await journal.remove('s4');
    assert.ok(first.cursor !== undefined);
    assert.deepEqual(await ids(journal, { cursor: first.cursor }), ['s3', 's2', 's1', 's0']);
  },
  async 'fifty rows by default'({ journal }) {
    for (let index = 0; index < 51; index++) await journal.create(`s${index}`, created(`s${index}`, index));
    const page = await journal.list();
    assert.equal(page.sessions.length, 50);
    assert.ok(page.cursor !== undefined);
  },
  async 'only an agent’s sessions, when asked'({ journal }) {
    await journal.create('a', created('a', 1, { agentId: 'x' }));
    await journal.create('b', created('b', 2, { agentId: 'y' }));
    await journal.create('c', created('c', 3));
    await journal.create('d', created('d', 4, { agentId: 'x' }));
    assert.deepEqual(await ids(journal, { agentId: 'x' }), ['d', 'a']);
    const first = await journal.list({ agentId: 'x', limit: 1 });
    assert.ok(first.cursor !== undefined);
    assert.deepEqual(await ids(journal, { agentId: 'x', limit: 1, cursor: first.cursor }), ['a']);
    assert.deepEqual(await ids(journal, { agentId: 'nobody' }), []);
  },
  async 'a row has the title and the tags that the session was given last'({ journal }) {
    const previous = { sessionId: 'old', lastActiveAt: 5, thresholdMs: 2 };
    await journal.create('s', created('s', 10, { title: 'First', tags: ['b', 'a'], previous }));
    assert.deepEqual((await journal.list()).sessions, [
      { sessionId: 's', seq: 1, createdAt: 10, updatedAt: 10, title: 'First', tags: ['a', 'b'], previous },
    ]);
    await journal.post('s', { type: 'rename', title: 'Made up', by: 'model' }, 'k1', 11);
    await journal.post('s', { type: 'rename', title: ' Sec\u0000ond\n' }, 'k2', 12);
    await journal.post('s', { type: 'tag', add: ['c', 'b', "it's"], remove: ['a'] }, 'k3', 13);
    await journal.post('s', { type: 'tag', add: ['again'] }, 'k3', 14);
    const claim = await journal.claim('s', owner('o'));
    const input = { type: 'tag', add: ['d'] } as const;
    await append(journal, claim, 4, { type: 'input_received', at: 15, key: 'k4', input });
    const [row] = (await journal.list()).sessions;
    assert.deepEqual([row?.title, row?.tags, row?.previous], ['Sec ond', ['b', 'c', 'd', "it's"], previous]);
    await journal.post('s', { type: 'tag', remove: ['b', 'c', 'd', "it's"] }, 'k5', 16);
    assert.equal(Object.hasOwn((await journal.list()).sessions[0] ?? {}, 'tags'), false);
  },
  async 'a fork has its own title and tags, and none of its parent’s'({ journal }) {
    await journal.create('s', created('s', 1, { title: 'Parent', tags: ['x'] }));
    await journal.create('f', created('f', 2, { tags: ['y'] }), { sessionId: 's', seq: 1 });
    await journal.post('s', { type: 'tag', add: ['later'] }, 'k', 3);
    const rows = (await journal.list()).sessions.map(({ sessionId, title, tags }) => [sessionId, title, tags]);
    assert.deepEqual(rows, [
      ['s', 'Parent', ['later', 'x']],
      ['f', undefined, ['y']],
    ]);
  },
  async 'only sessions with a tag, when asked, in pages'({ journal }) {
    for (let index = 0; index < 6; index++) {
      const tags = index % 2 === 0 ? ['even', '100%'] : ['odd'];
      await journal.create(`s${index}`, created(`s${index}`, index, { agentId: index < 3 ? 'x' : 'y', tags }));
    }
    assert.deepEqual(await ids(journal, { tag: 'even' }), ['s4', 's2', 's0']);
    assert.deepEqual(await ids(journal, { tag: 'even', agentId: 'x' }), ['s2', 's0']);
    const first = await journal.list({ tag: '100%', limit: 2 });
    assert.ok(first.cursor !== undefined);
    assert.deepEqual(await ids(journal, { tag: '100%', limit: 2, cursor: first.cursor }), ['s0']);
    assert.deepEqual(await ids(journal, { tag: 'eve' }), []);
    await journal.post('s1', { type: 'tag', add: ['even'] }, 'k', 10);
    assert.deepEqual(await ids(journal, { tag: 'even' }), ['s1', 's4', 's2', 's0']);
  },
};
