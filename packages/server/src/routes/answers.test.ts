import { asTool, defineAgent, defineTool, type Agent, type PendingCall, type Tool } from '@treadle/core';
import { scriptedModel, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { isRunEnd, sse, until, type Told } from '../test-support/events.ts';
import { startServer, type TestServer } from '../test-support/server.ts';

const place = defineTool({ name: 'place', description: 'Where the user is.', runs: 'client', timeoutMs: 60_000 });
const erase = defineTool({ name: 'erase', description: 'Erases.', approval: 'always', execute: () => 'erased' });

/** Calls tools once, in one reply, and then says that it is done. */
const caller = (id: string, tools: readonly Tool[], calls: readonly string[]): Agent =>
  defineAgent({
    id,
    model: scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return `${id} is done.`;
      return {
        toolCalls: calls.map((name) => ({ name, arguments: name.startsWith('a') ? { prompt: 'Go on.' } : {} })),
      };
    }),
    tools,
    permissions: { answerTimeoutMs: 60_000 },
    subAgents: { maxDepth: 3 },
  });

const below = (name: string, agent: Agent) => asTool(agent, { name, description: 'An agent.' });

interface Info {
  readonly status: string;
  readonly pending: readonly PendingCall[];
}

/** A session whose run waits. */
async function paused(server: TestServer): Promise<{ readonly at: string; readonly pending: Info['pending'] }> {
  const { sessionId } = await server.json<{ sessionId: string }>('POST', '/v1/sessions', {});
  const at = `/v1/sessions/${sessionId}`;
  const run = await server.call('POST', `${at}/runs`, { input: 'Go.' }, { accept: 'text/event-stream' });
  await until(sse(run), ({ type }) => type === 'run_paused');
  const { pending } = await server.json<Info>('GET', at);
  return { at, pending };
}

const endOf = async (server: TestServer, at: string): Promise<Told | undefined> =>
  (await until(sse(await server.call('GET', `${at}/stream`)), isRunEnd)).at(-1)?.event;

const problemOf = async (response: Response): Promise<unknown> => {
  const { status, code } = (await response.json()) as { status: number; code: string };
  return { status, code };
};

/** Agents below each other, so many, the lowest of which is asked. */
function nested(depth: number, calls: readonly string[]): Agent {
  let agent = caller('lowest', [place, erase], calls);
  for (let level = depth; level > 0; level -= 1) {
    const name = `agent${level}`;
    agent = caller(level === 1 ? 'top' : `at${level}`, [below(name, agent)], [name]);
  }
  return agent;
}

describe('what sub-agents wait for', () => {
  it.each([1, 2, 3])('is answered at the top, from %i levels below: approvals', async (depth) => {
    const server = await startServer(nested(depth, ['erase']));
    const { at, pending } = await paused(server);
    expect(pending).toMatchObject([{ toolName: 'erase', approvalId: expect.any(String) as string }]);
    const answer = { decision: 'approve' };
    const path = `${at}/approvals/${pending[0]?.approvalId}`;
    const response = await server.call('POST', path, answer, { accept: 'text/event-stream' });
    expect((await until(sse(response), isRunEnd)).at(-1)?.event).toMatchObject({ status: 'completed' });
    const { events } = await server.json<{ events: Told[] }>('GET', `/v1/sessions/${pending[0]?.sessionId}/events`);
    const results = events.flatMap((event) => (event.type === 'tool_ended' ? event.content : []));
    expect(results).toEqual([{ type: 'text', text: 'erased' }]);
  });

  it.each([1, 2, 3])('is answered at the top, from %i levels below: client tools', async (depth) => {
    const server = await startServer(nested(depth, ['place']));
    const { at, pending } = await paused(server);
    const results = pending.map(({ callId }) => ({ callId, content: 'Oslo' }));
    expect((await server.call('POST', `${at}/tool-results`, { results })).status).toBe(202);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
  });

  it('is answered together where several of them wait beside each other, and the agent itself', async () => {
    const one = below('agent1', caller('one', [place], ['place']));
    const two = below('agent2', caller('two', [place], ['place', 'place']));
    const server = await startServer(caller('top', [place, one, two], ['agent1', 'agent2', 'place']));
    const { at, pending } = await paused(server);
    expect(pending.map(({ toolName }) => toolName)).toEqual(['place', 'place', 'place', 'place']);
    const results = pending.map(({ callId }) => ({ callId, content: 'Oslo' }));
    expect(await problemOf(await server.call('POST', `${at}/tool-results`, { results: results.slice(0, 2) }))).toEqual({
      status: 409,
      code: 'results_missing',
    });
    expect((await server.call('POST', `${at}/tool-results`, { results })).status).toBe(202);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
  });

  it('counts once: a repeated request is told so, and another answer is a conflict', async () => {
    const server = await startServer(nested(2, ['erase']));
    const { at, pending } = await paused(server);
    const path = `${at}/approvals/${pending[0]?.approvalId}`;
    const post = (decision: string, key: string) => server.call('POST', path, { decision }, { 'idempotency-key': key });
    const first = await post('approve', 'k1');
    expect(first.status).toBe(202);
    const { inputSeq } = (await first.json()) as { inputSeq: number };
    expect(await (await post('approve', 'k1')).json()).toEqual({ inputSeq, duplicate: true });
    await endOf(server, at);
    expect(await (await post('approve', 'k1')).json()).toEqual({ inputSeq, duplicate: true });
    expect(await problemOf(await post('reject', 'k1'))).toEqual({ status: 422, code: 'idempotency_mismatch' });
    expect(await problemOf(await post('approve', 'k2'))).toEqual({ status: 409, code: 'conflict' });
    expect(await problemOf(await server.call('POST', path, { decision: 'approve' }))).toEqual({
      status: 409,
      code: 'conflict',
    });
  });
});

describe('H4: of answers that come at the same moment', () => {
  it('to a question, one counts and the others are conflicts', async () => {
    const server = await startServer(caller('top', [erase], ['erase']));
    const { at, pending } = await paused(server);
    const path = `${at}/approvals/${pending[0]?.approvalId}`;
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        server.call('POST', path, { decision: index % 2 ? 'approve' : 'reject' }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      202, 409, 409, 409, 409, 409, 409, 409,
    ]);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
    const { events } = await server.json<{ events: Told[] }>('GET', `${at}/events`);
    expect(events.filter(({ type }) => type === 'approval_answered')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'input_rejected')).toEqual([]);
  });

  it('to client tools, one counts and the others are conflicts', async () => {
    const server = await startServer(caller('top', [place], ['place', 'place']));
    const { at, pending } = await paused(server);
    const responses = await Promise.all(
      ['Oslo', 'Rome', 'Bonn'].map((content) =>
        server.call('POST', `${at}/tool-results`, {
          results: pending.map(({ callId }) => ({ callId, content })),
        }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409]);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
  });

  it('of a sub-agent, one counts and the others are conflicts', async () => {
    const server = await startServer(nested(2, ['erase']));
    const { at, pending } = await paused(server);
    const path = `${at}/approvals/${pending[0]?.approvalId}`;
    const responses = await Promise.all(
      ['approve', 'reject', 'approve'].map((decision) => server.call('POST', path, { decision })),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409]);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
  });
});

describe('a question that has a time', () => {
  it.each([
    ['an approval', ['erase']],
    ['a client tool', ['place']],
  ])('%s: it says until when, ends by itself, and an answer after that is a conflict', async (_, calls) => {
    const clock = testClock();
    const server = await startServer(caller('top', [place, erase], calls), { clock });
    const { at, pending } = await paused(server);
    const [call] = pending;
    expect(call?.expiresAt).toBe(clock.now() + 60_000);
    await clock.advance(60_000);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
    const { events } = await server.json<{ events: Told[] }>('GET', `${at}/events`);
    expect(events.flatMap((event) => (event.type === 'tool_call_rejected' ? [event.reason] : []))).toEqual(['expired']);
    const late =
      call?.approvalId === undefined
        ? server.call('POST', `${at}/tool-results`, { results: [{ callId: call?.callId, content: 'Oslo' }] })
        : server.call('POST', `${at}/approvals/${call.approvalId}`, { decision: 'approve' });
    expect(await problemOf(await late)).toEqual({ status: 409, code: 'conflict' });
  });

  it('of a sub-agent ends by itself too', async () => {
    const clock = testClock();
    const server = await startServer(nested(2, ['erase']), { clock });
    const { at, pending } = await paused(server);
    expect(pending[0]?.expiresAt).toBe(clock.now() + 60_000);
    await clock.advance(60_000);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
    const answer = await server.call('POST', `${at}/approvals/${pending[0]?.approvalId}`, { decision: 'approve' });
    expect(await problemOf(answer)).toEqual({ status: 409, code: 'conflict' });
  });
});

interface Issued {
  readonly tokens: readonly { readonly token: string; readonly callId: string; readonly expiresAt: number }[];
}

describe('an answer token', () => {
  const key = 'a secret of thirty-two bytes or more';
  const as = (token: string) => ({ authorization: `Bearer ${token}` });

  async function asked(agent: Agent, more: object = {}) {
    const server = await startServer(agent, { answerTokens: { key }, ...more });
    const { at, pending } = await paused(server);
    const { tokens } = await server.json<Issued>('POST', `${at}/answer-tokens`, {});
    return { server, at, pending, tokens, token: tokens[0]?.token ?? '' };
  }

  it('shows the question to whoever has it, and takes one answer', async () => {
    const { server, at, pending, token } = await asked(caller('top', [erase], ['erase']));
    const shown = await (await server.call('GET', '/v1/answers', undefined, as(token))).json();
    const { approvalId, callId } = pending[0] ?? {};
    expect(shown).toMatchObject({ callId, approvalId, toolName: 'erase', arguments: {} });
    expect((shown as { question: string }).question).toContain('erase');
    expect((await server.call('POST', '/v1/answers', { decision: 'approve' }, as(token))).status).toBe(202);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
    const again = await server.call('POST', '/v1/answers', { decision: 'reject' }, as(token));
    expect(await problemOf(again)).toEqual({ status: 409, code: 'conflict' });
    expect(await problemOf(await server.call('GET', '/v1/answers', undefined, as(token)))).toEqual({
      status: 409,
      code: 'conflict',
    });
  });

  it('lets its holder do nothing else', async () => {
    const { server, at, token } = await asked(caller('top', [erase], ['erase']));
    const requests: readonly (readonly [string, string, unknown?])[] = [
      ['GET', at],
      ['GET', `${at}/stream`],
      ['GET', `${at}/events`],
      ['POST', `${at}/runs`, { input: 'Hi' }],
      ['POST', `${at}/cancel`, {}],
      ['POST', `${at}/answer-tokens`, {}],
      ['GET', '/v1/sessions'],
      ['GET', '/v1/search?query=go'],
    ];
    for (const [method, path, body] of requests) {
      expect((await server.call(method, path, body, as(token))).status).toBe(401);
    }
    // It grants nothing beyond the one call, and does not end the run either.
    for (const more of [{ remember: true }, { interrupt: true }]) {
      const response = await server.call('POST', '/v1/answers', { decision: 'approve', ...more }, as(token));
      expect(await problemOf(response)).toEqual({ status: 400, code: 'bad_request' });
    }
  });

  it('answers its own call only: another one of the same session stays open', async () => {
    const { server, at, pending, token } = await asked(caller('top', [erase], ['erase', 'erase']));
    await server.call('POST', '/v1/answers', { decision: 'approve' }, as(token));
    await expect
      .poll(async () => (await server.json<Info>('GET', at)).pending.map(({ callId }) => callId))
      .toEqual([pending[1]?.callId]);
  });

  it('is refused when it was forged, is another server’s, is over, or is no token of an answer', async () => {
    const clock = testClock();
    const { server, token, tokens } = await asked(caller('top', [erase], ['erase']), { clock });
    const other = await asked(caller('top', [erase], ['erase']), {
      answerTokens: { key: 'another secret of thirty-two bytes or more' },
    });
    const codeFor = async (given: string) =>
      problemOf(await server.call('POST', '/v1/answers', { decision: 'approve' }, as(given)));
    const [body = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...claims, callId: 'call_other' })).toString('base64url');
    for (const given of [`${forged}.${signature}`, other.token, server.bearer, 'x']) {
      expect(await codeFor(given)).toEqual({ status: 401, code: 'invalid_token' });
    }
    expect(tokens[0]?.expiresAt).toBe(clock.now() + 60_000);
    await clock.advance(60_000);
    expect(await codeFor(token)).toEqual({ status: 401, code: 'token_expired' });
  });

  it('answers for a sub-agent, and brings results of client tools, each with its token', async () => {
    const { server, at, tokens, token } = await asked(nested(2, ['place', 'place']));
    const one = await server.call('POST', '/v1/answers', { content: 'Oslo' }, as(token));
    expect(await problemOf(one)).toEqual({ status: 409, code: 'results_missing' });
    const results = tokens.map(({ token: own }) => ({ token: own, content: 'Oslo' }));
    expect((await server.call('POST', '/v1/answers', { results }, as(token))).status).toBe(202);
    expect(await endOf(server, at)).toMatchObject({ status: 'completed' });
  });

  it('is made by those who may answer, and by no server without a key', async () => {
    const agent = caller('top', [erase], ['erase']);
    const keyless = await startServer(agent);
    const { at } = await paused(keyless);
    expect(await problemOf(await keyless.call('POST', `${at}/answer-tokens`, {}))).toEqual({
      status: 404,
      code: 'not_found',
    });
    const looker = { name: 'looker', token: 'token-of-the-looker', readOnly: true };
    const { journal } = keyless;
    const server = await startServer(agent, { journal, tokens: [looker], answerTokens: { key } });
    const refused = await server.call('POST', `${at}/answer-tokens`, {}, as(looker.token));
    expect(await problemOf(refused)).toEqual({ status: 403, code: 'forbidden' });
  });
});
