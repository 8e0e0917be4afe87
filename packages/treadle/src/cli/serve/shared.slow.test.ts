// @module-tag slow

import { defineAgent, defineTool, memoryJournal, type Journal } from '@treadle/core';
import { serve, type ServeOptions } from '@treadle/server';
import { postgresJournal, postgresShared } from '@treadle/store/postgres';
import { scriptedModel } from '@treadle/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());

const TOKEN = 'a-token-of-my-own';
const call = { toolCalls: [{ name: 'deploy' }] };

/** A server with connections of its own, as on another machine. */
async function startServer(
  connection: string,
  {
    executed = [],
    ...options
  }: Partial<ServeOptions> & { readonly executed?: string[]; readonly journal?: Journal } = {},
) {
  const journal = options.journal ?? postgresJournal({ connection });
  const shared = postgresShared({ connection, outageMs: 200 });
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    inputSchema: { type: 'object' },
    execute() {
      executed.push('deploy');
      return 'done';
    },
  });
  const model = scriptedModel([call, 'Deployed.', call, 'Deployed.', call, 'Deployed.']);
  const serving = await serve({
    agents: [defineAgent({ id: 'deployer', model, tools: [deploy] })],
    tokens: [{ name: 'me', token: TOKEN }],
    tickets: { key: 'a-key-of-at-least-32-characters-for-all' },
    shared,
    ...options,
    journal,
  });
  onTestFinished(async () => {
    await serving.close(0);
    await Promise.all([journal.close(), shared.close()]);
  });
  const ask = (path: string, init: RequestInit = {}, token = TOKEN) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers };
    return fetch(`${serving.url}${path}`, { ...init, headers });
  };
  return { serving, ask };
}

/** A limit that doesn't fill up again while a test runs. */
const limits = { failedLogins: { perSecond: 0.001, burst: 5 } };

describe('two servers of one database', () => {
  it('count the failed logins of an address together, and let who has a token in', async () => {
    const database = await server.database();
    const servers = [await startServer(database, { limits }), await startServer(database, { limits })];
    const statuses: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      const guessed = await servers[count % 2]?.ask('/v1/sessions', {}, `guess-number-${count}-xxxxxxxx`);
      statuses.push(guessed?.status ?? 0);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    for (const { ask } of servers) expect((await ask('/v1/sessions')).status).toBe(200);
  });

  it('take a ticket once, whichever of them', async () => {
    const database = await server.database();
    const [here, there] = [await startServer(database), await startServer(database)];
    const { sessionId } = (await (await here.ask('/v1/sessions', { method: 'POST', body: '{}' })).json()) as {
      sessionId: string;
    };
    const issued = await here.ask(`/v1/sessions/${sessionId}/tickets`, { method: 'POST', body: '{}' });
    const { ticket } = (await issued.json()) as { ticket: string };
    const open = async (url: string) => {
      const response = await fetch(`${url}/v1/sessions/${sessionId}/stream?ticket=${ticket}`);
      await response.body?.cancel();
      return response.status;
    };
    const statuses = await Promise.all([open(here.serving.url), open(there.serving.url)]);
    expect(statuses.toSorted()).toEqual([200, 401]);
  });

  it('play a replay once for a key, and refuse another request under it', async () => {
    const database = await server.database();
    const executed: string[] = [];
    const [here, there] = [await startServer(database, { executed }), await startServer(database, { executed })];
    await here.ask('/v1/sessions', { method: 'POST', body: '{"id":"s"}' });
    const run = await here.ask('/v1/sessions/s/runs', {
      method: 'POST',
      body: '{"input":"Deploy."}',
      headers: { accept: 'text/event-stream' },
    });
    expect(await run.text()).toContain('"type":"run_ended"');
    const replay = async ({ ask }: typeof here, body: object) => {
      const init = { method: 'POST', body: JSON.stringify(body), headers: { 'idempotency-key': 'k' } };
      const response = await ask('/v1/sessions/s/replay', init);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const asked = { keep: true };
    const [first, second] = await Promise.all([replay(here, asked), replay(there, asked)]);
    expect(first).toMatchObject({ status: 200, body: { stopped: null, differences: [] } });
    expect(second).toEqual(first);
    expect(await replay(there, asked)).toEqual(first);
    const listed = (await (await there.ask('/v1/sessions')).json()) as { sessions: readonly object[] };
    expect(listed.sessions, 'the session and one fork').toHaveLength(2);
    expect(executed).toEqual(['deploy']);
    expect(await replay(there, { keep: false })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
  });

  it('refuse what needs the database while it is away, and let who has a token in', async () => {
    const journal = memoryJournal();
    const { ask, serving } = await startServer('postgres://postgres@127.0.0.1:1/none', { journal });
    expect((await ask('/v1/sessions', {}, 'guess-number-one-xxxxxxxx')).status).toBe(503);
    expect((await ask('/v1/sessions', { method: 'POST', body: '{"id":"s"}' })).status).toBe(201);
    const { ticket } = (await (await ask('/v1/sessions/s/tickets', { method: 'POST', body: '{}' })).json()) as {
      ticket: string;
    };
    expect((await fetch(`${serving.url}/v1/sessions/s/stream?ticket=${ticket}`)).status).toBe(503);
    const headers = { 'idempotency-key': 'k' };
    const replayed = await ask('/v1/sessions/s/replay', { method: 'POST', body: '{}', headers });
    expect(replayed.status).toBe(503);
    expect(await replayed.json()).toMatchObject({ code: 'journal_failed' });
  });
});
