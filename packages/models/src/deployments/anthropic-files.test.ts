import type { RequestListener } from 'node:http';
import type { ModelFile, ModelFiles } from '@treadle/core/model';
import { describe, expect, it } from 'vitest';
import { serve } from '../test-support/servers.ts';
import { anthropic } from './anthropic.ts';

const ABOUT = { id: 'file_1', filename: 'table.csv', mime_type: 'text/csv', size_bytes: 6, downloadable: true };

const filesOf = (baseUrl: string, more: object = {}): ModelFiles => {
  const { files } = anthropic('claude-sonnet-4-5', { apiKey: 'sk-secret-1234567890', baseUrl, env: {}, ...more });
  if (!files) throw new Error('A model of Anthropic reads files.');
  return files;
};

const answering =
  (about: unknown, content: string | null = 'a,b\n1\n'): RequestListener =>
  (request, response) => {
    if (!request.url?.endsWith('/content')) response.end(JSON.stringify(about));
    else if (content === null) response.writeHead(500).end();
    else response.end(content);
  };

const options = { signal: new AbortController().signal, maxBytes: 1000 };

async function textOf({ body }: ModelFile): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no failure at all',
    (error: unknown) => (error as Error).message,
  );

describe('files of Anthropic’s Files API', () => {
  it('are asked for by what they are, then for their bytes, with the key and the feature named', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      const { 'x-api-key': key, 'anthropic-beta': beta, 'anthropic-version': version } = request.headers;
      seen.push([request.method, request.url, key, beta, version]);
      answering(ABOUT)(request, response);
    });
    const file = await filesOf(server.url).read('file_1', options);
    expect(file).toMatchObject({ name: 'table.csv', mediaType: 'text/csv', size: 6 });
    expect(await textOf(file)).toBe('a,b\n1\n');
    const sent = ['sk-secret-1234567890', 'files-api-2025-04-14', '2023-06-01'];
    expect(seen).toEqual([
      ['GET', '/v1/files/file_1', ...sent],
      ['GET', '/v1/files/file_1/content', ...sent],
    ]);
  });

  it.each(['../messages', '..', 'a/b', 'a?b', '', 'a%2fb', 'x'.repeat(201)])(
    'with the id %j are not asked for: it could lead elsewhere',
    async (id) => {
      let asked = 0;
      await using server = await serve((_, response) => {
        asked += 1;
        response.end('{}');
      });
      expect(await reasonOf(filesOf(server.url).read(id, options))).toContain('not the id of a file');
      expect(asked).toBe(0);
    },
  );

  it('are not followed to another address, to which the key would go', async () => {
    let elsewhere = 0;
    await using other = await serve((_, response) => {
      elsewhere += 1;
      response.end(JSON.stringify(ABOUT));
    });
    await using server = await serve((_, response) => response.writeHead(302, { location: other.url }).end());
    expect(await reasonOf(filesOf(server.url).read('file_1', options))).toContain('answered 302');
    expect(elsewhere).toBe(0);
  });

  it('that are refused are refused with what the provider said, without the key', async () => {
    await using server = await serve((request, response) => {
      response.writeHead(404).end(`{"error":"No such file for ${String(request.headers['x-api-key'])}."}`);
    });
    const reason = await reasonOf(filesOf(server.url).read('file_1', options));
    expect(reason).toContain('answered 404 when it was asked for the file file_1');
    expect(reason).toContain('No such file');
    expect(reason).not.toContain('sk-secret');
  });

  it.each([
    ['were uploaded', { ...ABOUT, downloadable: false }, 'does not give the file file_1 out'],
    ['are too large', { ...ABOUT, size_bytes: 1001 }, 'It has 1001 bytes, and 1000 may be kept.'],
    ['have no size', { ...ABOUT, size_bytes: undefined }, 'lacks its name, its type or its size'],
    ['are described as no object', [], 'no JSON object'],
    ['are described at endless length', 'x'.repeat(70_000), 'too long to be true'],
  ])('that %s are not read', async (_, about, expected) => {
    await using server = await serve(answering(about, null));
    expect(await reasonOf(filesOf(server.url).read('file_1', options))).toContain(expected);
  });

  it.each(['a,b\n', 'a,b\n1\n2\n'])('whose bytes are not as many as was said break off: %j', async (content) => {
    await using server = await serve(answering(ABOUT, content));
    const file = await filesOf(server.url).read('file_1', options);
    expect(await reasonOf(textOf(file))).toContain('has 6 bytes, and it has not');
  });

  it('are let go of when the signal says so', async () => {
    const stop = new AbortController();
    await using server = await serve(() => stop.abort(new Error('enough')));
    expect(await reasonOf(filesOf(server.url).read('file_1', { ...options, signal: stop.signal }))).toContain('enough');
    await server.allClosed();
  });
});
