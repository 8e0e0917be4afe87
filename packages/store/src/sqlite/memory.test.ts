import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FinishedRun, MemoryQuery } from '@treadle/core/features';
import { memoryContract, testClock } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { type SqliteMemory, type SqliteMemoryOptions, sqliteJournal, sqliteMemory } from '../index.ts';
import { loadSqlite } from './load.ts';

const { DatabaseSync } = loadSqlite();
const folders: string[] = [];
const memories: SqliteMemory[] = [];

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-memory-'));
  folders.push(folder);
  return join(folder, 'memory.db');
}

function open(options: Partial<SqliteMemoryOptions> = {}): SqliteMemory {
  const memory = sqliteMemory({ path: newPath(), ...options });
  memories.push(memory);
  return memory;
}

afterEach(async () => {
  await Promise.all(memories.splice(0).map((memory) => memory.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const signal = new AbortController().signal;
const scope = { sessionId: 's', agentId: 'agent', signal, messages: [] };
const AT = Date.UTC(2026, 0, 2);
const finished = (runId: string, prompt: string, answer: string, over: Partial<FinishedRun> = {}): FinishedRun => ({
  ...scope,
  runId,
  prompt,
  answer,
  at: AT,
  ...over,
});
const asked = (query: string, over: Partial<MemoryQuery> = {}): MemoryQuery => ({
  ...scope,
  runId: 'new',
  query,
  ...over,
});

describe('sqliteMemory keeps the contract of memories', () => {
  const make = () => {
    const path = newPath();
    const memory = open({ path });
    return { memory, open: async () => open({ path }), dispose: () => memory.close() };
  };
  for (const { name, run } of memoryContract(make, { shared: true })) it(name, run);
});

describe('what sqliteMemory remembers', () => {
  it('says when it was, what was asked and what was answered', async () => {
    const memory = open();
    await memory.update(finished('r1', 'Which database?', 'SQLite.'));
    expect(await memory.retrieve(asked('databases'))).toEqual([
      '2026-01-02, the user said: Which database?\nThe answer was: SQLite.',
    ]);
  });

  it('is found by other forms of a word, and without its accents', async () => {
    const memory = open();
    await memory.update(finished('r1', 'We migrated the café.', 'Good.'));
    for (const query of ['migrating', 'migrations', 'cafe'])
      expect(await memory.retrieve(asked(query))).toHaveLength(1);
  });

  it('is found by the parts of a name', async () => {
    const memory = open();
    await memory.update(finished('r1', 'Look at src/parser_state.test.ts', 'Good.'));
    for (const query of ['the parser', 'state', 'parser_state.test.ts'])
      expect(await memory.retrieve(asked(query))).toHaveLength(1);
  });

  it('is as many runs as asked for, the newest of equals first, each cut in the middle', async () => {
    const memory = open({ limit: 2, maxLength: 100 });
    for (let run = 0; run < 5; run += 1)
      await memory.update(finished(`r${run}`, `Deploy ${'x'.repeat(500)} end`, `Number ${run}.`, { at: AT + run }));
    const texts = (await memory.retrieve(asked('deploy'))) as string[];
    expect(texts.map((text) => /Number \d/.exec(text)?.[0])).toEqual(['Number 4', 'Number 3']);
    expect(texts[0]).toMatch(/: Deploy x{43}\n\[…\]\nx{46} end\n/);
  });
});

describe('namespaces', () => {
  it('are the agent, a name, or whatever a run says', async () => {
    const path = newPath();
    const byUser = open({ path, namespace: ({ metadata }) => metadata?.['user'] as string });
    await byUser.update(finished('r1', 'My colour is blue.', 'Noted.', { metadata: { user: 'ann' } }));
    expect(await byUser.retrieve(asked('colour', { metadata: { user: 'ann' } }))).toHaveLength(1);
    for (const user of ['bob', 'an', 'ann ', 'n1', '1']) {
      expect(await byUser.retrieve(asked('colour n1', { metadata: { user } }))).toEqual([]);
    }
    expect(await open({ path, namespace: 'ann' }).retrieve(asked('colour'))).toHaveLength(1);
    expect(await open({ path }).retrieve(asked('colour'))).toEqual([]);
  });

  it('must have a name: what belongs to nobody is not everybody’s', async () => {
    const memory = open({ namespace: () => '' });
    const error = { code: 'invalid_definition' };
    await expect(memory.update(finished('r', 'a', 'b'))).rejects.toMatchObject(error);
    await expect(memory.retrieve(asked('a'))).rejects.toMatchObject(error);
  });

  it('can be forgotten, the words too', async () => {
    const path = newPath();
    const memory = open({ path });
    await memory.update(finished('r1', 'A secret plan.', 'Noted.'));
    await memory.update(finished('r2', 'A secret plan.', 'Noted.', { agentId: 'other' }));
    expect(await memory.forget('agent')).toBe(1);
    expect(await memory.forget('agent')).toBe(0);
    expect(await memory.forget('nobody')).toBe(0);
    expect(await memory.retrieve(asked('secret'))).toEqual([]);
    expect(await memory.retrieve(asked('secret', { agentId: 'other' }))).toHaveLength(1);
    await memory.close();
    const db = new DatabaseSync(path);
    expect(db.prepare('SELECT count(*) AS count FROM memory_words').get()).toEqual({ count: 1 });
    db.close();
  });
});

describe('the file', () => {
  it('is made when first needed, for its owner alone, and may be the one of a journal', async () => {
    const path = newPath();
    const memory = open({ path });
    expect(() => statSync(path)).toThrow();
    await memory.update(finished('r1', 'Which database?', 'SQLite.'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const journal = sqliteJournal({ path });
    await journal.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
    expect((await journal.list()).sessions).toHaveLength(1);
    await journal.close();
    expect(await memory.retrieve(asked('database'))).toHaveLength(1);
  });

  it('is waited for while another process writes, and not for ever', async () => {
    const path = newPath();
    const clock = testClock();
    const memory = open({ path, clock, lockTimeoutMs: 1000 });
    await memory.update(finished('r1', 'a', 'b'));
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const late = memory.update(finished('r2', 'c', 'd')).catch((error: unknown) => error);
    await clock.advance(1100);
    expect(await late).toMatchObject({ code: 'journal_failed' });
    const patient = memory.update(finished('r2', 'deploy', 'd'));
    await clock.advance(500);
    other.exec('COMMIT');
    other.close();
    await clock.advance(100);
    await patient;
    expect(await memory.retrieve(asked('deploy'))).toHaveLength(1);
  });

  it('is closed for good', async () => {
    const memory = open();
    await memory.close();
    await expect(memory.retrieve(asked('a'))).rejects.toMatchObject({ code: 'journal_failed' });
  });

  it.each([{ path: '' }, { path: ':memory:' }, { limit: 0 }, { maxLength: 1.5 }])('%j is refused', (options) => {
    expect(() => sqliteMemory({ path: '/tmp/never-made.db', ...options })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});
