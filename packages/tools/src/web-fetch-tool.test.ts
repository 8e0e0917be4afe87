import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createSession, defineAgent, type Tool } from '@treadle/core';
import type { PermissionSettings } from '@treadle/core/permissions';
import { scriptedModel } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';

import { webFetchTool, type WebFetchToolOptions } from './web-fetch-tool.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});

async function serve(listener: RequestListener): Promise<{ origin: string; port: number; connections: () => number }> {
  const server = createServer(listener);
  servers.push(server);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, port, connections: () => connections };
}

/** Calls the tool in a run, as a model would. */
async function call(
  args: { readonly url: string; readonly offset?: number },
  options: WebFetchToolOptions = { allow: ['127.0.0.1'] },
  rules: Partial<PermissionSettings> = { allow: ['web_fetch'] },
): Promise<{ text: string; isError: boolean; details: unknown }> {
  const model = scriptedModel([{ toolCalls: [{ name: 'web_fetch', arguments: args }] }, 'Done.']);
  const tools: Tool[] = [webFetchTool(options)];
  const permissions = { mode: 'dontAsk' as const, settings: [{ source: 'agent' as const, ...rules }] };
  const session = await createSession(defineAgent({ model, tools, permissions }));
  const run = session.prompt('Go.');
  let details: unknown;
  for await (const event of run) if (event.type === 'tool_ended') details = event.details;
  const answer = (await run.result).messages.find(({ role }) => role === 'tool');
  if (answer?.role === 'tool') {
    const [block] = answer.content;
    return { text: block?.type === 'text' ? block.text : '', isError: answer.isError, details };
  }
  throw new Error('the tool was not called');
}

describe('web_fetch', () => {
  it('shows a page as Markdown, with where it comes from', async () => {
    const { origin } = await serve((request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(`<title>Hello</title><h1>Grüße</h1><p>${request.headers['user-agent']} <a href="/b">b</a>`);
    });
    const { text, isError, details } = await call({ url: `${origin}/a?b=c` });
    expect(text).toBe(`${origin}/a?b=c · 200 · text/html · Hello\n\n# Grüße\n\ntreadle [b](${origin}/b)`);
    expect(isError).toBe(false);
    expect(details).toMatchObject({ status: 200, mediaType: 'text/html', truncated: false });
  });

  it.each(['text/html', 'text/plain'])(
    'refuses 300 MB that come packed as 300 kB of %s, and says why',
    async (type) => {
      const packed = Buffer.concat(Array.from({ length: 300 }, () => gzipSync(Buffer.alloc(1024 * 1024))));
      const { origin } = await serve((_request, response) => {
        response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(packed);
      });
      const { text, isError, details } = await call({ url: `${origin}/` });
      expect(details).toEqual({ problem: 'response_too_large' });
      expect(text).toContain('unpacks to more than 200 times its size');
      expect(isError).toBe(true);
    },
  );

  it('shows a page of nothing but NULs', async () => {
    const { origin } = await serve((_request, response) => response.end(Buffer.alloc(6 * 1024 * 1024)));
    const { text } = await call({ url: `${origin}/` });
    expect(text).toContain('␀(×5242880)');
    expect(text).toContain('larger than 5242880 bytes');
  });

  it('shows long texts in parts, and reads no more than its limit', async () => {
    const { origin } = await serve((_request, response) => response.end('0123456789'.repeat(3)));
    const options = { allow: ['127.0.0.1'], maxCharacters: 12, maxBytes: 20 };
    const first = await call({ url: `${origin}/` }, options);
    expect(first.text).toContain('012345678901\n');
    expect(first.text).toContain('Shown are characters 0 to 12 of 20. Go on with offset 12.');
    expect(first.text).toContain('larger than 20 bytes');
    expect((await call({ url: `${origin}/`, offset: 12 }, options)).text).toContain('\n23456789\n');
  });

  it.each([
    ['text/html; charset=iso-8859-1', Buffer.from('<p>caf\xe9', 'latin1'), 'café'],
    ['text/html', Buffer.from('<meta charset="windows-1252"><p>\x80', 'latin1'), '€'],
    ['application/problem+json', Buffer.from('{"a":"\\u001b[31m"}'), '{"a":"\\u001b[31m"}'],
    ['text/plain; charset=nonsense', Buffer.from('a\u001b[31mb\u0000'), 'ab␀'],
  ])('reads %s', async (type, body, expected) => {
    const { origin } = await serve((_request, response) => response.setHeader('content-type', type).end(body));
    expect((await call({ url: `${origin}/` })).text).toContain(`\n\n${expected}`);
  });

  it('says what is no text, and does not show it', async () => {
    const { origin } = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': '4' }).end('%PDF');
    });
    const { text } = await call({ url: `${origin}/` });
    expect(text).toContain('application/pdf, 4 bytes\nThat is no text');
  });

  it('takes an answer of 404 for an error, and shows it', async () => {
    const { origin } = await serve((_request, response) => response.writeHead(404).end('no such page'));
    const { text, isError } = await call({ url: `${origin}/` });
    expect([isError, text.includes('404'), text.includes('no such page')]).toEqual([true, true, true]);
  });

  it('reports a redirect to another host, and leaves it to the model to ask for that', async () => {
    const inner = await serve((_request, response) => response.end('secret'));
    const { origin } = await serve((_request, response) => {
      response.writeHead(302, { location: `http://localhost:${inner.port}/x` }).end();
    });
    const { text, isError } = await call({ url: `${origin}/` }, { allow: ['127.0.0.1', 'localhost'] });
    expect(text).toContain(`redirects to another host: http://localhost:${inner.port}/x`);
    expect([isError, inner.connections()]).toEqual([false, 0]);
  });

  it.each(['127.0.0.1', '0x7f.1', '127.1', 'localhost.', '[::ffff:127.0.0.1]', '2130706433'])(
    'T26: refuses %s before it connects, whatever its permissions are',
    async (host) => {
      const { port, connections } = await serve((_request, response) => response.end('secret'));
      const { text, isError, details } = await call({ url: `http://${host}:${port}/` }, {}, { allow: ['*'] });
      expect([isError, details, connections()]).toEqual([true, { problem: 'address_refused' }, 0]);
      expect(text).toContain('was not asked');
    },
  );

  it.each(['file:///etc/passwd', 'gopher://example.com/', 'example.com', 'https://a:b@example.com/'])(
    'T26: takes %s for wrong arguments',
    async (url) => {
      const { text, isError } = await call({ url }, {});
      expect([isError, text.includes('/url: must')]).toEqual([true, true]);
    },
  );

  it('T30: shows the beginning of an endless page, and closes its connection', async () => {
    let closed = false;
    const { origin } = await serve((_request, response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', pump).on('close', () => (closed = true));
      pump();
    });
    const { text } = await call({ url: `${origin}/` }, { allow: ['127.0.0.1'], maxBytes: 1_000_000 });
    expect(text).toContain('Shown are characters 0 to 50000 of 1000000.');
    await expect.poll(() => closed).toBe(true);
  });

  it('asks for each host: a rule for one says nothing of another, in any spelling', async () => {
    const { port, connections } = await serve((_request, response) => response.end('hello'));
    const rules = { allow: ['web_fetch(domain:127.0.0.1)'], deny: ['web_fetch(domain:localhost)'] };
    const options = { allow: ['127.0.0.1', 'localhost'] };
    const texts = await Promise.all(
      ['127.0.0.1', '0x7f.1', 'localhost', 'LOCALHOST.', 'example.com'].map((host) =>
        call({ url: `http://${host}:${port}/` }, options, rules).then(({ isError }) => isError),
      ),
    );
    expect(texts).toEqual([false, false, true, true, true]);
    expect(connections()).toBe(2);
  });

  it('may run again after a crash, and changes nothing', () => {
    const { replay, readOnly, execution } = webFetchTool();
    expect({ replay, readOnly, execution }).toEqual({ replay: 'safe', readOnly: true, execution: 'parallel' });
  });
});
