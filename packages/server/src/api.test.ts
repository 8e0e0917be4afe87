import { defineTool, memoryBlobs, type AgentDefinition, type JsonObject } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it, vi } from 'vitest';
import { ROUTES } from './routes/serving/routes.ts';
import { isRunEnd, sse, until } from './test-support/events.ts';
import { startServer, type TestServer } from './test-support/server.ts';

const place = defineTool({ name: 'place', description: 'Where the user is.', runs: 'client' });
const erase = defineTool({ name: 'erase', description: 'Erases.', execute: () => 'erased' });

const asksForPlace: AgentDefinition = {
  model: scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'You are there.' : { toolCalls: [{ name: 'place' }, { name: 'place' }] },
  ),
  tools: [place],
};
const asksToErase: AgentDefinition = {
  model: scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'erase' }] },
  ),
  tools: [erase],
  permissions: { ask: ['erase'] },
};

async function newSession(server: TestServer): Promise<string> {
  const { sessionId } = await server.json<{ sessionId: string }>('POST', '/v1/sessions', {});
  return sessionId;
}

/** Runs a prompt up to its end or its pause. */
async function run(server: TestServer, sessionId: string, input: unknown = 'Hi') {
  const response = await server.call(
    'POST',
    `/v1/sessions/${sessionId}/runs`,
    { input },
    { accept: 'text/event-stream' },
  );
  return (await until(sse(response), ({ type }) => type === 'run_ended' || type === 'run_paused')).map(
    ({ event }) => event,
  );
}

interface Info {
  readonly status: string;
  readonly pending: readonly { readonly callId: string; readonly approvalId?: string }[];
}

describe('sessions', () => {
  it('are created, read, listed and deleted', async () => {
    const server = await startServer({ model: scriptedModel(['Hello.']) });
    const created = await server.call('POST', '/v1/sessions', { id: 'mine', metadata: { colour: 'blue' } });
    expect({ status: created.status, body: await created.json() }).toEqual({
      status: 201,
      body: { sessionId: 'mine', agentId: 'agent' },
    });
    expect(await server.json('GET', '/v1/sessions/mine')).toEqual({
      sessionId: 'mine',
      agentId: 'agent',
      seq: 1,
      status: 'idle',
      pending: [],
    });
    expect(await server.json('GET', '/v1/sessions')).toMatchObject({ sessions: [{ sessionId: 'mine', seq: 1 }] });
    expect((await server.call('DELETE', '/v1/sessions/mine')).status).toBe(204);
    expect((await server.call('GET', '/v1/sessions/mine')).status).toBe(404);
  });

  it('are listed in pages', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    for (const id of ['a', 'b', 'c']) await server.json('POST', '/v1/sessions', { id });
    interface Page {
      readonly sessions: { readonly sessionId: string }[];
      readonly cursor?: string;
    }
    const first = await server.json<Page>('GET', '/v1/sessions?limit=2');
    const second = await server.json<Page>('GET', `/v1/sessions?limit=2&cursor=${first.cursor}`);
    expect([...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId)).toEqual(['c', 'b', 'a']);
    expect(second.cursor).toBeUndefined();
  });

  it('are created once for the same idempotency key, and not twice under the same id', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    const create = (key: string) => server.call('POST', '/v1/sessions', {}, { 'idempotency-key': key });
    const [first, again, other] = [await create('k1'), await create('k1'), await create('k2')];
    expect([first.status, again.status, other.status]).toEqual([201, 200, 201]);
    const ids = await Promise.all(
      [first, again, other].map(async (response) => ((await response.json()) as { sessionId: string }).sessionId),
    );
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    await server.call('POST', '/v1/sessions', { id: 'mine' });
    const taken = await server.call('POST', '/v1/sessions', { id: 'mine' });
    expect(await taken.json()).toMatchObject({ status: 409, code: 'session_exists' });
  });

  it('have the title that a model gave, alone and in the list', async () => {
    const title = { model: scriptedModel(['{"title": "A greeting"}']) };
    const server = await startServer({ model: scriptedModel(['Hello.']), title });
    const sessionId = await newSession(server);
    await run(server, sessionId);
    await vi.waitFor(
      async () => {
        expect(await server.json('GET', `/v1/sessions/${sessionId}`)).toMatchObject({ title: 'A greeting' });
      },
      { timeout: 15_000 },
    );
    expect(await server.json('GET', '/v1/sessions')).toMatchObject({ sessions: [{ sessionId, title: 'A greeting' }] });
  });

  it('are forked at an event, and the fork goes its own way', async () => {
    const server = await startServer({ model: scriptedModel(({ messages }) => `Reply ${messages.length}.`) });
    const sessionId = await newSession(server);
    await run(server, sessionId);
    const { seq } = await server.json<{ seq: number }>('GET', `/v1/sessions/${sessionId}`);
    await run(server, sessionId);
    const fork = await server.json<{ sessionId: string }>('POST', `/v1/sessions/${sessionId}/fork`, { seq });
    const texts = (await run(server, fork.sessionId)).flatMap((event) =>
      event.type === 'message_added' && event.message.role === 'assistant' ? event.message.content : [],
    );
    expect(texts).toMatchObject([{ text: 'Reply 3.' }]);
  });
});

describe('runs', () => {
  it('start with a prompt and are streamed to their end', async () => {
    const server = await startServer({ model: scriptedModel(['Hello, you.']) });
    const types = (await run(server, await newSession(server))).map(({ type }) => type);
    expect(types).toEqual([
      'input_received',
      'drive_started',
      'run_started',
      'turn_started',
      'message_added',
      'message_started',
      'message_delta',
      'message_added',
      'turn_ended',
      'run_ended',
    ]);
  });

  it('start once for the same idempotency key, also after they have ended', async () => {
    const server = await startServer({ model: scriptedModel(['One.', 'Two.']) });
    const path = `/v1/sessions/${await newSession(server)}/runs`;
    const start = (input: string) => server.call('POST', path, { input }, { 'idempotency-key': 'k' });
    const first = (await (await start('Hi')).json()) as JsonObject;
    await until(sse(await server.call('GET', path.replace('runs', 'stream'))), isRunEnd);
    const again = (await (await start('Hi')).json()) as JsonObject;
    expect(again).toEqual({ ...first, duplicate: true });
    expect(first['runId']).toMatch(/\.1$/);
    expect(await (await start('Something else')).json()).toMatchObject({ status: 422, code: 'idempotency_mismatch' });
  });

  it('are refused while one is open', async () => {
    const server = await startServer(asksForPlace);
    const sessionId = await newSession(server);
    await run(server, sessionId);
    const response = await server.call('POST', `/v1/sessions/${sessionId}/runs`, { input: 'And now?' });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      code: 'run_active',
    });
  });

  it('go on without a prompt, where there is something to go on with', async () => {
    const server = await startServer({ model: scriptedModel(['Hello.']) });
    const sessionId = await newSession(server);
    const start = () => server.call('POST', `/v1/sessions/${sessionId}/runs`, { continue: true });
    expect(await (await start()).json()).toMatchObject({ status: 409, code: 'nothing_to_continue' });
    await run(server, sessionId);
    expect(await (await start()).json()).toMatchObject({ status: 409, code: 'ends_with_assistant' });
  });

  it('take limits that are lower than the agent’s, and no others', async () => {
    const server = await startServer({ model: scriptedModel(['Hello.']), limits: { maxTurns: 5 } });
    const sessionId = await newSession(server);
    const start = (limits: object) => server.call('POST', `/v1/sessions/${sessionId}/runs`, { input: 'Hi', limits });
    expect((await start({ maxTurns: 6 })).status).toBe(400);
    expect((await start({ maxWishes: 3 })).status).toBe(400);
    expect((await start({ maxTurns: 1 })).status).toBe(202);
  });

  it('are steered, followed up and cancelled', async () => {
    const server = await startServer(asksForPlace);
    const sessionId = await newSession(server);
    await run(server, sessionId);
    const at = `/v1/sessions/${sessionId}`;
    expect((await server.call('POST', `${at}/steering`, { input: 'Mind the time.' })).status).toBe(202);
    expect((await server.call('POST', `${at}/follow-ups`, { input: 'And then?' })).status).toBe(202);
    expect((await server.call('POST', `${at}/cancel`, { reason: 'No more.' })).status).toBe(202);
    const seen = await until(sse(await server.call('GET', `${at}/stream`)), isRunEnd);
    expect(seen.at(-1)?.event).toMatchObject({ status: 'aborted', message: 'No more.' });
    expect(seen.flatMap(({ event }) => (event.type === 'input_received' ? [event.input.type] : []))).toEqual([
      'prompt',
      'steering',
      'follow_up',
      'cancel',
    ]);
  });

  it('that are not there can be cancelled: nothing happens', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    const sessionId = await newSession(server);
    expect((await server.call('POST', `/v1/sessions/${sessionId}/cancel`, {})).status).toBe(202);
    expect(await server.json('GET', `/v1/sessions/${sessionId}`)).toMatchObject({ seq: 1 });
  });
});

describe('client tools', () => {
  it('are named by the session, and their results let the run go on', async () => {
    const server = await startServer(asksForPlace);
    const sessionId = await newSession(server);
    const seen = await run(server, sessionId);
    expect(seen.at(-1)).toMatchObject({ type: 'run_paused', reason: 'client_tools' });
    const { status, pending } = await server.json<Info>('GET', `/v1/sessions/${sessionId}`);
    expect({ status, calls: pending.length }).toEqual({ status: 'paused', calls: 2 });
    const results = pending.map(({ callId }) => ({ callId, content: 'Oslo' }));
    const response = await server.call(
      'POST',
      `/v1/sessions/${sessionId}/tool-results`,
      { results },
      { accept: 'text/event-stream' },
    );
    const rest = await until(sse(response), isRunEnd);
    expect(rest.at(-1)?.event).toMatchObject({ type: 'run_ended', status: 'completed' });
  });

  it('V12: refuse results that are forged, late, given twice, or given by somebody who may not see the session', async () => {
    const tokens = [
      { name: 'all', token: 'token-of-everything' },
      { name: 'other', token: 'token-of-another-tab', sessions: ['other-*'] },
    ];
    const server = await startServer(asksForPlace, { tokens });
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    const mine = as('token-of-everything');
    await server.call('POST', '/v1/sessions', { id: 's1' }, mine);
    const started = await server.call(
      'POST',
      '/v1/sessions/s1/runs',
      { input: 'Hi' },
      { ...mine, accept: 'text/event-stream' },
    );
    await until(sse(started), ({ type }) => type === 'run_paused');
    const { pending } = (await (await server.call('GET', '/v1/sessions/s1', undefined, mine)).json()) as Info;
    const good = pending.map(({ callId }) => ({ callId, content: 'Oslo' }));
    const post = async (results: unknown, headers: Record<string, string>) =>
      (
        (await (await server.call('POST', '/v1/sessions/s1/tool-results', { results }, headers)).json()) as {
          code?: string;
        }
      ).code;
    expect(await post([{ callId: 'call_forged', content: 'x' }], mine)).toBe('results_unknown');
    expect(await post(good.slice(0, 1), mine)).toBe('results_missing');
    expect(await post([...good, ...good], mine)).toBe('results_duplicate');
    expect(await post(good, as('token-of-another-tab'))).toBe('not_found');
    expect(await post(good, { ...mine, 'idempotency-key': 'first' })).toBeUndefined();
    expect(await post(good, { ...mine, 'idempotency-key': 'second' })).toBe('conflict');
    // The same request again is no second answer.
    expect(await post(good, { ...mine, 'idempotency-key': 'first' })).toBeUndefined();
  });

  it('V13: that wait when their tab is closed are offered to the next one', async () => {
    const server = await startServer(asksForPlace);
    const sessionId = await newSession(server);
    await run(server, sessionId);
    const next = await until(
      sse(await server.call('GET', `/v1/sessions/${sessionId}/stream`)),
      ({ type }) => type === 'run_paused',
    );
    const paused = next.at(-1)?.event;
    const pending = paused?.type === 'run_paused' ? paused.pending : [];
    const results = pending.map(({ callId }) => ({ callId, content: 'Rome' }));
    expect((await server.call('POST', `/v1/sessions/${sessionId}/tool-results`, { results })).status).toBe(202);
  });
});

describe('approvals', () => {
  async function asked(server: TestServer): Promise<{ readonly at: string; readonly approvalId: string }> {
    const sessionId = await newSession(server);
    await run(server, sessionId);
    const { pending } = await server.json<Info>('GET', `/v1/sessions/${sessionId}`);
    return { at: `/v1/sessions/${sessionId}`, approvalId: pending[0]?.approvalId ?? '' };
  }

  it('H4: count once: the first valid answer wins', async () => {
    const server = await startServer(asksToErase);
    const { at, approvalId } = await asked(server);
    const answer = (decision: string, id = approvalId) => server.call('POST', `${at}/approvals/${id}`, { decision });
    expect(await (await answer('approve', 'approval_forged')).json()).toMatchObject({ code: 'not_awaiting' });
    expect((await answer('approve')).status).toBe(202);
    expect(await (await answer('reject')).json()).toMatchObject({ status: 409, code: 'conflict' });
    const seen = await until(sse(await server.call('GET', `${at}/stream`)), isRunEnd);
    const results = seen.flatMap(({ event }) => (event.type === 'tool_ended' ? [event.content] : []));
    expect(results).toEqual([[{ type: 'text', text: 'erased' }]]);
  });

  it('are refused with the line to write where the decision is none', async () => {
    const server = await startServer(asksToErase);
    const { at, approvalId } = await asked(server);
    for (const decision of ['approved', 'deny', true, undefined]) {
      const refused = await server.call('POST', `${at}/approvals/${approvalId}`, { decision });
      const problem = (await refused.json()) as { readonly detail: string };
      expect(problem).toMatchObject({ status: 400, code: 'bad_request' });
      expect(problem.detail).toContain('Write: {"decision":"approve"} or {"decision":"reject"}');
    }
    expect((await server.json<Info>('GET', at)).status).toBe('paused');
  });

  it('tell the model why not', async () => {
    const server = await startServer(asksToErase);
    const { at, approvalId } = await asked(server);
    const body = { decision: 'reject', message: 'Not on a Friday.' };
    const response = await server.call('POST', `${at}/approvals/${approvalId}`, body, { accept: 'text/event-stream' });
    const seen = await until(sse(response), isRunEnd);
    const rejected = seen.find(({ event }) => event.type === 'tool_call_rejected')?.event;
    expect(JSON.stringify(rejected)).toContain('Not on a Friday.');
  });
});

describe('reading', () => {
  it('shows the log, the history, conversations and costs, in pages', async () => {
    const server = await startServer({ model: scriptedModel(['One.', 'Two.'], { cost: () => 0.5 }) });
    const sessionId = await newSession(server);
    await run(server, sessionId, 'First');
    await run(server, sessionId, 'Second');
    const at = `/v1/sessions/${sessionId}`;
    interface Page {
      readonly events: { readonly seq: number }[];
      readonly cursor?: number;
    }
    const first = await server.json<Page>('GET', `${at}/events?limit=4`);
    const rest = await server.json<Page>('GET', `${at}/events?after=${first.cursor}`);
    const { seq } = await server.json<{ seq: number }>('GET', at);
    expect([...first.events, ...rest.events].map((event) => event.seq)).toEqual(
      Array.from({ length: seq }, (_, i) => i + 1),
    );
    const history = await server.json<{ messages: { message: { role: string } }[] }>('GET', `${at}/history`);
    expect(history.messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const conversations = await server.json<{ conversations: { text: string }[]; hasMore: boolean }>(
      'GET',
      `${at}/conversations?limit=1`,
    );
    expect(conversations).toMatchObject({ conversations: [{ text: 'Two.' }], hasMore: true });
    expect(await server.json('GET', `${at}/cost`)).toMatchObject({ total: { cost: 1, calls: 2 } });
  });

  it('lists files without their bytes', async () => {
    const chart = defineTool({
      name: 'chart',
      description: 'Draws.',
      execute: () => ({ content: [{ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }] }),
    });
    const server = await startServer({
      model: scriptedModel([{ toolCalls: [{ name: 'chart' }] }, 'There.']),
      tools: [chart],
    });
    const sessionId = await newSession(server);
    await run(server, sessionId);
    const { files } = await server.json<{ files: JsonObject[] }>('GET', `/v1/sessions/${sessionId}/files`);
    expect(files).toMatchObject([{ type: 'image', mediaType: 'image/png', bytes: 9 }]);
    expect(files[0]).not.toHaveProperty('data');
  });

  it('keeps uploaded files by the hash of their bytes, and shows them to nobody as a page', async () => {
    const server = await startServer(
      { model: scriptedModel([]) },
      { blobs: memoryBlobs(), limits: { uploadBytes: 64 } },
    );
    const page = '<script>alert(1)</script>';
    const upload = (body: string) =>
      fetch(`${server.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.bearer}`, 'content-type': 'text/html' },
        body,
      });
    const kept = await upload(page);
    const { id, size } = (await kept.json()) as { id: string; size: number };
    expect({ status: kept.status, size }).toEqual({ status: 201, size: page.length });
    const read = await server.call('GET', `/v1/files/${id}`);
    expect(await read.text()).toBe(page);
    expect(Object.fromEntries(read.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect((await upload('x'.repeat(65))).status).toBe(413);
  });

  it.each(['%2e%2e%2f%2e%2e%2fetc%2fpasswd', '%252e%252e', '..%5c..', 'a%00b', '.env', 'sha256-0', 'sha256-..'])(
    'V9: has no file %s',
    async (name) => {
      const server = await startServer({ model: scriptedModel([]) }, { blobs: memoryBlobs() });
      const response = await server.call('GET', `/v1/files/${name}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: 'not_found' });
    },
  );
});

describe('the server itself', () => {
  it('says that it lives and is ready, without a token', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    expect(await (await fetch(`${server.url}/healthz`)).text()).toBe('ok');
    expect(await (await fetch(`${server.url}/readyz`)).text()).toBe('ready');
    await server.journal.close();
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
  });

  it('describes every one of its routes, and no others', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    const { openapi, paths } = await server.json<{ openapi: string; paths: Record<string, object> }>(
      'GET',
      '/openapi.json',
    );
    expect(openapi).toBe('3.1.0');
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const served = server.server.app.routes
      .filter(({ path }) => !['/healthz', '/readyz', '/openapi.json', '*', '/*'].includes(path))
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(described.toSorted()).toEqual([...new Set(served)].toSorted());
    expect(new Set(ROUTES.map(({ id }) => id)).size).toBe(ROUTES.length);
  });

  it('answers what it does not know with a problem', async () => {
    const server = await startServer({ model: scriptedModel([]) });
    const response = await server.call('GET', '/v2/sessions');
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('says that an agent is gone, while its sessions can still be read', async () => {
    const first = await startServer({ id: 'old', model: scriptedModel(['Hello.']) });
    const sessionId = await newSession(first);
    await run(first, sessionId);
    const records: object[] = [];
    const second = await startServer(
      { id: 'new', model: scriptedModel([]) },
      { journal: first.journal, log: (record) => records.push(record) },
    );
    const response = await second.call('POST', `/v1/sessions/${sessionId}/runs`, { input: 'Again' });
    expect(await response.json()).toMatchObject({ status: 409, code: 'agent_not_found' });
    expect((await second.call('GET', `/v1/sessions/${sessionId}/history`)).status).toBe(200);
  });
});
