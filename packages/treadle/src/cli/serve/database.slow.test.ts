// @module-tag slow

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresLedger } from '@treadle/store/postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';
import { startProcess } from '../../test-support/process.ts';

let server: PostgresServer;
let folder = '';

beforeAll(async () => {
  server = await startPostgres();
  folder = mkdtempSync(join(tmpdir(), 'treadle-database-'));
}, 120_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const TOKEN = 'a-token-of-my-own';
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'text/event-stream' };

/** A server with a home of its own, as on another machine. */
async function startServer(name: string, ...flags: readonly string[]) {
  const env = { HOME: join(folder, name), TREADLE_HOME: join(folder, name), TREADLE_TOKEN: TOKEN };
  const running = startProcess(['serve', '--no-mcp', '--model', 'demo', ...flags], { cwd: folder, env });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  let printed = '';
  running.child.stdout.on('data', (text: string) => (printed += text));
  await running.printed('\n');
  const url = /^http\S+$/m.exec(printed)?.[0] ?? '';
  const ask = (path: string, method = 'GET', body?: unknown) =>
    fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return { running, ask };
}

describe('treadle serve --database', () => {
  it('shares sessions, files, money and memory with the servers of other machines', async () => {
    const database = await server.database();
    const flags = ['--database', database, '--max-cost', '3', '--memory'];
    const [here, there] = await Promise.all([startServer('here', ...flags), startServer('there', ...flags)]);
    const { sessionId } = (await (await here.ask('/v1/sessions', 'POST', {})).json()) as { sessionId: string };
    const run = await here.ask(`/v1/sessions/${sessionId}/runs`, 'POST', {
      input: 'Remember that deployments happen on Fridays.',
    });
    expect(await run.text()).toContain('"type":"run_ended"');
    expect(await (await there.ask(`/v1/sessions/${sessionId}/history`)).text()).toContain(
      'Remember that deployments happen on Fridays.',
    );
    const put = await here.ask('/v1/files', 'POST', 'bytes');
    const { id } = (await put.json()) as { id: string };
    expect(await (await there.ask(`/v1/files/${id}`)).text()).toBe('"bytes"');
    const ledger = postgresLedger({ connection: database, limit: 1 });
    expect(await ledger.balance()).toMatchObject({ limit: 3 });
    await ledger.close();
    const other = (await (await there.ask('/v1/sessions', 'POST', {})).json()) as { sessionId: string };
    await (
      await there.ask(`/v1/sessions/${other.sessionId}/runs`, 'POST', {
        input: 'Remember that deployments happen on Fridays.',
      })
    ).text();
    const history = await (await there.ask(`/v1/sessions/${other.sessionId}/events`)).text();
    expect(history).toContain('"origin":"memory"');
    for (const { running } of [here, there]) {
      running.child.kill('SIGTERM');
      expect((await running.ended).code).toBe(143);
    }
  }, 60_000);

  it.each([
    {
      what: 'a URL that is none',
      flags: ['--database', 'not a url secret'],
      code: 2,
      says: 'takes the URL of a Postgres',
    },
    { what: 'another kind of database', flags: ['--database', 'mysql://u:secret@h/d'], code: 2, says: 'takes the URL' },
    {
      what: 'a database that does not answer',
      flags: ['--database', 'postgres://user:secret@127.0.0.1:1/none'],
      code: 1,
      says: 'journal_failed',
    },
    {
      what: 'a folder that only this machine may see',
      flags: ['--database', 'postgres://user:secret@127.0.0.1:1/none', '--blobs', 'files'],
      code: 2,
      says: '--shared-folder',
    },
  ])(
    'refuses $what, and repeats no password',
    async ({ flags, code, says }) => {
      const env = { HOME: folder, TREADLE_HOME: folder, TREADLE_TOKEN: TOKEN };
      const running = startProcess(['serve', '--no-mcp', '--model', 'demo', ...flags], { cwd: folder, env });
      const outcome = await running.ended;
      expect(outcome).toMatchObject({ code, stderr: expect.stringContaining(says) });
      expect(outcome.stderr).not.toContain('secret');
    },
    60_000,
  );
});
