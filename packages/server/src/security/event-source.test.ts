import { scriptedModel, testClock } from '@treadle/testing';
import { EventSource } from 'eventsource';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer, type TestServer } from '../test-support/server.ts';
import { memoryState } from './shared-state.ts';
import { createTickets } from './tickets.ts';

const model = () => scriptedModel(['Hello.', 'Hello again.']);
const accept = { accept: 'text/event-stream' };

/** A stream as a browser's EventSource opens it: with no header of ours. */
const open = (server: TestServer, path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers: { ...accept, ...headers } });

async function ticketFor(server: TestServer, sessionId: string): Promise<string> {
  const { ticket } = await server.json<{ ticket: string }>('POST', `/v1/sessions/${sessionId}/tickets`, {});
  return `/v1/sessions/${sessionId}/stream?ticket=${ticket}`;
}

describe('an EventSource in a browser', () => {
  it('reads a stream with a ticket, and comes back by itself when the connection breaks', async () => {
    const server = await startServer({ model: model() });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const source = new EventSource(`${server.url}${await ticketFor(server, 's1')}`);
    onTestFinished(() => source.close());
    const types: string[] = [];
    let opened = 0;
    source.addEventListener('open', () => (opened += 1));
    source.addEventListener('message', ({ data }) => types.push((JSON.parse(data as string) as { type: string }).type));
    await expect.poll(() => types).toEqual(['session_created']);
    server.server.parts.connections.endAll({ reason: 'finished' });
    await server.call('POST', '/v1/sessions/s1/runs', { input: 'Hi.' });
    await expect.poll(() => types.includes('run_ended'), { timeout: 10_000 }).toBe(true);
    expect(opened).toBe(2);
    expect(types.filter((type) => type === 'session_created')).toHaveLength(1);
  });

  it('opens nothing else with a ticket, and nothing a second time', async () => {
    const server = await startServer({ model: model() });
    for (const id of ['s1', 's2']) await server.call('POST', '/v1/sessions', { id });
    const path = await ticketFor(server, 's1');
    const ticket = path.split('ticket=')[1] ?? '';
    expect((await open(server, `/v1/sessions/s2/stream?ticket=${ticket}`)).status).toBe(401);
    expect((await open(server, `/v1/sessions/s1?ticket=${ticket}`)).status).toBe(401);
    expect((await open(server, `/v1/sessions/s1/stream?ticket=${ticket}x`)).status).toBe(401);
    const first = await open(server, path);
    expect(first.status).toBe(200);
    await first.body?.cancel();
    expect((await open(server, path)).status).toBe(401);
    expect((await open(server, path, { 'last-event-id': '1' })).status).toBe(401);
  });

  it('must use a ticket in time', async () => {
    const clock = testClock();
    const tickets = createTickets(clock, memoryState(clock), { lifetimeMs: 1000 });
    const { ticket, expiresAt } = tickets.issue({ name: 'me' }, 's1');
    expect(expiresAt).toBe(clock.now() + 1000);
    await clock.advance(1000);
    expect(await tickets.admit(ticket, 's1', null)).toBe(null);
    const principal = { name: 'me', sessions: ['s1'], readOnly: true };
    const other = tickets.issue({ name: 'me' }, 's1').ticket;
    expect(await tickets.admit(other, 's1', null)).toEqual(principal);
    const id = `7${tickets.idSuffix({ name: 'me' }, 's1')}`;
    expect(await tickets.admit(other, 's1', id)).toEqual(principal);
    expect(await tickets.admit(other, 's2', id)).toBe(null);
    expect(() => createTickets(clock, memoryState(clock), { key: 'short' })).toThrow('at least 32');
  });

  it('is let in by a cookie, which counts for reading alone', async () => {
    const tokens = [{ name: 'me', token: 'a-token-of-my-own' }];
    const server = await startServer({ model: model() }, { tokens, cookie: 'session' });
    const cookie = 'theme=dark; session=a-token-of-my-own';
    await fetch(`${server.url}/v1/sessions`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-token-of-my-own', 'content-type': 'application/json' },
      body: '{"id":"s1"}',
    });
    const stream = await open(server, '/v1/sessions/s1/stream', { cookie });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
    expect((await open(server, '/v1/sessions/s1/stream', { cookie: 'session=wrong' })).status).toBe(401);
    const crossSite = { cookie, 'sec-fetch-site': 'cross-site' };
    expect((await open(server, '/v1/sessions/s1/stream', crossSite)).status).toBe(401);
    expect((await server.call('POST', '/v1/sessions', {}, { cookie })).status).toBe(401);
  });

  it('is told to come back instead of a final 429 or 503; other clients get the status', async () => {
    const limits = { requests: { perSecond: 0.1, burst: 2 }, retryMs: 10 };
    const busy = await startServer({ model: model() }, { limits });
    await busy.call('POST', '/v1/sessions', { id: 's1' });
    await busy.call('GET', '/v1/sessions/s1');
    const told = await busy.call('GET', '/v1/sessions/s1/stream', undefined, accept);
    expect([told.status, await told.text()]).toEqual([200, 'retry: 10000\n\n']);
    expect((await busy.call('GET', '/v1/sessions/s1/stream')).status).toBe(429);

    const full = await startServer({ model: model() }, { limits: { streams: 1, retryMs: 10 } });
    await full.call('POST', '/v1/sessions', { id: 's1' });
    const only = await full.call('GET', '/v1/sessions/s1/stream', undefined, accept);
    const headers = { authorization: `Bearer ${full.bearer}` };
    const source = new EventSource(`${full.url}/v1/sessions/s1/stream`, {
      fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...headers } }),
    });
    onTestFinished(() => source.close());
    const opened = new Promise((resolve) => source.addEventListener('message', resolve));
    await only.body?.cancel();
    await opened;

    const held = Promise.withResolvers<void>();
    const slow = scriptedModel([{ text: 'Hello.', wait: held.promise }]);
    const ending = await startServer({ model: slow }, { limits: { retryMs: 10 } });
    await ending.call('POST', '/v1/sessions', { id: 's1' });
    await ending.call('POST', '/v1/sessions/s1/runs', { input: 'Hi.' });
    const closed = ending.close(10_000);
    const late = await ending.call('GET', '/v1/sessions/s1/stream', undefined, accept);
    expect([late.status, await late.text()]).toEqual([200, 'retry: 10\n\n']);
    held.resolve();
    await closed;
  });

  it('may be many with the one token of a backend; a token may have a limit of its own', async () => {
    const backend = { name: 'backend', token: 'the-token-of-a-backend' };
    const guest = { name: 'guest', token: 'the-token-of-a-guest', requests: { perSecond: 0.1, burst: 1 } };
    const server = await startServer({ model: model() }, { tokens: [backend, guest] });
    const ask = (token: string) =>
      fetch(`${server.url}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
    const many = await Promise.all(Array.from({ length: 400 }, () => ask(backend.token)));
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([200]));
    expect([(await ask(guest.token)).status, (await ask(guest.token)).status]).toEqual([200, 429]);
  });
});
