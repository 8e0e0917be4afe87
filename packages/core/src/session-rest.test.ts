import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { logOf, scriptedModel, type Turn } from '@treadle/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Journal,
  type Session,
} from './index.ts';
import { partsOf } from './session-handle.ts';

// What a process does with sessions that nobody uses: their state goes when the engine collects memory, and comes back.

let collect: () => void;

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as () => void;
});

/** Collects memory until the state that the session has now is gone; false when it stays. */
async function rests(session: Session): Promise<boolean> {
  const state = new WeakRef(partsOf(session).state);
  for (let round = 0; round < 20; round++) {
    // What was looked at in this turn of the event loop stays until the next.
    await new Promise((resolve) => setTimeout(resolve, 1));
    collect();
    if (state.deref() === undefined) return true;
  }
  return false;
}

const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'nothing' });
const ask = defineTool({ name: 'ask', description: 'Asks the client.', runs: 'client' });

/** Long enough to be worth the trouble. */
const HISTORY = Array.from({ length: 30 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `Number ${index}.`,
}));

async function longSession(...[agent, options]: Parameters<typeof createSession>): Promise<Session> {
  const session = await createSession(agent, options);
  await session.importMessages(HISTORY);
  return session;
}

const agentSaying = (...turns: readonly (Turn | string)[]) =>
  defineAgent({ model: scriptedModel(turns, { record: false }), tools: [look, ask] });

describe('a session that nobody uses', () => {
  it('lets go of its state, and is as it was for whoever comes back', async () => {
    const agent = agentSaying({ toolCalls: [{ name: 'look' }] }, 'Nothing there.', 'Still nothing.');
    const session = await longSession(agent, { title: 'Looking' });
    await session.prompt('Look — “there”.').result;
    const before = structuredClone(session.messages);

    expect(await rests(session)).toBe(true);
    expect(session.messages).toEqual(before);
    expect(session.title).toBe('Looking');
    expect(session.hasOpenRun).toBe(false);

    expect(await rests(session)).toBe(true);
    const { finalAnswer } = await session.prompt('Again.').result;
    expect(finalAnswer).toBe('Still nothing.');
    expect(session.messages.slice(0, before.length)).toEqual(before);
    expect(await rests(session)).toBe(true);
    expect(session.messages).toHaveLength(before.length + 2);
  });

  it('rests while its run waits for a client, and goes on when the client comes', async () => {
    const session = await longSession(agentSaying({ toolCalls: [{ name: 'ask' }] }, 'Thanks.'));
    expect(await session.prompt('Ask.').end).toBe('paused');
    expect(await rests(session)).toBe(true);
    const [pending] = session.pending;
    const run = session.submitToolResults([{ callId: pending?.callId ?? '', content: 'yes' }]);
    expect((await run.result).finalAnswer).toBe('Thanks.');
  });

  it('has what it had after it was removed, and after its journal was closed', async () => {
    const journal = memoryJournal();
    const agent = agentSaying('One.', 'Two.');
    const removed = await longSession(agent, { journal });
    const closed = await longSession(agent, { journal });
    await removed.prompt('Go.').result;
    await closed.prompt('Go.').result;
    const messages = [removed.messages, closed.messages];
    expect(await rests(removed)).toBe(true);
    expect(await rests(closed)).toBe(true);
    await journal.remove(removed.id);
    await journal.close();
    expect([removed.messages, closed.messages]).toEqual(messages);
  });

  it('sees what another handle has written meanwhile', async () => {
    const journal = memoryJournal();
    const agent = agentSaying('One.', 'Two.');
    const session = await longSession(agent, { journal });
    await session.prompt('Go.').result;
    expect(await rests(session)).toBe(true);
    await (await openSession(agent, session.id, { journal })).prompt('And?').result;
    await session.refresh();
    expect(session.messages).toHaveLength(HISTORY.length + 4);
  });

  it('is forked, read and continued from its packed log', async () => {
    const journal = memoryJournal();
    const agent = agentSaying('One.', 'Two.');
    const session = await longSession(agent, { journal });
    await session.prompt('Go.').result;
    const log = await logOf(journal, session.id);
    expect(await rests(session)).toBe(true);
    expect(await logOf(journal, session.id)).toEqual(log);
    await journal.create(
      'fork',
      { type: 'session_created', at: 1, eventVersion: 1, sessionId: 'fork' },
      { sessionId: session.id, seq: log.length },
    );
    expect((await logOf(journal, 'fork')).slice(0, log.length)).toEqual(log);
  });
});

describe('a session that something goes on in', () => {
  it('keeps its state during a run', async () => {
    const hold = Promise.withResolvers<void>();
    const session = await longSession(agentSaying({ text: 'Done.', wait: hold.promise }));
    const run = session.prompt('Go.');
    await run.id;
    expect(await rests(session)).toBe(false);
    hold.resolve();
    expect((await run.result).finalAnswer).toBe('Done.');
  });

  it('keeps it while it is short, for there is little to gain', async () => {
    const session = await createSession(agentSaying('Done.'));
    await session.prompt('Go.').result;
    expect(await rests(session)).toBe(false);
  });

  it('keeps it where its journal is not in this process', async () => {
    const { rest: _, ...journal } = memoryJournal();
    const session = await longSession(agentSaying('Done.'), { journal: journal satisfies Journal });
    await session.prompt('Go.').result;
    expect(await rests(session)).toBe(false);
  });
});
