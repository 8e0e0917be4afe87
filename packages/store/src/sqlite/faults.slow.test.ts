// @module-tag slow

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession, defineAgent, defineTool, openSession, type DurableEvent, type Journal } from '@treadle/core';
import { logOf, scriptedModel } from '@treadle/testing';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sqliteJournal } from '../index.ts';
import { loadSqlite } from './load.ts';

const { DatabaseSync } = loadSqlite();
type DatabaseSync = InstanceType<typeof DatabaseSync>;
const folders: string[] = [];
const journals: Journal[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'treadle-faults-'));
  folders.push(folder);
  return folder;
}

/** Each for a machine of its own: what another machine held is nobody's here. */
function open(path: string): Journal {
  const processes = { self: () => ({ pid: 1, start: null, host: path }), isGone: () => true };
  const journal = sqliteJournal({ path, processes });
  journals.push(journal);
  return journal;
}

afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const created = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' } as const;
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

/** A journal whose file may have so many pages: SQLite says then what it says when the disk is full. */
async function limited(path: string, pages: number): Promise<Journal> {
  const { exec } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, source) {
    exec.call(this, source);
    if (source.includes('busy_timeout')) exec.call(this, `PRAGMA max_page_count = ${pages}`);
  });
  const journal = open(path);
  await journal.list().catch(() => {});
  spy.mockRestore();
  return journal;
}

/** What can be read before an error, and its code. */
async function readable(journal: Journal): Promise<{ events: DurableEvent[]; code: unknown }> {
  const events: DurableEvent[] = [];
  try {
    for await (const event of journal.read('s', 1)) events.push(event);
    return { events, code: null };
  } catch (error) {
    return { events, code: (error as { readonly code?: unknown }).code };
  }
}

describe('a row of which a byte was changed', () => {
  it('S4: is found out by its checksum, and the events before it can be read', async () => {
    const path = join(newFolder(), 'journal.db');
    const journal = open(path);
    await journal.create('s', created);
    for (let index = 0; index < 4; index += 1)
      await journal.post('s', note(`note ${index} 😀`), `k${index}`, 1e12 + index);
    const wanted = await logOf(journal, 's');
    await journal.close();
    const whole = readFileSync(path);
    const body = whole.indexOf(JSON.stringify({ ...wanted[2], seq: undefined }));
    const end = whole.indexOf('}]}]}}', body) + 6;
    expect([body, end - body]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(body).toBeGreaterThan(4096);
    let found = 0;
    // The row's header and its columns before the body take less than 24 bytes, its checksum after it 4.
    for (let index = body - 24; index < end + 4; index += 1) {
      const changed = Buffer.from(whole);
      changed[index] = (changed[index] ?? 0) ^ (1 << (index % 8));
      writeFileSync(path, changed);
      const again = open(path);
      const { events, code } = await readable(again);
      await again.close();
      expect(events, `byte ${index - body} of the body`).toEqual(wanted.slice(0, events.length));
      if (events.length === wanted.length) continue;
      expect(code).toBe('journal_corrupt');
      found += 1;
      if (index >= body && index < end) expect(events.length).toBe(2);
    }
    // Some of those before the body are of the page or of the row before.
    expect(found).toBeGreaterThan(end - body + 4);
  });

  it('S4: is found out when the change is still JSON', { tags: ['share'] }, async () => {
    const path = join(newFolder(), 'journal.db');
    const journal = open(path);
    await journal.create('s', created);
    await journal.post('s', note('pay 100'), 'k', 2);
    const db = new DatabaseSync(path);
    db.exec(`UPDATE events SET body = replace(body, 'pay 100', 'pay 900')`);
    db.close();
    expect(await readable(journal)).toMatchObject({ events: [{ type: 'session_created' }], code: 'journal_corrupt' });
  });
});

const agent = defineAgent({
  model: scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { text: 'I act.', toolCalls: [{ name: 'act' }] },
  ),
  tools: [defineTool({ name: 'act', description: 'Acts.', replay: 'safe', execute: () => 'acted' })],
});

describe('copies of the database and its log, torn at any moment', () => {
  it('S5: have what was acknowledged before, when what wasn’t synced is kept, dropped or torn', async () => {
    const path = join(newFolder(), 'journal.db');
    const journal = open(path);
    await journal.create('s', created);
    /** The files after each write: what SQLite has synced by then it never changes in the log, but adds to it. */
    const moments: { readonly database: Buffer; readonly log: Buffer; readonly events: readonly DurableEvent[] }[] = [];
    for (let index = 0; index < 60; index += 1) {
      await journal.post('s', note('x'.repeat((index * 97) % 3000)), `k${index}`, 2);
      const database = readFileSync(path);
      moments.push({ database, log: readFileSync(`${path}-wal`), events: await logOf(journal, 's') });
    }
    let torn = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: moments.length - 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.boolean(),
        async (index, part, zeros) => {
          const [before, after] = [moments[index - 1], moments[index]];
          if (!before || !after) return;
          // Amid the write after `before`: of what that adds to the log, a part is there; behind it nothing, or zeros.
          const grown = after.log.length - before.log.length;
          const cut = before.log.length + Math.floor(grown * part);
          const tail = zeros ? Buffer.alloc(after.log.length - cut) : Buffer.alloc(0);
          const place = join(newFolder(), 'journal.db');
          writeFileSync(place, before.database);
          writeFileSync(`${place}-wal`, Buffer.concat([after.log.subarray(0, cut), tail]));
          const copy = open(place);
          const { events, code } = await readable(copy);
          expect(code).toBeNull();
          expect([before.events, after.events]).toContainEqual(events);
          if (events.length === before.events.length && grown > 0) torn += 1;
          const claim = await copy.claim('s', { id: 'a', label: 'a' });
          const [next] = moments[0]?.events.slice(1) ?? [];
          if (next) expect((await copy.append('s', claim.epoch, events.length, [{ ...next }])).ok).toBe(true);
          await copy.close();
        },
      ),
      { numRuns: 60 },
    );
    expect(torn).toBeGreaterThan(10);
  });
});

describe('a full disk', () => {
  it('S6: stops a run with an error wherever it fills up, and nothing is said to be saved that is not', async () => {
    const full = join(newFolder(), 'journal.db');
    const whole = open(full);
    await (await createSession(agent, { journal: whole, id: 's' })).prompt('x'.repeat(30_000)).result;
    const pages = Math.ceil(statSync(full).size / 4096);
    await whole.close();
    const most = Math.max(pages, Math.ceil(statSync(full).size / 4096));
    let failed = 0;
    for (let room = 10; room <= most + 1; room += 1) {
      const path = join(newFolder(), 'journal.db');
      const journal = await limited(path, room);
      const told: number[] = [];
      const ended = await (async () => {
        const session = await createSession(agent, { journal, id: 's' });
        const run = session.prompt('x'.repeat(30_000));
        for await (const event of run) if ('seq' in event) told.push(event.seq);
        return run.result;
      })().catch((error: unknown) => error);
      if (ended instanceof Error) {
        failed += 1;
        expect(ended).toMatchObject({
          code: 'journal_failed',
          message: expect.stringContaining('disk is full') as string,
        });
      } else expect(ended).toMatchObject({ status: 'completed' });
      await journal.close();
      // With room again, what was told is there, and the run goes on.
      const copy = join(newFolder(), 'journal.db');
      copyFileSync(path, copy);
      const again = open(copy);
      if ((await again.list()).sessions.length === 0) {
        expect(told).toEqual([]);
        continue;
      }
      expect((await logOf(again, 's')).map(({ seq }) => seq)).toEqual(expect.arrayContaining(told));
      const session = await openSession(agent, 's', { journal: again });
      if (session.status !== 'idle') expect(await session.resume().result).toMatchObject({ text: 'Done.' });
    }
    expect(failed).toBeGreaterThan(3);
  });
});

describe('a disk that fails', () => {
  /** One run in a process of its own, whose files can't grow: it prints what it was told, and what the run failed with. */
  const PROGRAM = `
    import { createSession, defineAgent, defineTool } from '@treadle/core';
    import { sqliteJournal } from '@treadle/store';
    import { scriptedModel } from '@treadle/testing';
    const tools = [defineTool({ name: 'act', description: 'Acts.', replay: 'safe', execute: () => 'acted '.repeat(2000) })];
    const model = scriptedModel(({ messages }) => (messages.length > 9 ? 'Done.' : { toolCalls: [{ name: 'act' }] }));
    const journal = sqliteJournal({ path: process.argv[1] });
    const told = [];
    try {
      const session = await createSession(defineAgent({ model, tools }), { journal, id: 's' });
      const run = session.prompt('Go.');
      for await (const event of run) if ('seq' in event) told.push(event.seq);
      await run.result;
      console.log(JSON.stringify({ told, code: null }));
    } catch ({ code, message }) {
      console.log(JSON.stringify({ told, code, message }));
    }
    process.exit(0);`;

  it('S6: that refuses to be written stops the run with an error, and what anyone was told is there', async () => {
    for (const kilobytes of [140, 180, 220]) {
      const path = join(newFolder(), 'journal.db');
      // No file of this process may grow beyond it. SQLite gets an error that it doesn't know, as from a broken disk.
      const command = `ulimit -f ${kilobytes}; exec "$0" "$@"`;
      const flags = ['--conditions=treadle-source', '--input-type=module', '-e', PROGRAM, '--', path];
      const output = execFileSync('bash', ['-c', command, process.execPath, ...flags], {
        cwd: join(import.meta.dirname, '../..'),
        encoding: 'utf8',
      });
      const { told, code, message } = JSON.parse(output) as { told: number[]; code: string; message: string };
      expect({ code, message }).toEqual({
        code: 'journal_failed',
        message: expect.stringContaining('could not be') as string,
      });
      const journal = open(path);
      const log = await logOf(journal, 's');
      expect(told.length).toBeGreaterThan(5);
      expect(log.map(({ seq }) => seq)).toEqual(expect.arrayContaining(told));
      const session = await openSession(agent, 's', { journal });
      expect(session.status).not.toBe('idle');
      expect(await session.resume().result).toMatchObject({ status: 'completed', text: 'Done.' });
    }
  }, 60_000);
});
