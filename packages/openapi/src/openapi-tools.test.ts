import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession, defineAgent, type JsonObject } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { loadOpenApi } from './document/load.ts';
import { openApiTools } from './openapi-tools.ts';
import { callOperation, callTool, documentOf, serve } from './test-support/server.ts';

const get = (operationId: string, rest: JsonObject = {}): JsonObject => ({ get: { operationId, ...rest } });

const PETS = `
openapi: 3.0.3
info: { title: Pets, version: '1' }
servers:
  - url: '{scheme}://pets.example/{version}'
    variables:
      scheme: { default: https, enum: [http, https] }
      version: { default: v2 }
paths:
  /pets/{petId}:
    parameters:
      - $ref: '#/components/parameters/PetId'
    get:
      operationId: pets/get
      summary: One pet
      description: By its number.
      tags: [pets]
    delete:
      tags: [admin]
  /pets:
    post:
      operationId: pets/add
      tags: [pets]
      parameters:
        - { name: Idempotency-Key, in: header, required: true, schema: { type: string } }
      requestBody:
        content:
          application/json:
            schema: { $ref: '#/components/schemas/Pet' }
components:
  parameters:
    PetId: { name: petId, in: path, required: true, description: Its number, schema: { type: integer } }
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, nullable: true, maxLength: 10 }
        parent: { $ref: '#/components/schemas/Pet' }
`;

describe('a document', () => {
  it('of YAML or JSON becomes a tool per operation', () => {
    const { tools, operations, skipped } = openApiTools(PETS);
    expect(skipped).toEqual([]);
    expect(operations).toEqual([
      { toolName: 'pets_get', operationId: 'pets/get', method: 'GET', path: '/pets/{petId}' },
      { toolName: 'delete_pets_petId', operationId: null, method: 'DELETE', path: '/pets/{petId}' },
      { toolName: 'pets_add', operationId: 'pets/add', method: 'POST', path: '/pets' },
    ]);
    expect(tools.map(({ replay, readOnly }) => [replay, readOnly])).toEqual([
      ['safe', true],
      ['never', false],
      ['never', false],
    ]);
    expect(tools[0]).toMatchObject({
      label: 'One pet',
      description: 'One pet\nBy its number.\nGET /pets/{petId}',
      inputSchema: {
        type: 'object',
        properties: { petId: { type: 'integer', description: 'Its number' } },
        required: ['petId'],
        additionalProperties: false,
      },
    });
    expect(tools[2]?.inputSchema).toEqual({
      type: 'object',
      properties: {
        body: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: ['string', 'null'], maxLength: 10 }, parent: { type: 'object' } },
        },
      },
      additionalProperties: false,
    });
  });

  it.each([
    ['{"swagger":"2.0"}', /Swagger "2\.0"\. Convert/],
    ['{"openapi":"2.0"}', /OpenAPI 3/],
    ['{"openapi":3.1}', /OpenAPI 3/],
    ['[]', /is no object/],
    ['', /is no object/],
    ['{"openapi":', /can't be read as JSON/],
    ['a: b: c', /can't be read as YAML/],
    ['{"openapi":"3.1.0"}', /no operation/],
    ['{"openapi":"3.1.0","paths":[1]}', /no operation/],
  ])('that is %j is refused', (text, words) => {
    expect(() => openApiTools(text)).toThrow(words);
  });

  it('gives names that providers take, each once, and says which is which', () => {
    const long = 'a'.repeat(80);
    const paths = {
      '/a': get('x.y z'),
      '/b': get('x y z'),
      '/c': get(long),
      '/d': get(`${long}b`),
      '/e': get('__proto__'),
    };
    const { tools, operations } = openApiTools(documentOf(paths), { namePrefix: 'shop' });
    const names = tools.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(['shop__x_y_z', 'shop__x_y_z_2']);
    expect(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name))).toBe(true);
    expect(new Set(names).size).toBe(5);
    expect(operations.map(({ toolName }) => toolName)).toEqual(names);
  });

  it('gives only the operations that are wanted', () => {
    const names = (options: Parameters<typeof openApiTools>[1]): string[] =>
      openApiTools(PETS, options).tools.map(({ name }) => name);
    expect(names({ include: { operations: ['pets/get'] } })).toEqual(['pets_get']);
    expect(names({ include: { operations: ['DELETE /pets/{petId}'] } })).toEqual(['delete_pets_petId']);
    expect(names({ include: { tags: ['pets'] }, exclude: { operations: ['pets/add'] } })).toEqual(['pets_get']);
    expect(names({ include: { paths: ['/pets/'] } })).toEqual(['pets_get', 'delete_pets_petId']);
    expect(() => names({ exclude: { tags: ['admim'] } })).toThrow(/no operation by \{"tags":\["admim"\]\}/);
  });

  it.each([
    [{ url: 'https://a.example/{v}/', variables: { v: { default: 'v1' } } }, {}, 'a.example'],
    [
      { url: '{s}://b.example', variables: { s: { default: 'https' } } },
      { serverVariables: { s: 'http' } },
      'b.example',
    ],
    [{ url: '/v3' }, { documentUrl: 'https://c.example/openapi.json' }, 'c.example'],
    [{ url: 'https://a.example' }, { baseUrl: 'https://d.example/x' }, 'd.example'],
  ])('with the server %j and %j is served by %s', async (server, options, host) => {
    const { tools } = openApiTools(documentOf({ '/a': get('a') }, { servers: [server] }), options);
    expect(await tools[0]?.access?.({})).toEqual({ hosts: [host], readOnly: true });
  });

  it.each([
    { url: '/v3' },
    { url: 'file:///etc' },
    { url: 'https://{x}' },
    { url: 'https://u:p@a.example' },
    { url: 7 },
  ])('with the server %j has none', (server) => {
    expect(() => openApiTools(documentOf({ '/a': get('a') }, { servers: [server] }))).toThrow(
      /baseUrl|serverVariables|server/,
    );
  });

  it('leaves out what it can not do, and says why', () => {
    const paths = {
      '/a': { ...get('fine'), options: {}, trace: {} },
      '/b': get('noParameter', { parameters: [{ $ref: '#/nowhere' }] }),
      '/c/{id}': get('noPlace'),
      '/d': { post: { operationId: 'body', requestBody: { content: { 'a b': {} } } } },
      '@evil.example/': get('evil'),
      '/e': 7,
      'x-more': {},
    };
    const { tools, skipped } = openApiTools(documentOf(paths));
    expect(tools.map(({ name }) => name)).toEqual(['fine']);
    expect(skipped.map(({ path, problem }) => `${path} ${problem}`).toSorted()).toEqual([
      '/a unsupported',
      '/a unsupported',
      '/b broken_reference',
      '/c/{id} bad_document',
      '/d unsupported',
      '/e bad_document',
      '@evil.example/ bad_document',
    ]);
  });
});

describe('T28: a $ref', () => {
  it.each([
    'http://127.0.0.1:PORT/schema.json',
    'https://example.com/a.yaml#/A',
    'file:///etc/passwd',
    '//127.0.0.1:PORT/a',
    'other.yaml#/A',
    '../a.json',
  ])('to %s is refused, and nothing is asked for it', async (template) => {
    await using server = await serve();
    const $ref = template.replace('PORT', String(server.port));
    const paths = {
      '/fine': get('fine'),
      '/item': { $ref },
      '/parameter': get('parameter', { parameters: [{ $ref }] }),
      '/schema': get('schema', { parameters: [{ name: 'a', in: 'query', schema: { anyOf: [{ $ref }] } }] }),
      '/body': { post: { operationId: 'body', requestBody: { $ref } } },
      '/media': {
        post: { operationId: 'media', requestBody: { content: { 'application/json': { schema: { $ref } } } } },
      },
    };
    const { tools, skipped } = openApiTools(documentOf(paths), { allow: ['127.0.0.1'] });
    expect(tools.map(({ name }) => name)).toEqual(['fine']);
    expect(skipped.map(({ problem }) => problem)).toEqual(Array.from({ length: 5 }, () => 'foreign_reference'));
    expect(() => openApiTools(documentOf({ '/item': { $ref } }))).toThrow(/leads out of the document/);
    expect(server.connections()).toBe(0);
  });
});

describe('T29: a document', () => {
  it('whose schemas hold themselves has tools with schemas of a bounded length', () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const names = Array.from({ length: 40 }, (_, index) => `S${index}`);
    // Each refers to each: written out, that has no end, and 40^10 parts at ten levels.
    const schemas = Object.fromEntries(
      names.map((name) => [
        name,
        { type: 'object', properties: Object.fromEntries(names.map((other) => [other, ref(other)])) },
      ]),
    );
    const circle = { $ref: '#/components/schemas/Circle' };
    const paths = {
      '/a': { post: { operationId: 'a', requestBody: { content: { 'application/json': { schema: ref('S0') } } } } },
      '/b': get('b', { parameters: [{ name: 'q', in: 'query', schema: circle }] }),
      '/c': { $ref: '#/paths/~1c' },
    };
    const document = documentOf(paths, { components: { schemas: { ...schemas, Circle: circle } } });
    const { tools, skipped } = openApiTools(document);
    expect(tools.map(({ name }) => name)).toEqual(['a']);
    expect(JSON.stringify(tools[0]?.inputSchema).length).toBeLessThan(40_000);
    expect(skipped.map(({ problem }) => problem)).toEqual(['broken_reference', 'broken_reference']);
  });

  it('of ten megabytes is read within bounds, and a larger one refused', () => {
    const operation = (index: number): JsonObject => ({
      post: {
        operationId: `operation-${index}`,
        description: 'x'.repeat(4000),
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } } },
      },
    });
    const node = {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 50 }, (_, index) => [
          `p${index}`,
          { description: 'y'.repeat(100), ...(index < 5 ? { $ref: '#/components/schemas/Node' } : { type: 'string' }) },
        ]),
      ),
    };
    const paths = Object.fromEntries(Array.from({ length: 2600 }, (_, index) => [`/p${index}`, operation(index)]));
    const text = JSON.stringify(documentOf(paths, { components: { schemas: { Node: node } } }));
    expect(text.length).toBeGreaterThan(10 * 1024 * 1024);
    const { tools } = openApiTools(text);
    expect(tools).toHaveLength(2600);
    expect(Math.max(...tools.map(({ inputSchema: parameters }) => JSON.stringify(parameters).length))).toBeLessThan(
      40_000,
    );
    expect(() => openApiTools(text, { maxBytes: 10 * 1024 * 1024 })).toThrow(/larger than 10485760 bytes/);
    expect(() => openApiTools(`a: ${' '.repeat(9 * 1024 * 1024)}`)).toThrow(/larger than 8388608 bytes of YAML/);
  });

  it.each([
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
    ],
    ['a hundred thousand levels of YAML', '[a, '.repeat(3) + '- '.repeat(100_000)],
    ['a hundred thousand levels of JSON', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['a hundred thousand levels of flow', `a: ${'{b: '.repeat(20_000)}`],
  ])('with %s is refused', (_what, text) => {
    expect(() => openApiTools(text)).toThrow(/OpenAPI document/);
  });

  it.each([
    ['JSON', `{"openapi":"3.1.0","x-deep":${'['.repeat(512)}${']'.repeat(512)}}`],
    ['YAML', `openapi: 3.1.0\nx-deep: ${'['.repeat(512)}${']'.repeat(512)}\n`],
  ])('of over 512 levels of %s is refused for that', (_what, text) => {
    expect(() => openApiTools(text)).toThrow(/nested deeper than 512 levels/);
    const fits = text.replace('[[', '').replace(']]', '');
    expect(() => openApiTools(fits)).toThrow(/no operation/);
  });

  it('with deep schemas, and values that hold themselves, is still read', () => {
    let deep: JsonObject = { type: 'string' };
    for (let level = 0; level < 20_000; level += 1) deep = { type: 'array', items: deep };
    const loop: unknown[] = [];
    loop.push(loop);
    const paths = {
      '/a': get('a', {
        parameters: [{ name: 'q', in: 'query', schema: { ...deep, default: loop as never, enum: loop as never } }],
      }),
    };
    expect(openApiTools(documentOf(paths)).tools).toHaveLength(1);
  });
});

describe('a call', () => {
  const echo = get('echo')['get'] as JsonObject;

  it('shows the status and the text of the answer', async () => {
    await using server = await serve((response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', link: '</v1/c?page=2>; rel="next"' })
        .end('{"a":1}');
    });
    const { text, isError, details } = await callOperation(server, '/c', echo, {});
    expect(text).toBe(`GET ${server.origin}/v1/c → 200\nlink: </v1/c?page=2>; rel="next"\n\n{"a":1}`);
    expect([isError, details]).toEqual([
      false,
      { status: 200, url: `${server.origin}/v1/c`, mediaType: 'application/json', bytes: 7, truncated: false },
    ]);
  });

  it.each([
    [404, 'text/plain', 'none \u001b[2J', true, '→ 404\n\nnone ␛[2J'],
    [204, 'text/plain', '', false, '→ 204'],
    [200, 'image/png', '\u0089PNG', false, '→ 200\n\n[image/png, 5 bytes, not shown]'],
    [200, 'application/problem+json', '{}', false, '→ 200\n\n{}'],
  ])('answered %i with %s shows what can be shown', async (status, type, body, isError, expected) => {
    await using server = await serve((response) => {
      const bytes = Buffer.from(body);
      response
        .writeHead(status, { 'content-type': type, ...(status === 204 ? {} : { 'content-length': bytes.length }) })
        .end(bytes);
    });
    const result = await callOperation(server, '/c', echo, {});
    expect(result.text).toBe(`GET ${server.origin}/v1/c ${expected}`);
    expect(result.isError).toBe(isError);
  });

  it('sends an idempotency key where the operation declares one, and no model can set it', async () => {
    await using server = await serve();
    const parameters = [{ name: 'idempotency-key', in: 'header', required: true, schema: { type: 'string' } }];
    await callOperation(server, '/c', { method: 'post', parameters }, {});
    const set = await callOperation(server, '/c', { method: 'post', parameters }, { 'idempotency-key': 'mine' });
    expect(server.asked.map(({ headers }) => headers['idempotency-key'])).toEqual(['key-1']);
    expect(set.text).toContain('idempotency-key');
  });

  it('T26: of a server with a private address is refused before it connects', async () => {
    await using server = await serve();
    for (const host of ['127.0.0.1', '0x7f.1', 'localhost.', '[::ffff:127.0.0.1]', '2130706433']) {
      const baseUrl = `http://${host}:${server.port}`;
      const { isError, details } = await callOperation(server, '/c', echo, {}, { baseUrl, allow: [] });
      expect([host, isError, details]).toEqual([host, true, { problem: 'address_refused' }]);
    }
    expect(server.connections()).toBe(0);
  });

  it('T26: does not follow a redirect to another host, and tells the model of it', async () => {
    await using inner = await serve();
    await using server = await serve((response) => {
      response.writeHead(302, { location: `http://localhost:${inner.port}/` }).end();
    });
    const { text } = await callOperation(server, '/c', echo, {});
    expect(text).toContain(`→ 302\nlocation: http://localhost:${inner.port}/`);
    expect(inner.connections()).toBe(0);
  });

  it('T30: is shown the beginning of an endless answer, and its connection is closed', async () => {
    let closed = false;
    await using server = await serve((response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write('é'.repeat(30_001)));
      };
      response.setHeader('content-type', 'text/plain');
      response.on('drain', pump).on('close', () => (closed = true));
      pump();
    });
    const { text, details } = await callOperation(server, '/c', echo, {}, { maxResponseBytes: 1001 });
    expect(text).toContain(`→ 200\n\n${'é'.repeat(500)}\n\n[cut after 1001 bytes]`);
    expect(details).toMatchObject({ bytes: 1001, truncated: true });
    await expect.poll(() => closed).toBe(true);
  });

  it('T30: of a server that sends byte by byte ends at its time limit', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {}).resume();
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write('a'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const options = { baseUrl: `http://127.0.0.1:${port}`, allow: ['127.0.0.1'], timeoutMs: 300 };
    const { tools } = openApiTools(documentOf({ '/c': get('slow') }), options);
    const { isError, details } = await callTool(tools[0], {});
    expect([isError, details]).toEqual([true, { problem: 'timeout' }]);
    await new Promise((done) => server.close(done));
  });
});

describe('permissions', () => {
  it('are about the host: a call asks, unless a rule allows it', async () => {
    await using server = await serve();
    const { tools } = openApiTools(documentOf({ '/c': get('echo') }), { baseUrl: server.origin, allow: ['127.0.0.1'] });
    for (const allow of [[], ['echo(domain:example.com)'], ['echo(domain:127.0.0.1)']]) {
      const model = scriptedModel([{ toolCalls: [{ name: 'echo', arguments: {} }] }, 'Done.']);
      const permissions = { mode: 'dontAsk' as const, settings: [{ source: 'agent' as const, allow }] };
      await (await createSession(defineAgent({ model, tools, permissions }))).prompt('Go.').result;
    }
    expect(server.asked).toHaveLength(1);
  });
});

describe('loadOpenApi', () => {
  it('reads a file, or an address through the guard', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    await using server = await serve(
      (response, { url }) => void response.writeHead(url === '/a' ? 200 : 500).end('openapi: 3'),
    );
    const path = join(folder, 'a.yaml');
    await writeFile(path, 'openapi: 3');
    expect(await loadOpenApi(path)).toBe('openapi: 3');
    expect(await loadOpenApi(`${server.origin}/a`, { allow: ['127.0.0.1'] })).toBe('openapi: 3');
    await expect(loadOpenApi(`${server.origin}/a`)).rejects.toThrow(/loopback/);
    await expect(loadOpenApi(`${server.origin}/b?key=canary`, { allow: ['127.0.0.1'] })).rejects.toThrow(
      /\/b: was answered with the status 500/,
    );
    await expect(loadOpenApi(path, { maxBytes: 3 })).rejects.toThrow(/larger than 3 bytes/);
    await expect(loadOpenApi(folder)).rejects.toThrow(/is no file/);
    await expect(loadOpenApi(join(folder, 'none'))).rejects.toThrow(/ENOENT/);
    await rm(folder, { recursive: true });
  });
});
