import { defineAgent, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { createServer, jsonResponse, RequestError, type Route } from '../index.ts';
import { startServer } from '../test-support/server.ts';

const success = { status: 200, description: 'Done.' };
const echo: Route = {
  method: 'post',
  path: '/echo/{name}',
  id: 'echo',
  summary: 'Says what it got.',
  query: {
    count: { schema: { type: 'integer', minimum: 1, maximum: 9, default: 3 }, description: 'A number.' },
    loud: { schema: { type: 'boolean', default: false }, description: 'A choice.' },
    word: { schema: { type: 'string' }, description: 'A text.' },
  },
  body: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false },
  success,
  handle: async ({ path, query, body }) => jsonResponse({ path, query, body }),
};
const peek: Route = {
  method: 'get',
  path: '/peek',
  id: 'peek',
  summary: 'Reads the log of a session that the query names.',
  query: { session: { schema: { type: 'string' }, description: 'The session.' } },
  success,
  async handle({ sessions, query }) {
    if (query['session'] === undefined) throw new RequestError('bad_request', 'Name a `session`.');
    const types: string[] = [];
    for await (const { type } of sessions.events(String(query['session']))) types.push(type);
    return jsonResponse(types);
  },
};
const tell: Route = {
  method: 'post',
  path: '/tell',
  id: 'tell',
  summary: 'Starts a run in a session that the body names.',
  success,
  async handle({ sessions, body }) {
    const { inputSeq } = await sessions.startRun(body['session'] as string, { input: 'Hi.' });
    return jsonResponse({ inputSeq });
  },
};
const routes = [echo, peek, tell];

describe('a route of the application', () => {
  it('gets a request whose parameters and body were checked against its description', async () => {
    const server = await startServer({ model: scriptedModel([]) }, { routes });
    const path = { name: 'a b' };
    expect(await server.json('POST', '/echo/a%20b?loud=true&other=1', { text: 'Hi.' })).toEqual({
      path,
      query: { count: 3, loud: true },
      body: { text: 'Hi.' },
    });
    expect(await server.json('POST', '/echo/x?count=9&word=w', { text: '' })).toMatchObject({
      query: { count: 9, loud: false, word: 'w' },
    });
    for (const count of ['0', '10', '1.5', 'x', '']) {
      expect(await server.json('POST', `/echo/x?count=${count}`, { text: '' })).toMatchObject({
        code: 'bad_request',
        detail: '`count` must be a whole number from 1 to 9.',
      });
    }
    expect(await server.json('POST', '/echo/x', { text: 1 })).toMatchObject({ code: 'bad_request' });
    expect(await server.json('GET', '/peek')).toMatchObject({ code: 'bad_request', detail: 'Name a `session`.' });
  });

  it('needs a token, is described, and is refused where another route is', async () => {
    const server = await startServer({ model: scriptedModel([]) }, { routes });
    expect((await fetch(`${server.url}/peek?session=s1`)).status).toBe(401);
    expect(await server.json('GET', '/openapi.json')).toMatchObject({
      paths: { '/peek': { get: { operationId: 'peek' } } },
    });
    const options = { agents: [defineAgent({ model: scriptedModel([]) })], journal: memoryJournal() };
    const tokens = [{ name: 'me', token: 'a-token-of-my-own' }];
    const taken = { ...peek, path: '/v1/sessions' };
    expect(() => createServer({ ...options, tokens, routes: [taken] })).toThrow('Two routes serve GET /v1/sessions.');
  });

  it('reaches only sessions that the token may use, wherever their ids come from', async () => {
    const tokens = [
      { name: 'ann', token: 'token-of-ann-0123456789', sessions: ['ann-*'] },
      { name: 'eve', token: 'token-of-eve-0123456789', readOnly: true },
      { name: 'all', token: 'token-of-all-0123456789' },
    ];
    const server = await startServer({ model: scriptedModel(['Hello.']) }, { routes, tokens });
    const as = (name: string, method: string, path: string, body?: object) =>
      server.call(method, path, body, { authorization: `Bearer token-of-${name}-0123456789` });
    await as('all', 'POST', '/v1/sessions', { id: 'bob-1' });
    expect((await as('all', 'GET', '/peek?session=bob-1')).status).toBe(200);
    expect((await as('ann', 'GET', '/peek?session=bob-1')).status).toBe(404);
    expect((await as('ann', 'POST', '/tell', { session: 'bob-1' })).status).toBe(404);
    expect((await as('eve', 'POST', '/tell', { session: 'bob-1' })).status).toBe(403);
    expect(await (await as('all', 'POST', '/tell', { session: 'bob-1' })).json()).toEqual({ inputSeq: 2 });
  });
});
