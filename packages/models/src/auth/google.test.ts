import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { serve } from '../test-support/servers.ts';
import { googleToken, googleTokenFrom } from './google.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const signal = new AbortController().signal;
const REQUEST = { method: 'POST', url: 'https://aiplatform.googleapis.com/v1/x', headers: {}, body: '' } as const;

/** A file with credentials that are exchanged at `url` for a token. */
function keyFileFor(url: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'google-'));
  folders.push(folder);
  const subject = join(folder, 'subject');
  writeFileSync(subject, 'who I am');
  const file = join(folder, 'credentials.json');
  writeFileSync(
    file,
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: url,
      credential_source: { file: subject },
    }),
  );
  return file;
}

/** A service of tokens, each another. */
const tokenService = () => {
  let count = 0;
  const server = serve((request, response) => {
    request.resume();
    count++;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: `token-${count}`, token_type: 'Bearer', expires_in: 3600 }));
  });
  return { server, count: () => count };
};

describe('a token of Google Cloud', () => {
  it('is fetched by the library, kept, and fetched anew once it was refused', async () => {
    const { server, count } = tokenService();
    await using running = await server;
    const credentials = googleToken({ keyFile: keyFileFor(running.url) });
    expect(count()).toBe(0);
    expect(await credentials.authorize(REQUEST, signal)).toMatchObject({ authorization: 'Bearer token-1' });
    expect(await credentials.authorize(REQUEST, signal)).toMatchObject({ authorization: 'Bearer token-1' });
    await credentials.invalidate?.();
    expect(await credentials.authorize(REQUEST, signal)).toMatchObject({ authorization: 'Bearer token-2' });
    expect(count()).toBe(2);
  });

  it('of a service account is asked for with its key', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const opened: unknown[] = [];
    const serviceAccount = {
      client_email: 'me@example.iam.gserviceaccount.com',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
    const credentials = googleTokenFrom({ serviceAccount }, () =>
      Promise.resolve((options) => {
        opened.push(options);
        return { getRequestHeaders: (url) => Promise.resolve(new Headers({ authorization: `Bearer for ${url}` })) };
      }),
    );
    expect(await credentials.authorize(REQUEST, signal)).toEqual({
      authorization: 'Bearer for https://aiplatform.googleapis.com',
    });
    expect(opened).toEqual([{ serviceAccount }]);
  });

  it('is tried for again after it could not be had', async () => {
    const { server } = tokenService();
    await using running = await server;
    const folder = mkdtempSync(join(tmpdir(), 'google-'));
    folders.push(folder);
    const keyFile = join(folder, 'later.json');
    const credentials = googleToken({ keyFile });
    await expect(credentials.authorize(REQUEST, signal)).rejects.toThrow('later.json');
    writeFileSync(keyFile, readFileSync(keyFileFor(running.url)));
    expect(await credentials.authorize(REQUEST, signal)).toMatchObject({ authorization: 'Bearer token-1' });
  });

  it.each([
    ['[]', 'is not a JSON object'],
    ['{"type":"service_account","client_email":"a"}', 'has no private_key'],
    ['{"type":"authorized_user","client_id":"a"}', 'has no client_secret'],
    ['{"type":"gdch_service_account"}', 'GOOGLE_APPLICATION_CREDENTIALS'],
  ])('can not be had from a file with %s, and the reason is told', async (text, reason) => {
    const folder = mkdtempSync(join(tmpdir(), 'google-'));
    folders.push(folder);
    const keyFile = join(folder, 'key.json');
    writeFileSync(keyFile, text);
    await expect(googleToken({ keyFile }).authorize(REQUEST, signal)).rejects.toThrow(reason);
  });

  it('says what to install when the library is missing, and only when it is', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    await expect(googleTokenFrom({}, () => Promise.reject(missing)).authorize(REQUEST, signal)).rejects.toMatchObject({
      code: 'invalid_definition',
      message: expect.stringContaining('npm install google-auth-library') as string,
    });
    const broken = new Error('broken');
    await expect(googleTokenFrom({}, () => Promise.reject(broken)).authorize(REQUEST, signal)).rejects.toBe(broken);
  });
});
