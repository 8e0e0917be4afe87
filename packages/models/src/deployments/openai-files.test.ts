import type { RequestListener } from 'node:http';
import { createSession, defineAgent, memoryBlobs, type Model } from '@treadle/core';
import type { ModelFiles } from '@treadle/core/model';
import { readBlob } from '@treadle/core/ports';
import { describe, expect, it } from 'vitest';
import { serve } from '../test-support/servers.ts';
import { azure } from './azure.ts';
import { openaiResponsesModel } from './openai-responses.ts';

const KEY = 'sk-secret-1234567890';
const ABOUT = {
  id: 'cfile_1',
  object: 'container.file',
  container_id: 'cntr_1',
  created_at: 1,
  bytes: 6,
  path: '/mnt/data/table.csv',
  source: 'assistant',
};
const ID = 'cntr_1/cfile_1';

const modelAt = (baseUrl: string): Model => openaiResponsesModel('gpt-5', { apiKey: KEY, baseUrl, env: {} });

const filesOf = (baseUrl: string): ModelFiles => {
  const { files } = modelAt(baseUrl);
  if (!files) throw new Error('A model of the Responses API reads files.');
  return files;
};

const answering =
  (about: unknown, content: string | null = 'a,b\n1\n', headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    if (!request.url?.split('?')[0]?.endsWith('/content')) response.end(JSON.stringify(about));
    else if (content === null) response.writeHead(500).end();
    else response.writeHead(200, { 'content-type': 'application/binary', ...headers }).end(content);
  };

const options = { signal: new AbortController().signal, maxBytes: 1000 };

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no failure at all',
    (error: unknown) => (error as Error).message,
  );

/** A reply whose code interpreter made a table: a call, and a message that cites the file, and one that was only found. */
const OUTPUT = [
  { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: 'save()', container_id: 'cntr_1' },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      {
        type: 'output_text',
        text: 'Here is table.csv.',
        annotations: [
          { type: 'file_citation', file_id: 'file_found', filename: 'found.pdf', index: 3 },
          { type: 'container_file_citation', container_id: 'cntr_1', file_id: 'cfile_1', filename: 'table.csv' },
        ],
      },
    ],
  },
];

const reply = (): string =>
  [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        output: OUTPUT,
        usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
      },
    },
  ]
    .map((event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`)
    .join('');

describe('files of a container of the Responses API', () => {
  it.each([
    ['openai-responses', (url: string) => modelAt(url), '/v1', 'authorization', `Bearer ${KEY}`, ''],
    ['azure', (url: string) => azure('mine', { apiKey: KEY, baseUrl: url, env: {} }), '/openai/v1', 'api-key', KEY, ''],
    [
      'azure, by date',
      (url: string) => azure('mine', { apiKey: KEY, baseUrl: url, apiVersion: '2025-04-01-preview', env: {} }),
      '/openai',
      'api-key',
      KEY,
      '?api-version=2025-04-01-preview',
    ],
  ])('that a reply cites are kept as blobs when the run ends: %s', async (_, model, base, header, key, query) => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      if (request.method === 'POST') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(reply());
        return;
      }
      seen.push([request.url, request.headers[header]]);
      answering(ABOUT)(request, response);
    });
    const blobs = memoryBlobs();
    const session = await createSession(defineAgent({ model: model(server.url) }), { blobs });
    const { status, files } = await session.prompt('Make a table.').result;
    expect(status).toBe('completed');
    expect(files).toMatchObject([{ fileId: ID, name: 'table.csv', mediaType: 'text/csv', blob: { size: 6 } }]);
    const [file] = files;
    const kept = file?.blob ? await readBlob(blobs, file.blob.id) : null;
    expect(kept && Buffer.from(kept).toString()).toBe('a,b\n1\n');
    const path = `${base}/containers/cntr_1/files/cfile_1`;
    expect(seen).toEqual([
      [`${path}${query}`, key],
      [`${path}/content${query}`, key],
    ]);
  });

  it.each(['cfile_1', 'a/b/c', '../files', 'cntr_1/..', 'cntr_1/a?b', 'cntr_1/', '/cfile_1', 'cntr_1/a%2fb'])(
    'with the id %j are not asked for: it could lead elsewhere',
    async (id) => {
      let asked = 0;
      await using server = await serve((_, response) => {
        asked += 1;
        response.end('{}');
      });
      expect(await reasonOf(filesOf(server.url).read(id, options))).toContain('not the id of a file in a container');
      expect(asked).toBe(0);
    },
  );

  it('have the type that their name says, else the one that comes with them', async () => {
    for (const [path, headers, expected] of [
      ['/mnt/data/plot.PNG', {}, 'image/png'],
      ['/mnt/data/model.bin', { 'content-type': 'application/x-thing; a=b' }, 'application/x-thing'],
      ['/mnt/data/model', { 'content-type': 'nonsense' }, 'application/octet-stream'],
    ] as const) {
      await using server = await serve(answering({ ...ABOUT, path }, 'a,b\n1\n', headers));
      const { mediaType, body } = await filesOf(server.url).read(ID, options);
      expect([mediaType, await textOf(body)]).toEqual([expected, 'a,b\n1\n']);
    }
  });

  it('may have no size where their bytes have one', async () => {
    await using server = await serve(answering({ ...ABOUT, bytes: null }, 'a,b\n1\n', { 'content-length': '6' }));
    expect(await filesOf(server.url).read(ID, options)).toMatchObject({ size: 6, name: 'table.csv' });
  });

  it.each([
    ['are too large', { ...ABOUT, bytes: 1001 }, 'It has 1001 bytes, and 1000 may be kept.'],
    ['have no path', { ...ABOUT, path: null }, 'lacks its path'],
    ['are described as no object', [], 'no JSON object'],
  ])('that %s are not read', async (_, about, expected) => {
    await using server = await serve(answering(about, null));
    expect(await reasonOf(filesOf(server.url).read(ID, options))).toContain(expected);
  });

  it('whose bytes are not as many as was said break off', async () => {
    await using server = await serve(answering({ ...ABOUT, bytes: 7 }));
    const { body } = await filesOf(server.url).read(ID, options);
    expect(await reasonOf(textOf(body))).toContain('has 7 bytes, and it has not');
  });

  it('that have expired are said so, without the key, and the run ends as it would have', async () => {
    await using server = await serve((request, response) => {
      if (request.method === 'POST') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(reply());
        return;
      }
      response.writeHead(404).end(`{"error":{"message":"Expired, ${String(request.headers.authorization)}."}}`);
    });
    const session = await createSession(defineAgent({ model: modelAt(server.url) }), { blobs: memoryBlobs() });
    const generated: { readonly error?: string }[] = [];
    session.subscribe((event) => event.type === 'files_generated' && generated.push(...event.files));
    expect((await session.prompt('Make a table.').result).status).toBe('completed');
    expect(generated).toMatchObject([{ fileId: ID, error: expect.stringContaining('answered 404') as string }]);
    expect(JSON.stringify(generated)).not.toContain('sk-secret');
  });
});
