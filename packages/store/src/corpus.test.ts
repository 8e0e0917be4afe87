import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSession, defineAgent, defineTool, openSession, type DurableEvent, type Journal } from '@treadle/core';
import { journalOf, logOf, scriptedModel } from '@treadle/testing';
import { upToDate } from '@treadle/core/journal';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { openStore, type StoreAt } from './test-support/stores.ts';
import { useStores } from './test-support/use-stores.ts';
import { loadSqlite } from './sqlite/load.ts';

// The logs that versions of core have written. They are data: what they fold to is core's to check.
const logs = join(import.meta.dirname, '../../core/src/test-support/corpus');
const logNames = readdirSync(logs)
  .filter((file) => file.endsWith('.jsonl'))
  .map((file) => file.slice(0, -'.jsonl'.length));

const logNamed = (name: string): DurableEvent[] =>
  readFileSync(join(logs, `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as DurableEvent);

const tools = [
  defineTool({ name: 'pick', description: 'Asks for a colour.', runs: 'client' }),
  defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'Paid.' }),
];
const agentSaying = (...turns: string[]) => defineAgent({ model: scriptedModel(turns), tools });

/** What anyone can see of a session. */
async function seenOf(journal: Journal) {
  const session = await openSession(agentSaying(), 's1', { journal });
  const { messages, pending, status } = session;
  return { messages, pending, status, queued: await session.queued() };
}

const FIXTURES = join(import.meta.dirname, 'test-support/corpus');

/** Makes what the first version of a journal has written: session `s` with three events, and `f`, forked from its second. */
async function putOldStore({ kind, place }: StoreAt): Promise<StoreAt> {
  if (kind === 'files') {
    cpSync(join(FIXTURES, 'files-format-1'), join(place, 'journal'), { recursive: true });
    return { kind, place };
  }
  if (kind === 'SQLite') {
    const { DatabaseSync } = loadSqlite();
    const db = new DatabaseSync(join(place, 'journal.db'));
    db.exec(readFileSync(join(FIXTURES, 'sqlite-format-1.sql'), 'utf8'));
    db.close();
    return { kind, place };
  }
  const sql = postgres(place, { max: 1, onnotice: () => {} });
  await sql.unsafe(readFileSync(join(FIXTURES, 'postgres-version-7.sql'), 'utf8'));
  await sql.end();
  return { kind, place, schema: 'old' };
}

describe.each(['files', 'SQLite', 'Postgres'] as const)('what older versions wrote, in %s', (kind) => {
  const newStore = useStores(kind);

  it.each(logNames)(
    'S10: a log is read in the words of this version, and opens as it does in memory: %s',
    async (name) => {
      const log = logNamed(name);
      const store = newStore();
      await journalOf(log, await store.open());
      const again = await store.open();
      const known = log.map(upToDate);
      expect(await logOf(again, 's1')).toEqual(known);
      expect(await seenOf(again)).toEqual(await seenOf(await journalOf(known)));
      expect(await logOf(again, 's1')).toEqual(known);
    },
  );

  it.each(logNames.filter((name) => name.endsWith('-paused')))(
    'S10: a log goes on where it waited: %s',
    async (name) => {
      const store = newStore();
      await journalOf(logNamed(name), await store.open());
      const session = await openSession(agentSaying('It is paid.', 'Thank you.'), 's1', {
        journal: await store.open(),
      });
      const { pending } = await session.resume().result;
      const question = pending.find(({ approvalId }) => approvalId !== undefined);
      await session.approve(question?.approvalId ?? '').result;
      const call = pending.find(({ toolName }) => toolName === 'pick');
      const result = await session.addToolOutputs([{ callId: call?.callId ?? '', content: 'blue' }]).result;
      expect(result).toMatchObject({ status: 'completed', text: 'Thank you.', turns: 3 });
    },
  );

  it('S10: a store of the first version is read, brought up to date, and gone on with', async () => {
    const journal = openStore(await putOldStore(newStore().at));
    try {
      const types = (await logOf(journal, 's')).map(({ type }) => type);
      expect(types).toEqual(['session_created', 'input_received', 'task_updated']);
      const claim = await journal.claim('s', { id: 'a', label: 'a' });
      expect(claim.epoch).toBe(2);
      const event = { type: 'task_updated', at: 9, taskId: 't', status: 'completed' } as const;
      expect((await journal.append('s', claim.epoch, 3, [event])).ok).toBe(true);
      await claim.release();
      const input = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hello' }] }] } as const;
      expect(await journal.post('s', input, 'k', 9)).toEqual({ seq: 2, duplicate: true });
      await journal.create(
        'f2',
        { type: 'session_created', at: 9, eventVersion: 1, sessionId: 'f2', fork: { sessionId: 's', seq: 2 } },
        { sessionId: 's', seq: 2 },
      );
      await journal.remove('s');
      expect((await logOf(journal, 'f2')).map(({ type }) => type)).toEqual([
        'session_created',
        'input_received',
        'session_created',
      ]);
      const session = await createSession(agentSaying('Still here.'), { journal, id: 'new' });
      expect((await session.prompt('Hello?').result).text).toBe('Still here.');
      const listed = (await journal.list()).sessions.map(({ sessionId }) => sessionId);
      expect(listed).toEqual(expect.arrayContaining(['f2', 'new']));
      expect(listed).not.toContain('s');
    } finally {
      await journal.close();
    }
  });
});
