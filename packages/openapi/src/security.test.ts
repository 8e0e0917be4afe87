import type { JsonObject } from '@treadle/core';
import { describe, expect, it } from 'vitest';

import { openApiTools } from './openapi-tools.ts';
import { callOperation, callTool, documentOf, serve } from './test-support/server.ts';

const schemes = {
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'api_key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  bearer: { type: 'http', scheme: 'Bearer' },
  basic: { type: 'http', scheme: 'basic' },
  oauth: { type: 'oauth2', flows: {} },
  digest: { type: 'http', scheme: 'digest' },
};
const document = { components: { securitySchemes: schemes } };
const secured = (...security: JsonObject[]): JsonObject => ({ security, operationId: 'a' });

const credentials = {
  header: 'canary-1',
  query: 'canary 2',
  cookie: 'canary-3',
  bearer: 'canary-4',
  basic: { username: 'me', password: 'canary-5' },
  oauth: async () => 'canary-6',
};

/** Says everything that it was sent, as unfortunate servers do. */
const echoing = () =>
  serve((response, asked) => {
    response.setHeader('content-type', 'application/json');
    response.setHeader('link', JSON.stringify(asked.url));
    response.end(JSON.stringify(asked));
  });

describe('a credential', () => {
  it.each([
    ['header', { 'x-key': 'canary-1' }, '/v1/c'],
    ['query', {}, '/v1/c?api_key=canary%202'],
    ['cookie', { cookie: 'sid=canary-3' }, '/v1/c'],
    ['bearer', { authorization: 'Bearer canary-4' }, '/v1/c'],
    ['basic', { authorization: `Basic ${Buffer.from('me:canary-5').toString('base64')}` }, '/v1/c'],
    ['oauth', { authorization: 'Bearer canary-6' }, '/v1/c'],
  ])('for %s is sent, and never shown, not even when the server says it', async (scheme, headers, url) => {
    await using server = await echoing();
    const { text, details } = await callOperation(
      server,
      '/c',
      secured({ [scheme]: [] }),
      {},
      { document, credentials },
    );
    expect(server.asked[0]).toMatchObject({ url, headers });
    const told = `${text} ${JSON.stringify(details)}`;
    expect(told).toContain('[secret]');
    for (const secret of ['canary', Buffer.from('me:canary-5').toString('base64')]) expect(told).not.toContain(secret);
  });

  it('is of the first alternative that all credentials are there for', async () => {
    await using server = await serve();
    const operation = secured({ header: [], digest: [] }, { query: [], cookie: [] }, { bearer: [] });
    await callOperation(server, '/c', operation, {}, { document, credentials });
    expect(server.asked[0]).toMatchObject({ url: '/v1/c?api_key=canary%202', headers: { cookie: 'sid=canary-3' } });
    expect(server.asked[0]?.headers.authorization).toBeUndefined();
  });

  it('is not sent where none is wanted, and nothing is sent where there is none', async () => {
    await using server = await serve();
    await callOperation(
      server,
      '/c',
      { security: [] },
      {},
      { document: { ...document, security: [{ bearer: [] }] }, credentials },
    );
    await callOperation(server, '/c', {}, {}, { document: { ...document, security: [{ bearer: [] }] } });
    await callOperation(server, '/c', {}, {}, { document: { ...document, security: [{ bearer: [] }] }, credentials });
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined, 'Bearer canary-4']);
  });

  it('is no parameter for a model to see or to set, also in the headers of the application', async () => {
    await using server = await serve();
    const parameters = [
      { name: 'x-key', in: 'header', schema: { type: 'string' } },
      { name: 'api_key', in: 'query', schema: { type: 'string' } },
      { name: 'X-Own', in: 'header', schema: { type: 'string' } },
    ];
    const options = { document, credentials, headers: { 'x-own': 'canary-7' } };
    const operation = { ...secured({ header: [] }), parameters };
    await callOperation(server, '/c', operation, { 'X-Own': 'the model' }, options);
    expect(server.asked[0]?.headers).toMatchObject({ 'x-key': 'canary-1', 'x-own': 'canary-7' });
    for (const name of ['x-key', 'api_key']) {
      expect((await callOperation(server, '/c', operation, { [name]: 'x' }, options)).isError).toBe(true);
    }
    expect(server.asked).toHaveLength(1);
  });

  it("that can't be had stops the call, and says no more than that", async () => {
    await using server = await serve();
    const failing = { oauth: () => Promise.reject(new Error('canary in an error')) };
    for (const broken of [failing, { oauth: () => '' }]) {
      const { details, text } = await callOperation(
        server,
        '/c',
        secured({ oauth: [] }),
        {},
        { document, credentials: broken },
      );
      expect(details).toEqual({ problem: 'no_credentials' });
      expect(text).not.toContain('canary');
    }
    expect(server.asked).toEqual([]);
  });

  it('goes to the server it is for: not to another that the document names for an operation', async () => {
    await using server = await serve();
    const evil = {
      operationId: 'evil',
      servers: [{ url: `http://127.0.0.1:${server.port}` }],
      security: [{ bearer: [] }],
    };
    const paths = { '/evil': { get: evil }, '/fine': { get: { operationId: 'fine' } } };
    const given = documentOf(paths, { ...document, servers: [{ url: 'https://api.example' }] });
    const options = { allow: ['127.0.0.1'], credentials };
    const { tools, skipped } = openApiTools(given, options);
    expect(tools.map(({ name }) => name)).toEqual(['fine']);
    expect(skipped).toMatchObject([{ operationId: 'evil', problem: 'other_server' }]);
    const trusting = openApiTools(given, { ...options, credentialOrigins: [server.origin] });
    await callTool(
      trusting.tools.find(({ name }) => name === 'evil'),
      {},
    );
    expect(server.asked[0]?.headers.authorization).toBe('Bearer canary-4');
  });

  it('does not follow a redirect to another host', async () => {
    await using inner = await serve();
    await using server = await serve((response) => {
      response.writeHead(307, { location: `http://localhost:${inner.port}/` }).end();
    });
    await callOperation(
      server,
      '/c',
      secured({ bearer: [] }),
      {},
      { document, credentials, allow: ['127.0.0.1', 'localhost'] },
    );
    expect(inner.connections()).toBe(0);
  });
});
