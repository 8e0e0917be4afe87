// @module-tag slow

import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { postgresJournal } from '@treadle/store/postgres';

import { runCli } from '../../test-support/harness.ts';
import { startPooler } from '../../test-support/pooler.ts';
import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());

const lineOf = (stdout: string): string => stdout.split('\n').find((line) => line.startsWith('database')) ?? '';

describe('treadle doctor --database', () => {
  it('says that servers of a database that is reached directly notice a death by the lost connection', async () => {
    const url = await server.database();
    const { code, stdout } = await runCli(['doctor', '--database', url]);
    expect(code).toBe(0);
    expect(lineOf(stdout)).toMatch(/Postgres \d+\.\d+ · direct: .* by its connection/);
    const asJson = await runCli(['doctor', '--json', '--database', url]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ database: { isPooled: false, problem: null } });
    // Nothing is made in it.
    const sql = postgres(url, { max: 1 });
    expect(await sql`select from pg_namespace where nspname = 'treadle'`).toHaveLength(0);
    await sql.end();
  });

  it('says behind a pooler that the lease alone decides, as servers there find out themselves', async () => {
    const direct = await server.database();
    const pooler = await startPooler(direct);
    onTestFinished(() => pooler.stop());
    const { code, stdout } = await runCli(['doctor', '--database', pooler.url]);
    expect(code).toBe(0);
    expect(lineOf(stdout)).toContain('behind a pooler: the lease of 10 s alone decides');
    const journal = postgresJournal({ connection: pooler.url });
    await journal.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
    await journal.claim('s', { id: 'me', label: 'me' });
    const sql = postgres(direct, { max: 1 });
    expect(await sql`select pooled from treadle.members`).toMatchObject([{ pooled: true }]);
    await sql.end();
    await journal.close();
  });

  it('fails where the database does not answer, and repeats no password', async () => {
    const { code, stdout, stderr } = await runCli(['doctor', '--database', 'postgres://me:secret@127.0.0.1:1/none']);
    expect(code).toBe(1);
    expect(lineOf(stdout)).toContain("doesn't answer");
    expect(stdout + stderr).not.toContain('secret');
    expect((await runCli(['doctor', '--database', 'nonsense'])).code).toBe(2);
  });
});
