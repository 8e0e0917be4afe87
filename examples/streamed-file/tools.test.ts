import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSession, defineAgent, type RunResult, type Tool } from '@treadle/core';
import { nodeHttp } from '@treadle/models';
import { scriptedModel, type ScriptedToolCall } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { applyEdits, createFileTool, editFileTool, retrieveOptionTool, type FileState } from './file.ts';
import { createImageStore, imageTools } from './images.ts';

/** What a model reads when it makes these calls, one a turn. */
async function resultsOf(tools: readonly Tool[], calls: readonly ScriptedToolCall[]): Promise<string[]> {
  const model = scriptedModel([...calls.map((call) => ({ toolCalls: [call] })), 'Done.']);
  const session = await createSession(defineAgent({ model, tools }));
  const { messages }: RunResult = await session.prompt('Go on.').result;
  return messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map((block) => (block.type === 'text' ? block.text : '')) : [],
  );
}

describe('the file', () => {
  it('is written whole, then changed, and a change returns its diff and its first line', async () => {
    const file: FileState = { path: 'index.html', content: null };
    const [refused, , edited] = await resultsOf(
      [createFileTool(file), editFileTool(file)],
      [
        { name: 'edit_file', arguments: { old_text: 'a', new_text: 'b' } },
        { name: 'create_file', arguments: { content: 'one\ntwo\nthree\ntwo\n' } },
        { name: 'edit_file', arguments: { old_text: 'two', new_text: 'zwei' } },
      ],
    );
    expect(refused).toContain('There is no file yet');
    expect(file.content).toBe('one\nzwei\nthree\ntwo\n');
    expect(JSON.parse(edited ?? '')).toEqual({
      firstChangedLine: 2,
      diff: expect.stringContaining('-two\n+zwei') as unknown,
    });
  });

  it('is left as it was when one of several edits can not be made', async () => {
    const file: FileState = { path: 'index.html', content: 'one two' };
    const edits = [
      { old_text: 'one', new_text: '1' },
      { old_text: 'three', new_text: '3' },
    ];
    const [answer] = await resultsOf([editFileTool(file)], [{ name: 'edit_file', arguments: { edits } }]);
    expect(answer).toContain('Edit 2: "three" isn\'t in the file');
    expect(file.content).toBe('one two');
  });

  it.each([
    [1, 'b a a'],
    [2, 'b b a'],
    [-1, 'b b b'],
  ])('has as many places replaced as count says: %i', (count, after) => {
    expect(applyEdits('a a a', [{ old_text: 'a', new_text: 'b', count }])).toBe(after);
  });

  it('has nothing replaced but what was asked for', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '$', '&', '\n') });
    fc.assert(
      fc.property(text, text, text, (before, now, after) => {
        const content = `${before}#${after}`;
        expect(applyEdits(content, [{ old_text: '#', new_text: `<${now}>` }])).toBe(`${before}<${now}>${after}`);
      }),
    );
  });

  it.each([0, -2, 4])('is not changed for a count of %i in three places', (count) => {
    expect(() => applyEdits('a a a', [{ old_text: 'a', new_text: 'b', count }])).toThrow(/count is|is there 3 times/);
  });

  it('of another option is looked up by its number, from 1', async () => {
    const answers = await resultsOf(
      [retrieveOptionTool(['first', 'second'])],
      [
        { name: 'retrieve_option', arguments: { option_number: 2 } },
        { name: 'retrieve_option', arguments: { option_number: 3 } },
      ],
    );
    expect(answers[0]).toBe('second');
    expect(answers[1]).toContain('option_number');
  });
});

interface Asked {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** A service on a real socket that answers what `reply` says. */
async function fakeService(reply: (asked: Asked) => { readonly status?: number; readonly body: unknown }) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const { method, url: path, headers } = request;
      const one = { method, path, authorization: headers.authorization, body: text === '' ? null : JSON.parse(text) };
      asked.push(one);
      const { status = 200, body } = reply(one);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { asked, service: { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'a-key-of-ours', model: 'm-1' } };
}

/** A clock that passes every wait at once. */
const impatient = { now: () => 0, after: (_: number, run: () => void) => (queueMicrotask(run), () => {}) };

describe('images', () => {
  it('are offered only where there is a service', () => {
    const parts = { http: nodeHttp(), store: createImageStore() };
    const service = { baseUrl: 'http://localhost', apiKey: 'k', model: 'm' };
    const names = (services: Parameters<typeof imageTools>[0]['services']) =>
      imageTools({ ...parts, services }).map(({ name }) => name);
    expect(names({})).toEqual([]);
    expect(names({ generate: service })).toEqual(['generate_images']);
    expect(names({ background: service })).toEqual(['remove_background']);
  });

  it('are made once for each description, and one that fails does not fail the rest', async () => {
    const { asked, service } = await fakeService(({ body }) => {
      const { prompt } = body as { readonly prompt: string };
      if (prompt === 'a war') return { status: 400, body: { error: { message: 'a-key-of-ours may not' } } };
      if (prompt === 'a dog') return { body: { data: [{ b64_json: Buffer.from('PNG').toString('base64') }] } };
      return { body: { data: [{ url: 'https://images.example/cat.png' }] } };
    });
    const store = createImageStore();
    const tools = imageTools({ services: { generate: service }, http: nodeHttp(), store });
    const prompts = ['a cat', 'a war', 'a dog', 'a cat'];
    const [answer = ''] = await resultsOf(tools, [{ name: 'generate_images', arguments: { prompts } }]);
    const images = JSON.parse(answer) as { readonly status: string; readonly url?: string }[];
    expect(images.map(({ status }) => status)).toEqual(['ok', 'error', 'ok']);
    expect(images[0]?.url).toBe('https://images.example/cat.png');
    const name = images[2]?.url?.replace('/images/', '') ?? '';
    expect(Buffer.from(store.find(name)?.bytes ?? []).toString()).toBe('PNG');
    expect(answer).not.toContain('a-key-of-ours');
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(3).fill('POST /v1/images/generations'));
    expect(asked[0]).toMatchObject({ authorization: 'Bearer a-key-of-ours', body: { model: 'm-1', n: 1 } });
  });

  it('lose their backgrounds, twenty at a time, each waited for where the service takes its time', async () => {
    let open = 0;
    let most = 0;
    const { asked, service } = await fakeService(({ method, path, body }) => {
      if (method === 'GET') {
        open -= 1;
        return { body: { id: path?.split('/').at(-1), status: 'succeeded', output: `https://cut.example${path}` } };
      }
      open += 1;
      most = Math.max(most, open);
      const { input } = body as { readonly input: { readonly image: string } };
      const id = input.image.replace(/\D/g, '');
      // An address that is not the service's: it must not be given the key.
      return { body: { id, status: 'processing', urls: { get: 'http://127.0.0.1:1/steal' } } };
    });
    const tools = imageTools({
      services: { background: service },
      http: nodeHttp(),
      store: createImageStore(),
      clock: impatient,
    });
    const urls = Array.from({ length: 25 }, (_, at) => `https://images.example/${at}.png`);
    const [answer = ''] = await resultsOf(tools, [{ name: 'remove_background', arguments: { image_urls: urls } }]);
    const images = JSON.parse(answer) as { readonly status: string; readonly url: string }[];
    expect(images).toHaveLength(25);
    expect(images[24]).toMatchObject({ status: 'ok', url: 'https://cut.example/v1/predictions/24' });
    expect(most).toBeLessThanOrEqual(20);
    expect(asked).toHaveLength(50);
  });
});
