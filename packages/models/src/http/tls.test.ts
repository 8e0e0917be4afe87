import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, rootCertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import type { HttpRequest, HttpResponse } from '@treadle/core/ports';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE, OTHER_CERTIFICATE, OTHER_KEY } from '../test-support/certificate.ts';
import { serveSecure } from '../test-support/servers.ts';
import { nodeHttp } from './node-http.ts';

const get = (url: string): HttpRequest => ({ method: 'GET', url, headers: {} });

async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

const codeOf = (promise: Promise<unknown>): Promise<string | undefined> =>
  promise.then(
    () => 'no failure at all',
    (error: unknown) => (error as { code?: string }).code,
  );

describe('a connection by TLS', () => {
  it('names its host, whatever its headers name', async () => {
    await using server = await serveSecure((request, response) => {
      const { servername } = request.socket as TLSSocket & { servername: string };
      response.end(servername);
    });
    const http = nodeHttp({ env: {}, ca: CERTIFICATE });
    expect(await textOf(await http(get(server.url)))).toBe('localhost');
    expect(await textOf(await http({ ...get(server.url), headers: { host: 'other.example' } }))).toBe('localhost');
  });

  it('is refused when its certificate is trusted but for another host, also the second time', async () => {
    let requests = 0;
    const server = createServer({ key: OTHER_KEY, cert: OTHER_CERTIFICATE }, (_, response) => {
      requests++;
      response.end('secret');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    const http = nodeHttp({ env: {}, ca: OTHER_CERTIFICATE });
    // The second has no session that would spare it the check.
    for (let turn = 0; turn < 2; turn++) expect(await codeOf(http(get(url)))).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await codeOf(http({ ...get(url), headers: { host: 'other.example' } }))).toBe(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
    expect(requests).toBe(0);
    await new Promise((resolve) => server.close(resolve));
  });

  it('trusts what Node trusts, and the certificates it is given besides', async () => {
    await using server = await serveSecure((_, response) => response.end('secret'));
    const usual = getCACertificates('default');
    setDefaultCACertificates([CERTIFICATE]);
    try {
      const another = nodeHttp({ env: {}, ca: rootCertificates[0] ?? '' });
      expect(await textOf(await another(get(server.url)))).toBe('secret');
    } finally {
      setDefaultCACertificates(usual);
    }
    expect(await codeOf(nodeHttp({ env: {}, ca: OTHER_CERTIFICATE })(get(server.url)))).toMatch(/SELF_SIGNED/);
  });

  it('that is cut inside a response fails it', async () => {
    await using server = await serveSecure((_, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.socket?.destroy());
    });
    const { body } = await nodeHttp({ env: {}, ca: CERTIFICATE })(get(server.url));
    const chunks = body[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('half');
    expect(await codeOf(chunks.next())).toBe('ECONNRESET');
  });
});
