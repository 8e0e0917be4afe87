import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createSession, defineAgent, type Model } from '@treadle/core';
import type { GenerateCodeMessage } from '@treadle/formats';
import { resolveModel } from '@treadle/models';
import { fakeProvider, scriptedModel } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp, type App, type AppOptions } from './app.ts';
import { availableModels } from './models.ts';
import { readRequest, RequestProblem } from './request.ts';

async function start(options: AppOptions): Promise<App> {
  const app = await startApp(options);
  onTestFinished(async () => {
    await app.close(0);
  });
  return app;
}

/** Sends a request and takes all that comes until the socket is closed. */
async function ask(app: App, request: unknown, token = app.token) {
  const socket = new WebSocket(app.url.replace('http', 'ws') + '/generate-code', [
    'treadle.v1',
    `treadle.token.${Buffer.from(token).toString('base64url')}`,
  ]);
  const messages: GenerateCodeMessage[] = [];
  socket.addEventListener('open', () => socket.send(JSON.stringify(request)));
  socket.addEventListener('message', ({ data }) => messages.push(JSON.parse(data as string) as GenerateCodeMessage));
  const code = await new Promise<number>((resolve) => {
    socket.addEventListener('close', (event) => resolve(event.code));
  });
  return { messages, code };
}

const writer = (id: string, content: string) =>
  scriptedModel([{ toolCalls: [{ name: 'create_file', arguments: { content } }] }, 'Done.'], { id });

const prompt = { text: 'A page for a bakery.', images: [], videos: [] };

describe('the application', () => {
  it('makes four variants over the models there are, each by itself, in the order of the protocol', async () => {
    const models: Model[] = [
      writer('a', '<p>A</p>'),
      writer('b', '<p>B</p>'),
      scriptedModel([{ error: { kind: 'auth', message: 'No such key.' } }], { id: 'c' }),
      writer('d', '<p>D</p>'),
    ];
    const app = await start({ models: () => models });
    const { messages, code } = await ask(app, { prompt });
    expect(messages[0]).toEqual({ type: 'variantCount', variantIndex: 0, value: '4' });
    expect(messages.slice(1, 5).map(({ type, variantIndex }) => [type, variantIndex])).toEqual(
      [0, 1, 2, 3].map((index) => ['status', index]),
    );
    expect(messages[5]?.data).toEqual({ models: ['scripted/a', 'scripted/b', 'scripted/c', 'scripted/d'] });
    const endOf = (index: number) =>
      messages
        .filter(
          ({ variantIndex, type }) => variantIndex === index && type !== 'variantCount' && type !== 'variantModels',
        )
        .slice(-2)
        .map(({ type, value }) => [type, value]);
    expect(endOf(0)).toEqual([
      ['setCode', '<p>A</p>'],
      ['variantComplete', 'The variant is complete.'],
    ]);
    expect(endOf(2).at(-1)).toEqual(['variantError', 'No such key.']);
    expect(endOf(3)[0]).toEqual(['setCode', '<p>D</p>']);
    expect(code).toBe(1000);
  });

  it('makes two variants of an update, which know the file and the options', async () => {
    const model = scriptedModel(
      () => ({ toolCalls: [{ name: 'edit_file', arguments: { old_text: 'Hi', new_text: 'Hello' } }] }),
      { id: 'm' },
    );
    const edits: Model = {
      ...model,
      stream: (request, signal) => (isAnswered(request.messages) ? done : model).stream(request, signal),
    };
    const done = scriptedModel(() => 'Done.', { id: 'm' });
    const app = await start({ models: () => [edits] });
    const fileState = { path: 'a.html', content: '<h1>Hi</h1>' };
    const request = { generationType: 'update', prompt, fileState, optionCodes: ['<h1>Hi</h1>'] };
    const { messages } = await ask(app, request);
    expect(messages[0]?.value).toBe('2');
    const finals = messages.filter(({ type }) => type === 'setCode').map(({ value }) => value);
    expect(new Set(finals)).toEqual(new Set(['<h1>Hello</h1>']));
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['create_file', 'edit_file', 'retrieve_option']);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('This is the file as it is now');
  });

  it('stops a variant that calls tools for ever after 20 turns', async () => {
    const endless = scriptedModel(
      ({ messages }) => ({ toolCalls: [{ name: 'create_file', arguments: { content: `<p>${messages.length}</p>` } }] }),
      { id: 'endless' },
    );
    const app = await start({ models: () => [endless] });
    const { messages, code } = await ask(app, { prompt });
    const results = messages.filter(({ type, variantIndex }) => type === 'toolResult' && variantIndex === 0);
    expect(results).toHaveLength(20);
    expect(messages.filter(({ type }) => type === 'variantError')).toHaveLength(4);
    expect(messages.at(-1)).toMatchObject({ type: 'error', value: 'All variants failed.' });
    expect(code).toBe(4332);
  });

  it('takes pages that are longer than a model writes by default', async () => {
    const page = `<main>${'<p>The tide comes in.</p>\n'.repeat(3000)}</main>`;
    expect(page.length / 4).toBeGreaterThan(2 * 8192);
    // As a model does: it writes as much as the request lets it.
    const provider = await fakeProvider(({ body }) => {
      const most = Number((body as { max_tokens?: number }).max_tokens);
      if (JSON.stringify(body).includes('tool_result')) return 'Done.';
      const content = page.slice(0, most * 4);
      return {
        toolCalls: [{ name: 'create_file', arguments: { content } }],
        ...(content === page ? {} : { stopReason: 'length' as const }),
      };
    });
    onTestFinished(() => provider.close());
    const baseUrl = provider.anthropicBaseUrl;
    const app = await start({ models: () => [resolveModel('anthropic/claude-sonnet-5-5', { apiKey: 'k', baseUrl })] });
    const { messages } = await ask(app, { prompt });
    const finals = messages.flatMap(({ type, value }) => (type === 'setCode' ? [value] : []));
    expect(finals.filter((code) => code === page).length).toBeGreaterThanOrEqual(4);
    expect(messages.filter(({ type }) => type === 'variantError')).toEqual([]);
  });

  it('writes with the demo model where there is no key', async () => {
    const app = await start({});
    const text = 'A page titled "Hello" with the text "Tea & <b>cake</b>"';
    const { messages } = await ask(app, { prompt: { text } });
    expect(messages.find(({ type }) => type === 'variantModels')?.data?.['models']).toEqual([
      'demo/editorial',
      'demo/midnight',
      'demo/poster',
      'demo/bento',
    ]);
    expect(messages.filter(({ type }) => type === 'variantComplete')).toHaveLength(4);
    const pages = [0, 1, 2, 3].map(
      (index) => messages.findLast(({ type, variantIndex }) => type === 'setCode' && variantIndex === index)?.value,
    );
    expect(new Set(pages).size).toBe(4);
    for (const page of pages) {
      expect(page).toContain('<h1>Hello</h1>');
      expect(page).toContain('Tea &amp; &lt;b&gt;cake&lt;/b&gt;');
    }
    expect(
      messages
        .filter(({ type }) => type === 'assistant')
        .map(({ value }) => value)
        .join(''),
    ).toContain('demo model');
  });

  it.each([
    [{ prompt: { text: '' } }, 'The prompt is empty'],
    [{ prompt, generatedCodeConfig: 'cobol' }, 'generatedCodeConfig must be one of'],
    [{ prompt, generationType: 'update' }, 'An update needs a history or the file'],
    [[], 'The request must be a JSON object'],
  ])('refuses %j with an error and the close code of the protocol', async (request, message) => {
    const { messages, code } = await ask(await start({ models: () => [writer('a', '<p>A</p>')] }), request);
    expect(messages).toEqual([{ type: 'error', variantIndex: 0, value: expect.stringContaining(message) as unknown }]);
    expect(code).toBe(4332);
  });

  it('lets in nobody without the token, from another origin or under another name', async () => {
    const app = await start({});
    expect((await ask(app, { prompt }, 'a-token-of-another-kind')).messages).toEqual([]);
    const upgrade = (headers: Record<string, string>) =>
      fetch(`${app.url}/v1/sessions`, { headers: { authorization: `Bearer ${app.token}`, ...headers } });
    expect((await upgrade({})).status).toBe(200);
    expect((await upgrade({ origin: 'https://evil.example' })).status).toBe(403);
    expect((await upgrade({ authorization: '' })).status).toBe(401);
  });

  it.each([
    '/../app.ts',
    '/%2e%2e/app.ts',
    '/%252e%252e/app.ts',
    '/images/..%2f..%2fapp.ts',
    '/images/%2e%2e%2f%2e%2e%2fapp.ts',
    '/images/..%5c..%5capp.ts',
    '/images/a%00.png',
    '/images/.env',
    '/images/',
    '/page',
    '/page/index.html',
    '/.env',
    '/.git/config',
    '/app.ts',
    '/preview/../app.ts',
  ])('V9: has nothing at %s', async (path) => {
    const app = await start({});
    // As it stands: `fetch` would tidy it up.
    const request = httpRequest({ host: '127.0.0.1', port: app.port, path }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(404);
  });

  it('V9: says what each of its files is, and that nobody should guess', async () => {
    const app = await start({});
    const types = await Promise.all(
      ['/', '/app.js', '/style.css', '/preview'].map(async (path) => {
        const { headers } = await fetch(`${app.url}${path}`);
        return [path, headers.get('content-type'), headers.get('x-content-type-options')];
      }),
    );
    expect(types).toEqual([
      ['/', 'text/html; charset=utf-8', 'nosniff'],
      ['/app.js', 'text/javascript; charset=utf-8', 'nosniff'],
      ['/style.css', 'text/css; charset=utf-8', 'nosniff'],
      ['/preview', 'text/html; charset=utf-8', 'nosniff'],
    ]);
  });

  it('V14: shows a page that is half written as beginnings of it that only grow, wherever its arguments are cut', async () => {
    const page =
      '<!doctype html><html><head><style>body::after{content:"\\201C</p>\\""}</style></head><body>' +
      '<p title="a > b">☕ &amp; 𝄞</p><script>const re = /<\\/p>/u; let s = `${1 + 1}\\n`;</script></body></html>';
    const content = page.repeat(3);
    const model = scriptedModel(
      ({ messages }) =>
        isAnswered(messages) ? 'Done.' : { toolCalls: [{ name: 'create_file', arguments: { content } }] },
      // Each character of the arguments comes by itself, and so does each half of an escape.
      { id: 'm', chunkSize: 1 },
    );
    const app = await start({ models: () => [model] });
    const { messages, code } = await ask(app, { prompt });
    expect(code).toBe(1000);
    for (const index of [0, 1, 2, 3]) {
      const shown = messages
        .filter(({ type, variantIndex }) => type === 'setCode' && variantIndex === index)
        .map(({ value }) => value ?? '');
      expect(shown.length).toBeGreaterThan(10);
      for (const [at, frame] of shown.entries()) {
        expect(content.startsWith(frame)).toBe(true);
        expect(frame.length).toBeGreaterThanOrEqual(shown[at - 1]?.length ?? 1);
      }
      expect(shown.at(-1)).toBe(content);
    }
  });

  it('V10: serves its page and the previews under policies of their own, without the token', async () => {
    const app = await start({});
    const [page, preview] = await Promise.all(['/', '/preview'].map((path) => fetch(`${app.url}${path}`)));
    expect(page?.headers.get('content-security-policy')).toContain("script-src 'self';");
    const policy = preview?.headers.get('content-security-policy') ?? '';
    expect(policy).toContain('sandbox allow-scripts;');
    expect(policy).not.toContain('allow-same-origin');
    expect(policy).toContain("connect-src 'none'");
    expect((await page?.text()) ?? app.token).not.toContain(app.token);
  });
});

const isAnswered = (messages: readonly { readonly role: string }[]): boolean =>
  messages.some(({ role }) => role === 'tool');

describe('a request', () => {
  const history = [
    { role: 'user', text: 'A page.', images: ['data:image/png;base64,AAAA'] },
    { role: 'assistant', text: 'Here:\n```html\n<h1>1</h1>\n```' },
    { role: 'user', text: 'Make it blue.' },
  ];

  it('with a history goes on with its last message, and knows the file from the last answer', () => {
    const { history: before, prompt: asked, file } = readRequest(JSON.stringify({ generationType: 'update', history }));
    expect(before.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(before[0]?.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('Tailwind') as unknown });
    expect(before[0]?.content[1]).toEqual({ type: 'image', mediaType: 'image/png', data: 'AAAA' });
    expect(asked).toEqual([{ type: 'text', text: 'Make it blue.' }]);
    expect(file).toEqual({ path: 'index.html', content: '<h1>1</h1>' });
  });

  it('with the file in it takes that one', () => {
    const fileState = { path: 'b.html', content: '<h1>2</h1>' };
    expect(readRequest(JSON.stringify({ generationType: 'update', history, fileState })).file).toEqual(fileState);
  });

  it('with images elsewhere than in it is refused', () => {
    const images = ['http://169.254.169.254/latest'];
    expect(() => readRequest(JSON.stringify({ prompt: { text: 'x', images } }))).toThrow(RequestProblem);
  });

  it('with an address for OpenAI sends its own key there, and never the one of the server', async () => {
    const provider = await fakeProvider([{ text: 'Hi' }]);
    onTestFinished(() => provider.close());
    const { openAiBaseURL } = { openAiBaseURL: provider.openaiBaseUrl };
    const keyed = readRequest(JSON.stringify({ prompt: { text: 'x' }, openAiBaseURL, openAiApiKey: 'key-of-theirs' }));
    const bare = readRequest(JSON.stringify({ prompt: { text: 'x' }, openAiBaseURL: 'not an address' }));
    expect(keyed.keys).toEqual({ openAiBaseURL, openAiApiKey: 'key-of-theirs' });
    const env = { OPENAI_API_KEY: 'key-of-ours' };
    expect(availableModels(env, bare.keys)).toHaveLength(1);
    const [model] = availableModels(env, keyed.keys);
    if (!model) throw new Error('There is no model.');
    const session = await createSession(defineAgent({ model }));
    await session.prompt('Hello').result;
    expect(provider.requests[0]?.headers['authorization']).toBe('Bearer key-of-theirs');
  });

  it('keeps images that are attached only where it may', () => {
    const images = ['data:image/png;base64,AAAA'];
    const assets = (more: object) => readRequest(JSON.stringify({ prompt: { text: 'x', ...more }, ...more })).assets;
    expect(assets({})).toBe(false);
    expect(assets({ images })).toBe(true);
    expect(assets({ images, isAssetExtractionEnabled: false })).toBe(false);
  });
});
