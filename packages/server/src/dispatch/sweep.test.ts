import { memoryJournal, type Journal } from '@treadle/core';
import { logOf, scriptedModel, testClock } from '@treadle/testing';
import { expect, it } from 'vitest';
import { startServer } from '../test-support/server.ts';

const prompt = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hi.' }] }] } as const;
const created = (sessionId: string) =>
  ({ type: 'session_created', at: 1, eventVersion: 1, sessionId, agentId: 'agent' }) as const;

async function sleeping(journal: Journal, sessionId: string, wakeAt: number | null): Promise<void> {
  await journal.create(sessionId, created(sessionId));
  const claim = await journal.claim(sessionId, { id: 'a', label: 'a' });
  await claim.release({ seen: 1, wakeAt, status: 'paused', waitsFor: ['approval'] });
}

it('10,000 sleeping sessions: none is opened at the start', async () => {
  const inner = memoryJournal();
  const clock = testClock();
  for (let count = 0; count < 10_000; count += 1) await sleeping(inner, `s${count}`, clock.now() + 60_000);
  let opened = 0;
  const journal: Journal = {
    ...inner,
    read: (sessionId, from) => {
      opened += 1;
      return inner.read(sessionId, from);
    },
  };
  const server = await startServer({ model: scriptedModel([]) }, { journal, clock });
  expect(await server.recovered).toEqual([]);
  await clock.advance(1000);
  expect(opened).toBe(0);
});

it('what was posted elsewhere is done, and a session whose time has come is looked after, within a second', async () => {
  const journal = memoryJournal();
  const clock = testClock();
  await sleeping(journal, 'later', clock.now() + 60_000);
  const server = await startServer({ model: scriptedModel(['Hello.']) }, { journal, clock });
  await server.recovered;
  await journal.create('s', created('s'));
  await journal.post('s', prompt, 'k', clock.now());
  await clock.advance(1000);
  expect((await logOf(journal, 's')).at(-1)?.type).toBe('run_ended');
  expect(await journal.due({ before: clock.now() + 60_000 })).toMatchObject([{ sessionId: 'later' }]);
  await clock.advance(60_000);
  expect(await journal.due({ before: Infinity })).toEqual([]);
});

it('a session of an agent that is not here is left to others', async () => {
  const journal = memoryJournal();
  const clock = testClock();
  await journal.create('s', { ...created('s'), agentId: 'somebody' });
  await journal.post('s', prompt, 'k', clock.now());
  const server = await startServer({ model: scriptedModel([]) }, { journal, clock });
  expect(await server.recovered).toEqual([]);
  expect(await journal.due({ before: Infinity })).toMatchObject([{ sessionId: 's' }]);
});
