import { createSession, defineAgent, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { expect, it } from 'vitest';

import { promptOf, typed } from '../../terminal/session/session.ts';
import type { CliIo } from '../io.ts';
import { openLive } from '../sessions/live.ts';
import { localSession } from './local-session.ts';

it('takes up a second message that is sent before the run of the first one is seen', async () => {
  const journal = memoryJournal();
  const agent = defineAgent({ model: scriptedModel(['Hello.', 'Hello again.']) });
  const session = await createSession(agent, { journal });
  const failed: unknown[] = [];
  const live = await openLive({} as CliIo, false);
  const local = localSession(session, { journal, live, seq: 0, fail: (error) => void failed.push(error) });
  await Promise.all(['First.', 'Second.'].map((text) => local.post(promptOf([{ type: 'text', text }]))));
  await session.idle();
  const said = session.messages.flatMap((message) => (message.role === 'user' ? message.content : []));
  expect(said).toMatchObject([{ text: 'First.' }, { text: 'Second.' }]);
  expect(failed).toEqual([]);
  await local.close();
});

it.each(['steering', 'follow_up'] as const)('answers a %s whose run has ended since it was typed', async (type) => {
  const journal = memoryJournal();
  const agent = defineAgent({ model: scriptedModel(['Hello.', 'Hello again.']) });
  const session = await createSession(agent, { journal });
  const live = await openLive({} as CliIo, false);
  const local = localSession(session, { journal, live, seq: 0, fail: () => {} });
  await local.post(promptOf([{ type: 'text', text: 'First.' }]));
  await session.idle();
  await local.post(typed(type, [{ type: 'text', text: 'Second.' }]));
  await session.idle();
  expect(session.messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'Hello again.' }] });
  await local.close();
});
