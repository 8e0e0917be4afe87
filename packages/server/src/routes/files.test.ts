import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileBlobs } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer, type TestServer } from '../test-support/server.ts';

const SECRET = 'root:x:0:0';
/** What a file may be called, and what is none. */
const id = (digit: string): string => `sha256-${digit.repeat(64)}`;

/** A server whose files lie in a folder, with things beside them that are none. */
async function serverOfFolder(): Promise<TestServer & { readonly folder: string }> {
  const root = mkdtempSync(join(tmpdir(), 'treadle-files-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'blobs');
  mkdirSync(folder);
  writeFileSync(join(root, 'secret'), SECRET);
  const server = await startServer({ model: scriptedModel([]) }, { blobs: fileBlobs({ folder }) });
  return { ...server, folder };
}

/** A path as it stands, which `fetch` would tidy up. */
async function get(server: TestServer, path: string): Promise<{ readonly status: number; readonly body: string }> {
  const headers = { authorization: `Bearer ${server.bearer}` };
  const request = httpRequest({ port: server.port, host: '127.0.0.1', path, headers }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let body = '';
  for await (const piece of response.setEncoding('utf8')) body += String(piece);
  return { status: response.statusCode ?? 0, body };
}

describe('V9: files of a folder', () => {
  it.each([
    '../secret',
    '..%2fsecret',
    '%2e%2e/secret',
    '%2e%2e%2fsecret',
    '%252e%252e%252fsecret',
    '..%5csecret',
    `${id('a')}%00`,
    '%00',
    '.env',
    '.git/config',
    '.',
    '',
    `${id('a')}/../secret`,
    id('a').toUpperCase(),
  ])('have none called %j', async (name) => {
    const server = await serverOfFolder();
    writeFileSync(join(server.folder, '.env'), SECRET);
    const { status, body } = await get(server, `/v1/files/${name}`);
    expect({ name, status }).toEqual({ name, status: 404 });
    expect(body).not.toContain(SECRET);
  });

  it('have none with a path of another system, which is no address at all', async () => {
    const { status, body } = await get(await serverOfFolder(), '/v1/files/..\\secret');
    expect(status).toBe(400);
    expect(body).not.toContain(SECRET);
  });

  it('have neither a link nor a folder, though it is called as a file is', async () => {
    const server = await serverOfFolder();
    const { id: kept } = (await (
      await fetch(`${server.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.bearer}` },
        body: 'kept',
      })
    ).json()) as { id: string };
    expect(await get(server, `/v1/files/${kept}`)).toEqual({ status: 200, body: 'kept' });
    // Where the store looks for a file of that name there is something else.
    const [place = ''] = readdirSync(server.folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith(kept),
    );
    const digits = kept.slice('sha256-'.length);
    const placeOf = (name: string): string => {
      const others = name.slice('sha256-'.length);
      const path = place.replace(digits, others).replace(digits.slice(0, 2), others.slice(0, 2));
      return join(server.folder, path);
    };
    for (const [name, put] of [
      [id('b'), (path: string) => symlinkSync(join(server.folder, '../secret'), path)],
      [id('c'), (path: string) => mkdirSync(path)],
    ] as const) {
      const path = placeOf(name);
      mkdirSync(join(path, '..'), { recursive: true });
      put(path);
      const { status, body } = await get(server, `/v1/files/${name}`);
      expect({ name, status }).toEqual({ name, status: 404 });
      expect(body).not.toContain(SECRET);
    }
  });
});
