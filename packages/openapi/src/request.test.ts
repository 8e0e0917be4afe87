import type { JsonObject, JsonValue } from '@treadle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { callOperation, serve } from './test-support/server.ts';

const parameter = (name: string, place: string, rest: JsonObject = {}): JsonObject => ({
  parameters: [{ name, in: place, ...(place === 'path' ? { required: true } : {}), schema: {}, ...rest }],
});

const list = ['blue', 'a b'];
const object = { R: 100, G: 'x/y' };

describe('a parameter', () => {
  it.each<[string, string, JsonObject, JsonValue, string]>([
    ['path', '/c/{v}', {}, 'a b', '/v1/c/a%20b'],
    ['path', '/c/{v}', {}, list, '/v1/c/blue,a%20b'],
    ['path', '/c/{v}', {}, object, '/v1/c/R,100,G,x%2Fy'],
    ['path', '/c/{v}', { explode: true }, object, '/v1/c/R=100,G=x%2Fy'],
    ['path', '/c/{v}', { style: 'label' }, list, '/v1/c/.blue,a%20b'],
    ['path', '/c/{v}', { style: 'label', explode: true }, list, '/v1/c/.blue.a%20b'],
    ['path', '/c/{v}', { style: 'label', explode: true }, object, '/v1/c/.R=100.G=x%2Fy'],
    ['path', '/c/{v}', { style: 'matrix' }, 'a', '/v1/c/;v=a'],
    ['path', '/c/{v}', { style: 'matrix' }, list, '/v1/c/;v=blue,a%20b'],
    ['path', '/c/{v}', { style: 'matrix', explode: true }, list, '/v1/c/;v=blue;v=a%20b'],
    ['path', '/c/{v}', { style: 'matrix', explode: true }, object, '/v1/c/;R=100;G=x%2Fy'],
    ['path', '/c/{v}.json', {}, 'a', '/v1/c/a.json'],
    ['query', '/c', {}, 'a&b=c', '/v1/c?v=a%26b%3Dc'],
    ['query', '/c', {}, true, '/v1/c?v=true'],
    ['query', '/c', {}, list, '/v1/c?v=blue&v=a%20b'],
    ['query', '/c', { explode: false }, list, '/v1/c?v=blue,a%20b'],
    ['query', '/c', {}, object, '/v1/c?R=100&G=x%2Fy'],
    ['query', '/c', { explode: false }, object, '/v1/c?v=R,100,G,x%2Fy'],
    ['query', '/c', { style: 'spaceDelimited', explode: false }, list, '/v1/c?v=blue%20a%20b'],
    ['query', '/c', { style: 'pipeDelimited', explode: false }, list, '/v1/c?v=blue%7Ca%20b'],
    ['query', '/c', { style: 'deepObject' }, { a: { b: 1 }, c: [{ d: 2 }] }, '/v1/c?v[a][b]=1&v[c][0][d]=2'],
    ['query', '/c', { allowReserved: true }, '/a?b&c#d', '/v1/c?v=/a?b%26c%23d'],
    ['query', '/c?x=1', {}, 'a', '/v1/c?x=1&v=a'],
  ])('in a %s of %s with %j is sent as it should be', async (place, path, style, value, expected) => {
    await using server = await serve();
    await callOperation(server, path, parameter('v', place, style), { v: value });
    expect(server.asked[0]?.url).toBe(expected);
  });

  it('with a content is sent as that', async () => {
    await using server = await serve();
    const given = { parameters: [{ name: 'filter', in: 'query', content: { 'application/json': { schema: {} } } }] };
    await callOperation(server, '/c', given, { filter: { a: [1] } });
    expect(server.asked[0]?.url).toBe('/v1/c?filter=%7B%22a%22%3A%5B1%5D%7D');
  });

  it('in a header and in a cookie is sent there', async () => {
    await using server = await serve();
    const parameters = [
      { name: 'X-Many', in: 'header', schema: {} },
      { name: 'session', in: 'cookie', schema: { type: 'string' } },
    ];
    await callOperation(server, '/c', { parameters }, { 'X-Many': ['a', 'b'], session: 'x; admin=1' });
    expect(server.asked[0]?.headers).toMatchObject({ 'x-many': 'a,b', cookie: 'session=x%3B%20admin%3D1' });
  });

  it("with a name that models can't write has another, and is sent under its own", async () => {
    await using server = await serve();
    const parameters = [
      { name: 'filter[name]', in: 'query', schema: { type: 'string' } },
      { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
      { name: 'id', in: 'query', schema: { type: 'string' } },
    ];
    await callOperation(server, '/c/{id}', { parameters }, { filter_name: 'a', id: 1, id_in_query: 'b' });
    expect(server.asked[0]?.url).toBe('/v1/c/1?filter%5Bname%5D=a&id=b');
  });

  it.each(['a\r\nX-Evil: 1', 'a\nb', 'a\u0000b', '日本'])('in a header can not be %j', async (value) => {
    await using server = await serve();
    const { isError, details } = await callOperation(server, '/c', parameter('X-A', 'header'), { 'X-A': value });
    expect([isError, details, server.asked.length]).toEqual([true, { problem: 'bad_argument' }, 0]);
  });

  it.each(['Host', 'content-length', 'Transfer-Encoding', 'Authorization', 'Cookie'])(
    'in the header %s is not offered to a model',
    async (name) => {
      await using server = await serve();
      const { text } = await callOperation(server, '/c', parameter(name, 'header'), { [name]: 'evil.example' });
      expect(text).toContain(name);
      expect(server.asked).toEqual([]);
    },
  );
});

describe('T27: a value in a path', () => {
  it.each([
    ['../admin', '/v1/users/..%2Fadmin/posts'],
    ['..\\admin', '/v1/users/..%5Cadmin/posts'],
    ['a/../../b', '/v1/users/a%2F..%2F..%2Fb/posts'],
    ['%2e%2e/x', '/v1/users/%252e%252e%2Fx/posts'],
    ['a?admin=1#x', '/v1/users/a%3Fadmin%3D1%23x/posts'],
    ['//evil.example', '/v1/users/%2F%2Fevil.example/posts'],
    ['@evil.example', '/v1/users/%40evil.example/posts'],
    ['a\r\nb', '/v1/users/a%0D%0Ab/posts'],
    ['a;b=c,d', '/v1/users/a%3Bb%3Dc%2Cd/posts'],
    ['...', '/v1/users/.../posts'],
    ['é', '/v1/users/%C3%A9/posts'],
    ['\ud800', '/v1/users/%EF%BF%BD/posts'],
  ])('%j is encoded', async (value, expected) => {
    await using server = await serve();
    await callOperation(server, '/users/{id}/posts', parameter('id', 'path'), { id: value });
    expect(server.asked[0]?.url).toBe(expected);
  });

  it.each(['.', '..', ''])('%j, which no encoding makes harmless, is refused', async (value) => {
    await using server = await serve();
    const { isError, details } = await callOperation(server, '/users/{id}/posts', parameter('id', 'path'), {
      id: value,
    });
    expect([isError, details, server.asked.length]).toEqual([true, { problem: 'bad_argument' }, 0]);
  });

  it('whatever it is, never leads to another path of the server', async () => {
    await using server = await serve();
    const piece = fc.constantFrom(
      '.',
      '..',
      '/',
      '\\',
      '%2e',
      '%2f',
      '%',
      '?',
      '#',
      ';',
      '@',
      ':',
      'a',
      ' ',
      '\n',
      '\t',
      'é',
      '．',
    );
    const values = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const before = server.asked.length;
        const { isError } = await callOperation(server, '/users/{id}/posts', parameter('id', 'path'), { id: value });
        const asked = server.asked.slice(before);
        if (isError === true) {
          expect(asked).toEqual([]);
          return;
        }
        const { pathname, search } = new URL(asked[0]?.url ?? '', server.origin);
        const [, version, users, id = '', posts, ...rest] = pathname.split('/');
        expect([version, users, decodeURIComponent(id), posts, rest, search]).toEqual([
          'v1',
          'users',
          value,
          'posts',
          [],
          '',
        ]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a body', () => {
  const body = (mediaType: string, schema: JsonValue, rest: JsonObject = {}): JsonObject => ({
    method: 'post',
    requestBody: { required: true, content: { [mediaType]: { schema, ...rest } } },
  });

  it('of JSON is sent as that, and checked before', async () => {
    await using server = await serve();
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    await callOperation(server, '/c', body('application/vnd.x+json; charset=utf-8', schema), { body: { name: 'é' } });
    const wrong = await callOperation(server, '/c', body('application/json', schema), { body: {} });
    expect(
      server.asked.map(({ headers, body }) => [headers['content-type'], Buffer.from(body, 'latin1').toString()]),
    ).toEqual([['application/vnd.x+json', '{"name":"é"}']]);
    expect(wrong.text).toContain('/body');
  });

  it('of a form is encoded field by field, in the style that the document says', async () => {
    await using server = await serve();
    const operation = body(
      'application/x-www-form-urlencoded',
      {},
      { encoding: { expand: { style: 'deepObject', explode: true } } },
    );
    await callOperation(server, '/c', operation, {
      body: { a: 'x&y', b: ['1', '2'], c: { d: 1 }, expand: { e: ['f'] } },
    });
    expect(server.asked[0]?.body).toBe('a=x%26y&b=1&b=2&c=%7B%22d%22%3A1%7D&expand[e][0]=f');
  });

  it('of several parts holds fields and files, whose names end nothing', async () => {
    await using server = await serve();
    const schema = {
      type: 'object',
      properties: {
        title: { type: 'string' },
        meta: { type: 'object' },
        file: { type: 'string', format: 'binary' },
        more: { type: 'array', items: { type: 'string', format: 'binary' } },
      },
    };
    const operation = body('multipart/form-data', schema, {
      encoding: { file: { contentType: 'image/png, image/gif' } },
    });
    const args = {
      body: {
        title: 'A',
        meta: { b: 1 },
        file: { name: 'a".png\r\nX: y', base64: 'AAH/' },
        more: [{ text: 'one' }, { text: 'two', mediaType: 'text/plain' }],
      },
    };
    await callOperation(server, '/c', operation, args);
    const [asked] = server.asked;
    const boundary = /boundary=(.+)$/.exec(asked?.headers['content-type'] ?? '')?.[1] ?? '';
    expect(asked?.body.replaceAll(boundary, 'B').split('\r\n')).toEqual([
      '--B',
      'content-disposition: form-data; name="title"',
      '',
      'A',
      '--B',
      'content-disposition: form-data; name="meta"',
      'content-type: application/json',
      '',
      '{"b":1}',
      '--B',
      'content-disposition: form-data; name="file"; filename="a%22.png%0D%0AX: y"',
      'content-type: image/png',
      '',
      '\u0000\u0001ÿ',
      '--B',
      'content-disposition: form-data; name="more"; filename="file"',
      'content-type: application/octet-stream',
      '',
      'one',
      '--B',
      'content-disposition: form-data; name="more"; filename="file"',
      'content-type: text/plain',
      '',
      'two',
      '--B--',
      '',
    ]);
  });

  it.each([
    ['application/octet-stream', { text: 'abc' }, 'application/octet-stream'],
    ['image/*', { base64: 'YWJj', mediaType: 'image/png' }, 'image/png'],
    ['text/plain', 'abc', 'text/plain; charset=utf-8'],
    ['application/xml', 'abc', 'application/xml; charset=utf-8'],
  ])('of %s is sent as it is', async (mediaType, value, type) => {
    await using server = await serve();
    await callOperation(server, '/c', body(mediaType, { type: 'string' }), { body: value });
    expect(server.asked.map(({ headers, body }) => [headers['content-type'], body])).toEqual([[type, 'abc']]);
  });

  it('of a file without content is refused', async () => {
    await using server = await serve();
    const { details } = await callOperation(server, '/c', body('application/octet-stream', {}), {
      body: { name: 'a' },
    });
    expect([details, server.asked.length]).toEqual([{ problem: 'bad_argument' }, 0]);
  });

  it('beside a parameter of that name has another one', async () => {
    await using server = await serve();
    const operation = { ...body('application/json', {}), ...parameter('body', 'query') };
    await callOperation(server, '/c', operation, { body: 'a', body_2: { b: 1 } });
    expect([server.asked[0]?.url, server.asked[0]?.body]).toEqual(['/v1/c?body=a', '{"b":1}']);
  });
});
