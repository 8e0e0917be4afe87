// @module-tag slow

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { PassThrough } from 'node:stream';
import type { Journal } from '@treadle/core';
import { fileJournal, sqliteJournal } from '@treadle/store';
import { postgresJournal } from '@treadle/store/postgres';
import { scriptedModel } from '@treadle/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { startCli, temporaryFolder } from '../../test-support/harness.ts';
import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());

/** A journal as each process opens it. */
const JOURNALS: Readonly<Record<string, (folder: string) => Promise<() => Journal>>> = {
  SQLite: async (folder) => () => sqliteJournal({ path: join(folder, 'j.db') }),
  files: async (folder) => () => fileJournal({ folder: join(folder, 'j') }),
  async Postgres() {
    const connection = await server.database();
    return () => postgresJournal({ connection });
  },
};

/** What a terminal shows of the call that it asks about. */
const QUESTION = 'command: touch made';

/** A terminal at which somebody types when the test says so. */
function openTerminal() {
  const typing = new PassThrough();
  return { type: (line: string) => typing.write(`${line}\n`), stdin: Object.assign(typing, { isTTY: true as const }) };
}

async function world(open: (folder: string) => Promise<() => Journal>) {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const journal = await open(folder.path);
  const env = { HOME: folder.path, TREADLE_HOME: join(folder.path, 'home'), TREADLE_MODEL: 'scripted', NO_COLOR: '1' };
  const touch = { toolCalls: [{ name: 'bash', arguments: { command: 'touch made' } }] };
  const start = (args: readonly string[]) => {
    const terminal = openTerminal();
    const model = scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'Made it.' : touch));
    const call = startCli(args, {
      cwd: folder.path,
      env,
      model,
      stdin: terminal.stdin,
      isTTY: 'both',
      parts: { journal: async () => journal() },
    });
    return { ...call, type: terminal.type };
  };
  const here = journal();
  onTestFinished(() => here.close());
  return { folder: folder.path, journal: here, start };
}

/** The question that a session waits for. */
async function questionIn(journal: Journal): Promise<{ readonly sessionId: string; readonly approvalId: string }> {
  for (;;) {
    for (const { sessionId } of (await journal.list()).sessions) {
      for await (const event of journal.read(sessionId, 1)) {
        if (event.type === 'approval_requested') return { sessionId, approvalId: event.approvalId };
      }
    }
    await setTimeout(20);
  }
}

describe.each(Object.entries(JOURNALS))('a terminal that asks, on %s', (_, open) => {
  it('hears at once that somebody has answered, and who, and goes on', { timeout: 60_000 }, async () => {
    const { folder, journal, start } = await world(open);
    const asking = start(['Make it.']);
    const { sessionId, approvalId } = await questionIn(journal);
    await asking.shown(QUESTION);
    const answer = { type: 'approval_answer', approvalId, decision: 'approve', by: 'ada' } as const;
    await journal.post(sessionId, answer, `answer:${approvalId}`, Date.now());
    const { code, screen } = await asking.outcome;
    expect(screen).toContain('Allowed by ada');
    expect(screen).toContain('Made it.');
    expect({ code, isMade: existsSync(join(folder, 'made')) }).toEqual({ code: 0, isMade: true });
  });

  it('says so when another terminal answers, and goes on with the run', { timeout: 60_000 }, async () => {
    const { folder, start } = await world(open);
    const first = start(['Make it.']);
    await first.shown(QUESTION);
    const second = start(['-c']);
    await second.shown(QUESTION);
    second.type('y');
    const outcomes = await Promise.all([first.outcome, second.outcome]);
    expect(outcomes[0].screen).toContain('Allowed by');
    expect(outcomes[0].screen).toMatch(/Made it\.|treadle attach/);
    expect(outcomes[1]).toMatchObject({ code: 0, screen: expect.stringContaining('Made it.') });
    expect(existsSync(join(folder, 'made'))).toBe(true);
  });
});
