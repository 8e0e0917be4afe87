import { createHash, createHmac } from 'node:crypto';
import { TreadleError, type ModelError } from '@treadle/core';
import { bytesOfBody, type HttpBody, type HttpRequest } from '@treadle/core/ports';
import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { bedrock, type BedrockOptions } from '../deployments/bedrock.ts';
import { resolveModel } from '../deployments.ts';
import { REQUEST } from '../test-support/streams.ts';
import { AWS_LIBRARIES } from './aws-libraries.ts';
import { awsSignature } from './aws.ts';
import { awsSignatureWith } from './aws-signature.ts';
import type { UnauthorizedRequest } from './credentials.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const NOW = Date.UTC(2026, 1, 3, 4, 5, 6, 789);

const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

interface Signing {
  readonly request: Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;
  readonly region: string;
  readonly service: string;
}

/** Signature Version 4, from its description, over the headers that `authorization` says were signed. */
function expectedAuthorization({ request, region, service }: Signing): string {
  const url = new URL(request.url);
  const given = request.headers['authorization'] ?? '';
  const names = (/SignedHeaders=([^,]+)/.exec(given)?.[1] ?? '').split(';');
  const headers: Record<string, string | undefined> = { ...request.headers, host: url.host };
  const date = headers['x-amz-date'] ?? '';
  const canonical = [
    request.method,
    // Every service but S3 encodes the path once more than it is on the wire.
    url.pathname.split('/').map(encoded).join('/'),
    [...url.searchParams]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .sort()
      .join('&'),
    ...names.map((name) => `${name}:${(headers[name] ?? 'missing').trim().replace(/\s+/g, ' ')}`),
    '',
    names.join(';'),
    sha256(bytesOfBody(request.body ?? '')),
  ].join('\n');
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const key = [date.slice(0, 8), region, service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${KEYS.secretAccessKey}`,
  );
  const signature = hmac(Buffer.from(key), ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n'));
  return (
    `AWS4-HMAC-SHA256 Credential=${KEYS.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, ` +
    `Signature=${signature.toString('hex')}`
  );
}

interface Sent {
  readonly requests: readonly HttpRequest[];
  readonly error: ModelError | undefined;
}

/** What a model of these options sends for one request, to a service that answers with these statuses. */
async function send(options: BedrockOptions, modelId = 'm', statuses: readonly number[] = [404]): Promise<Sent> {
  const requests: HttpRequest[] = [];
  const http: BedrockOptions['http'] = (request) => {
    requests.push(request);
    const status = statuses[requests.length - 1] ?? 404;
    async function* body() {
      yield Buffer.from('{"message":"no"}');
    }
    return Promise.resolve({ status, headers: {}, body: body() });
  };
  const model = bedrock(modelId, { env: {}, clock: testClock(NOW), ...options, http });
  let error: ModelError | undefined;
  for await (const event of model.stream({ ...REQUEST, system: 'Grüße' }, new AbortController().signal)) {
    if (event.type === 'error') error = event.error;
  }
  return { requests, error };
}

const only = (sent: Sent): HttpRequest => {
  const [request] = sent.requests;
  if (request === undefined) throw new Error(`No request was sent: ${sent.error?.message ?? ''}`);
  return request;
};

describe('a signed request', () => {
  it('is what the description of Signature Version 4 says, session token and encoded colons included', async () => {
    const modelId = 'arn:aws:bedrock:eu-west-1:1234:inference-profile/eu.anthropic.claude-v1:0';
    const awsCredentials = { ...KEYS, sessionToken: 'session/token+==' };
    const request = only(await send({ region: 'eu-west-1', awsCredentials }, modelId));
    expect(request.url).toBe(
      'https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1234%3Ainference-profile' +
        '%2Feu.anthropic.claude-v1%3A0/converse-stream',
    );
    expect(request.headers).toMatchObject({
      'x-amz-date': '20260203T040506Z',
      'x-amz-security-token': 'session/token+==',
      'x-amz-content-sha256': sha256(bytesOfBody(request.body ?? '')),
    });
    expect(request.headers['authorization']).toMatch(/SignedHeaders=[^,]*host;[^,]*x-amz-date;x-amz-security-token/);
    expect(request.headers['authorization']).toBe(
      expectedAuthorization({ request, region: 'eu-west-1', service: 'bedrock' }),
    );
  });

  it('is right with a port, a path and a query of its own', async () => {
    const baseUrl = 'http://localhost:8123/proxy/a b?tenant=x y&b=%2F';
    const request = only(await send({ region: 'us-east-1', awsCredentials: KEYS, baseUrl }));
    expect(request.headers['authorization']).toBe(
      expectedAuthorization({ request, region: 'us-east-1', service: 'bedrock' }),
    );
    expect(request.headers).not.toHaveProperty('x-amz-security-token');
  });

  it.each<[string, HttpBody]>([
    ['any bytes', Uint8Array.from([0, 255, 128])],
    ['no bytes', new Uint8Array()],
    ['a text', 'Grüße'],
  ])('is right over %s, for any service', async (_, body) => {
    const request: UnauthorizedRequest = {
      method: 'POST',
      url: 'https://example.amazonaws.com/a/%F0%9F%A6%8A/(b)!',
      headers: {
        'content-type': 'application/octet-stream',
        'x-amz-target': 'A.B',
        'user-agent': 'changed on the way',
      },
      body,
    };
    const options = { region: 'us-east-1', service: 'execute-api', credentials: KEYS, clock: testClock(NOW) };
    const added = await awsSignature(options).authorize(request, new AbortController().signal);
    const signed = { ...request, headers: { ...request.headers, ...added } };
    expect(added['authorization']).toBe(
      expectedAuthorization({ request: signed, region: 'us-east-1', service: 'execute-api' }),
    );
    expect(added['authorization']).toContain('x-amz-target');
    expect(added['authorization']).not.toContain('user-agent');
    expect(Object.keys(added)).not.toContain('content-type');
  });

  it('leaves a digest that the caller brings', async () => {
    const request: UnauthorizedRequest = {
      method: 'POST',
      url: 'https://example.amazonaws.com/a',
      headers: { 'x-amz-content-sha256': sha256('{}') },
      body: '{}',
    };
    const options = { region: 'us-east-1', service: 'execute-api', credentials: KEYS, clock: testClock(NOW) };
    const added = await awsSignature(options).authorize(
      { ...request, body: 'not what is signed' },
      new AbortController().signal,
    );
    expect(added).not.toHaveProperty('x-amz-content-sha256');
    expect(added['authorization']).toBe(
      expectedAuthorization({
        request: { ...request, headers: { ...request.headers, ...added } },
        region: 'us-east-1',
        service: 'execute-api',
      }),
    );
  });

  it('carries the time of each request, by the clock', async () => {
    const clock = testClock(NOW);
    const signer = awsSignature({ region: 'us-east-1', credentials: KEYS, clock });
    const request: UnauthorizedRequest = { method: 'POST', url: 'https://a.example/', headers: {}, body: '' };
    const dates: (string | undefined)[] = [];
    for (let hour = 0; hour < 2; hour++) {
      dates.push((await signer.authorize(request, new AbortController().signal))['x-amz-date']);
      await clock.advance(3_600_000);
    }
    expect(dates).toEqual(['20260203T040506Z', '20260203T050506Z']);
  });
});

describe('the region', () => {
  const regionIn = async (options: BedrockOptions): Promise<string | undefined> =>
    /\/(\w+-\w+-\d)\//.exec(only(await send({ awsCredentials: KEYS, ...options })).headers['authorization'] ?? '')?.[1];

  it('comes from the options, the host, or the environment', async () => {
    const env = { AWS_REGION: 'ap-south-1', AWS_DEFAULT_REGION: 'sa-east-1' };
    const baseUrl = 'https://bedrock-runtime.us-west-2.amazonaws.com';
    expect(await regionIn({ region: 'eu-north-1', baseUrl, env })).toBe('eu-north-1');
    expect(await regionIn({ baseUrl, env })).toBe('us-west-2');
    expect(await regionIn({ baseUrl: 'https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com' })).toBe(
      'us-west-2',
    );
    expect(await regionIn({ env })).toBe('ap-south-1');
    expect(await regionIn({ env: { AWS_DEFAULT_REGION: 'sa-east-1' } })).toBe('sa-east-1');
  });

  it('decides the host, in China too', async () => {
    const hostIn = async (region: string): Promise<string> =>
      new URL(only(await send({ region, awsCredentials: KEYS })).url).host;
    expect(await hostIn('us-east-1')).toBe('bedrock-runtime.us-east-1.amazonaws.com');
    expect(await hostIn('cn-north-1')).toBe('bedrock-runtime.cn-north-1.amazonaws.com.cn');
  });

  it('that is missing or odd is refused before anything is sent', () => {
    expect(() => bedrock('m', { env: {} })).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
    expect(() => bedrock('m', { env: {}, region: 'x.evil.example/' })).toThrow(/not one such as us-east-1/);
    expect(() => resolveModel('bedrock/m', { env: {} })).toThrow(/AWS_REGION/);
  });

  it('that only signing misses is an error of the call', async () => {
    const { requests, error } = await send({ awsCredentials: KEYS, baseUrl: 'https://proxy.example' });
    expect(requests).toEqual([]);
    expect(error).toMatchObject({ kind: 'other', retryable: false, code: 'invalid_definition' });
  });
});

describe('credentials', () => {
  const env = {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'AKIDENVIRONMENT',
    AWS_SECRET_ACCESS_KEY: 'secret-of-the-environment',
    AWS_SESSION_TOKEN: 'token-of-the-environment',
  };

  it('are a bearer token before keys of the environment', async () => {
    const { headers } = only(await send({ env: { ...env, AWS_BEARER_TOKEN_BEDROCK: 'bedrock-api-key-1' } }));
    expect(headers['authorization']).toBe('Bearer bedrock-api-key-1');
    expect(headers).not.toHaveProperty('x-amz-date');
    expect(only(await send({ env, apiKey: 'given-key-1' })).headers['authorization']).toBe('Bearer given-key-1');
  });

  it('are keys of the environment, with its session token', async () => {
    const { headers } = only(await send({ env }));
    expect(headers['authorization']).toContain('Credential=AKIDENVIRONMENT/');
    expect(headers['x-amz-security-token']).toBe('token-of-the-environment');
  });

  it('that are given win over a token of the environment', async () => {
    const mixed = { ...env, AWS_BEARER_TOKEN_BEDROCK: 'bedrock-api-key-1' };
    expect(only(await send({ env: mixed, awsCredentials: KEYS })).headers['authorization']).toContain('AKIDEXAMPLE');
  });

  it('may be a function, asked for every request', async () => {
    let asked = 0;
    const awsCredentials = () => Promise.resolve({ ...KEYS, accessKeyId: `AKID${++asked}` });
    const sent = [await send({ env, awsCredentials }), await send({ env, awsCredentials })];
    expect(sent.map((one) => /Credential=(\w+)/.exec(only(one).headers['authorization'] ?? '')?.[1])).toEqual([
      'AKID1',
      'AKID2',
    ]);
  });

  it('that can not be had are an error of kind auth, without what they are', async () => {
    const awsCredentials = () => Promise.reject(new Error('the vault is closed'));
    const { requests, error } = await send({ env, awsCredentials });
    expect(requests).toEqual([]);
    expect(error).toMatchObject({ kind: 'auth', retryable: false, message: expect.stringContaining('vault') });
  });

  it('never appear in errors', async () => {
    const { error } = await send({ env }, 'm', [403]);
    expect(JSON.stringify(error)).not.toMatch(/secret-of|token-of/);
  });
});

describe('libraries', () => {
  const request: UnauthorizedRequest = { method: 'POST', url: 'https://a.example/', headers: {}, body: '' };
  const authorize = (signer: ReturnType<typeof awsSignatureWith>) =>
    signer.authorize(request, new AbortController().signal);
  const missing = () =>
    Promise.reject(Object.assign(new Error("Cannot find package '@x/y'"), { code: 'ERR_MODULE_NOT_FOUND' }));

  it('are loaded with the first request, once', async () => {
    let loads = 0;
    const libraries = { ...AWS_LIBRARIES, signature: () => (loads++, AWS_LIBRARIES.signature()) };
    const signer = awsSignatureWith(libraries, { region: 'us-east-1', credentials: KEYS });
    expect(loads).toBe(0);
    await authorize(signer);
    await authorize(signer);
    expect(loads).toBe(1);
  });

  it.each([
    ['signature', /npm install @smithy\/signature-v4/],
    ['hash', /npm install @smithy\/signature-v4 @aws-crypto\/sha256-js/],
    ['chain', /npm install @aws-sdk\/credential-provider-node/],
  ] as const)('that are not installed (%s) are named, with what to do', async (name, words) => {
    const signer = awsSignatureWith(
      { ...AWS_LIBRARIES, [name]: missing },
      {
        region: 'us-east-1',
        env: {},
        ...(name === 'chain' ? {} : { credentials: KEYS }),
      },
    );
    const failure = await Promise.resolve(authorize(signer)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TreadleError);
    expect(failure).toMatchObject({ code: 'invalid_definition', message: expect.stringMatching(words) });
  });

  it('may be there the next time', async () => {
    let there = false;
    const signature = () => (there ? AWS_LIBRARIES.signature() : missing());
    const signer = awsSignatureWith({ ...AWS_LIBRARIES, signature }, { region: 'us-east-1', credentials: KEYS });
    await expect(authorize(signer)).rejects.toMatchObject({ code: 'invalid_definition' });
    there = true;
    expect(await authorize(signer)).toHaveProperty('authorization');
  });

  it('find keys by AWS’s own search, which starts anew when its keys were refused', async () => {
    let searches = 0;
    const chain = () => {
      const search = ++searches;
      return () => Promise.resolve({ ...KEYS, accessKeyId: `AKIDCHAIN${search}` });
    };
    const libraries = {
      ...AWS_LIBRARIES,
      chain: () =>
        Promise.resolve({ defaultProvider: chain } as unknown as Awaited<ReturnType<typeof AWS_LIBRARIES.chain>>),
    };
    const signer = awsSignatureWith(libraries, { region: 'us-east-1', env: {} });
    const first = await authorize(signer);
    const second = await authorize(signer);
    await signer.invalidate?.();
    const third = await authorize(signer);
    expect([first, second, third].map((one) => /AKIDCHAIN\d/.exec(one['authorization'] ?? '')?.[0])).toEqual([
      'AKIDCHAIN1',
      'AKIDCHAIN1',
      'AKIDCHAIN2',
    ]);
  });
});

describe('requests to S3', () => {
  // From AWS's page "Authenticating Requests: Using the Authorization Header", examples of Signature Version 4 for S3.
  it.each([
    ['GET Bucket Lifecycle', '?lifecycle=', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    ['Get Bucket', '?max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ])('have the signature that AWS has published: %s', async (_name, query, signature) => {
    const credentials = {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    };
    const clock = testClock(Date.UTC(2013, 4, 24));
    const { authorize } = awsSignature({ service: 's3', region: 'us-east-1', credentials, clock });
    const url = `https://examplebucket.s3.amazonaws.com/${query}`;
    const headers = { 'x-amz-content-sha256': sha256('') };
    const signed = await authorize({ method: 'GET', url, headers, body: '' }, new AbortController().signal);
    expect(signed['authorization']).toContain(`SignedHeaders=host;x-amz-content-sha256;x-amz-date`);
    expect(signed['authorization']).toContain(`Signature=${signature}`);
  });
});
