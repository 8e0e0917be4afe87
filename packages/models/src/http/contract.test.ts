import { Agent as HttpAgent, request as openRequest } from 'node:http';
import { bytesOfBody } from '@treadle/core/ports';
import { httpContract, type CreateHttp } from '@treadle/testing';
import { Agent } from 'undici';
import { describe, expect, it } from 'vitest';
import { fetchHttp, type FetchLike } from './fetch-http.ts';
import { nodeHttp } from './node-http.ts';
import { joinedHeaders, timedHttp, type Answer, type Sending } from './timed-http.ts';
import { undiciHttp } from './undici-http.ts';

const NO_PROXY = { env: {} };

describe.each<[string, CreateHttp]>([
  ['nodeHttp', (options) => nodeHttp({ ...NO_PROXY, ...options })],
  // With a proxy for other hosts.
  ['nodeHttp beside a proxy', (options) => nodeHttp({ env: { HTTP_PROXY: 'h:9', NO_PROXY: '127.0.0.1' }, ...options })],
  ['fetchHttp', (options) => fetchHttp(undefined, options)],
  ['undiciHttp', (options) => undiciHttp({ ...NO_PROXY, ...options })],
  ['undiciHttp with dispatchers of one’s own', (options) => undiciHttp({ dispatcher: () => new Agent(), ...options })],
])('%s', (_, create) => {
  for (const { name, run } of httpContract(create)) it(name, run);
});

describe('the contract', () => {
  it.each<[string, CreateHttp, RegExp]>([
    [
      'hands a packed body on',
      (options) => {
        const hiding: FetchLike = async (url, init) => {
          const { status, headers, body } = await fetch(url, init);
          const shown = new Headers(headers);
          shown.delete('content-encoding');
          return { status, headers: shown, body };
        };
        return fetchHttp(hiding, options);
      },
      /refuses the content encoding/,
    ],
    [
      'follows redirects',
      (options) => fetchHttp((url, init) => fetch(url, { ...init, redirect: 'follow' }), options),
      /does not follow redirects/,
    ],
    [
      'keeps silent connections',
      (options) => {
        const agent = new HttpAgent({ keepAlive: true });
        return timedHttp({ send: (sending) => plainly(agent, sending) }, options);
      },
      /one retry while 12 kept connections are silent/,
    ],
  ])('finds a transport that %s', async (_, create, name) => {
    const cases = httpContract(create).filter((each) => name.test(each.name));
    expect(cases).not.toEqual([]);
    for (const { run } of cases) await expect(run()).rejects.toThrow();
  });
});

/** `node:http` without more. */
const plainly = (agent: HttpAgent, { request: input, signal }: Sending): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { url, method, headers, body } = input;
    const request = openRequest(url, { method, headers: { ...headers }, agent, signal });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      resolve({ status: response.statusCode ?? 0, headers: joinedHeaders(response.headers), body: chunks });
    });
    request.end(body === undefined ? undefined : bytesOfBody(body));
  });
