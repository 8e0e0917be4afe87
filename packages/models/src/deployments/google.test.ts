import type { Model } from '@treadle/core';
import type { ModelEvent, ModelRequest } from '@treadle/core/model';
import type { HttpRequest } from '@treadle/core/ports';
import { createSession, defineAgent, defineTool, memoryJournal, openSession, TreadleError } from '@treadle/core';
import { fakeProvider, type FakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { nodeHttp } from '../http/node-http.ts';
import { resolveModel } from '../deployments.ts';
import { serve } from '../test-support/servers.ts';
import { answering, REQUEST, utf8 } from '../test-support/streams.ts';
import { anthropic } from './anthropic.ts';
import { google } from './google.ts';
import { vertex } from './vertex.ts';

const http = nodeHttp({ env: {} });

async function eventsOf(model: Model, request: ModelRequest = REQUEST): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

/** The request a model sends. */
async function sent(create: (capture: { http: typeof http }) => Model): Promise<HttpRequest> {
  const requests: HttpRequest[] = [];
  await eventsOf(
    create({
      http: (request) => {
        requests.push(request);
        return answering([utf8('')])(request);
      },
    }),
  );
  const [request] = requests;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

const problemOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof TreadleError && error.code === 'invalid_definition') return error.message;
    throw error;
  }
  throw new Error('nothing was thrown');
};

describe('the Gemini API', () => {
  it('has its key in a header, so that no URL has a secret', async () => {
    const { url, headers } = await sent((capture) =>
      google('gemini-2.5-flash', { ...capture, env: {}, apiKey: 'canary' }),
    );
    expect(url).toBe(
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    );
    expect(headers['x-goog-api-key']).toBe('canary');
  });

  it('has its key in the URL only where that is asked for, and never in an error', async () => {
    await using server = await serve((request, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`Nothing at ${request.url ?? ''}`);
    });
    const model = google('m', { apiKey: 'canary-key/1', keyInUrl: true, baseUrl: server.url, env: {}, http });
    const [event] = await eventsOf(model);
    expect(event).toMatchObject({ type: 'error', error: { status: 404 } });
    expect(JSON.stringify(event)).toContain('/v1beta/models/m:streamGenerateContent?key=[redacted]&alt=sse');
    expect(JSON.stringify(event)).not.toContain('canary');
    const { headers } = await sent((capture) => google('m', { ...capture, apiKey: 'k', keyInUrl: true, env: {} }));
    expect(headers).not.toHaveProperty('x-goog-api-key');
  });

  it.each(['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'])(
    'takes its key from %s',
    async (name) => {
      const { headers } = await sent((capture) => resolveModel('google/m', { ...capture, env: { [name]: 'k1' } }));
      expect(headers['x-goog-api-key']).toBe('k1');
    },
  );

  it.each(['GOOGLE_BASE_URL', 'GEMINI_BASE_URL'])('takes its address from %s', async (name) => {
    const { url } = await sent((capture) => google('m', { ...capture, env: { [name]: 'http://localhost:1' } }));
    expect(url).toBe('http://localhost:1/v1beta/models/m:streamGenerateContent?alt=sse');
  });

  it('without a key says what to set', () => {
    expect(problemOf(() => google('m', { env: {} }))).toContain('GEMINI_API_KEY or GOOGLE_API_KEY');
  });
});

describe('Vertex AI', () => {
  const urlOf = async (options: Parameters<typeof vertex>[1]): Promise<string> =>
    (await sent((capture) => vertex('gemini-3-pro', { env: {}, apiKey: 't', ...options, ...capture }))).url;
  const path = (location: string): string =>
    `/v1/projects/p1/locations/${location}/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse`;

  it('is at its region’s host; what is no region has a host of its own', async () => {
    const hosts = { 'europe-west4': 'europe-west4-aiplatform', global: 'aiplatform', eu: 'aiplatform.eu.rep' };
    for (const [location, host] of Object.entries(hosts)) {
      expect(await urlOf({ project: 'p1', location })).toBe(`https://${host}.googleapis.com${path(location)}`);
    }
    const env = { GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: 'us-east5' };
    expect(await urlOf({ env })).toBe(`https://us-east5-aiplatform.googleapis.com${path('us-east5')}`);
    expect(await urlOf({ env: { GOOGLE_CLOUD_PROJECT: 'p1' } })).toBe(
      `https://aiplatform.googleapis.com${path('global')}`,
    );
  });

  it('may be elsewhere, with the version and the project or without', async () => {
    const options = { project: 'p1', location: 'global' };
    expect(await urlOf({ ...options, baseUrl: 'http://h' })).toBe(`http://h${path('global')}`);
    expect(await urlOf({ ...options, baseUrl: 'http://h/v1beta1/' })).toBe(
      `http://h${path('global').replace('v1', 'v1beta1')}`,
    );
    expect(await urlOf({ baseUrl: 'http://h/v1/projects/p1/locations/global' })).toBe(`http://h${path('global')}`);
  });

  it('takes an access token', async () => {
    const given = await sent((capture) => vertex('m', { ...capture, project: 'p', apiKey: 't1', env: {} }));
    expect(given.headers['authorization']).toBe('Bearer t1');
    const env = { GOOGLE_VERTEX_ACCESS_TOKEN: 't2', GOOGLE_CLOUD_PROJECT: 'p' };
    const found = await sent((capture) => resolveModel('vertex/m', { ...capture, env }));
    expect(found.headers['authorization']).toBe('Bearer t2');
  });

  it('needs a project and a region that can be a part of an address', () => {
    expect(problemOf(() => vertex('m', { env: {}, apiKey: 't' }))).toContain('GOOGLE_CLOUD_PROJECT');
    expect(problemOf(() => vertex('m', { env: {}, apiKey: 't', project: 'a/b' }))).toContain('project');
    expect(problemOf(() => vertex('m', { env: {}, apiKey: 't', project: 'a', location: 'evil.com/' }))).toContain(
      'location',
    );
  });

  it('fetches no token before the first request, and says so when there is none to be had', async () => {
    const env = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_APPLICATION_CREDENTIALS: '/nowhere/key.json' };
    const [event] = await eventsOf(vertex('m', { env, baseUrl: 'http://localhost:1', http }));
    expect(event).toMatchObject({ type: 'error', error: { kind: 'auth', retryable: false } });
    expect(JSON.stringify(event)).toContain('/nowhere/key.json');
  });
});

describe.each([
  [
    'google',
    (provider: FakeProvider) => google('gemini-3-pro', { baseUrl: provider.googleBaseUrl, apiKey: 'k', env: {}, http }),
  ],
  [
    'vertex',
    (provider: FakeProvider) =>
      vertex('gemini-3-pro', { baseUrl: provider.googleBaseUrl, project: 'p', apiKey: 'k', env: {}, http }),
  ],
])('a conversation with tools on %s', (name, create) => {
  const SIGNATURE = 'AY89+a18/8==';
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
    execute: ({ at }) => `seen ${at}`,
  });
  const script = [
    {
      content: [
        { type: 'thinking', text: 'Hm.', signature: 'thought-1' },
        { type: 'text', text: 'Let me look.', opaque: { thoughtSignature: SIGNATURE } },
        { type: 'tool_call', name: 'look', arguments: { at: 'a' }, providerCallId: 'x1', opaque: { thoughtSignature: 'call-1' } },
        { type: 'tool_call', name: 'look', arguments: { at: 'b' }, providerCallId: '' },
      ],
    },
    'Done.',
  ] as const; // prettier-ignore

  interface Sent {
    readonly contents: readonly { readonly role: string; readonly parts: readonly Record<string, unknown>[] }[];
  }

  it('returns calls, results and signatures as they came', async () => {
    await using provider = await fakeProvider(script, { chunking: 3 });
    const session = await createSession(defineAgent({ model: create(provider), tools: [look] }), {
      journal: memoryJournal(),
    });
    const result = await session.prompt('Look!').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    const [, second] = provider.requests;
    expect(second?.path).toContain(':streamGenerateContent');
    expect((JSON.parse(second?.rawBody ?? '') as Sent).contents).toEqual([
      { role: 'user', parts: [{ text: 'Look!' }] },
      {
        role: 'model',
        parts: [
          { text: '', thought: true, thoughtSignature: 'thought-1' },
          { text: 'Let me look.' },
          { text: '', thoughtSignature: SIGNATURE },
          { functionCall: { id: 'x1', name: 'look', args: { at: 'a' } }, thoughtSignature: 'call-1' },
          { functionCall: { name: 'look', args: { at: 'b' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'x1', name: 'look', response: { result: 'seen a' } } },
          { functionResponse: { name: 'look', response: { result: 'seen b' } } },
        ],
      },
    ]);
    const calls = session.messages.flatMap((message) =>
      message.role === 'assistant' ? message.content.filter((block) => block.type === 'tool_call') : [],
    );
    expect(calls.map(({ providerCallId }) => providerCallId)).toEqual(['x1', `${name}-fc-1`]);
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(2);
  });

  it('goes on with another provider, and comes back, and each gets nothing of the other’s', async () => {
    await using own = await fakeProvider([script[0], 'Done.', 'Back.']);
    await using other = await fakeProvider([
      { thinking: 'Other thought.', text: 'Other.', toolCalls: [{ name: 'look', arguments: { at: 'c' } }] },
      'Other done.',
    ]);
    const journal = memoryJournal();
    const agentOf = (model: Model) => defineAgent({ model, tools: [look] });
    const mine = agentOf(create(own));
    const theirs = agentOf(anthropic('claude', { baseUrl: other.anthropicBaseUrl, apiKey: 'k', env: {}, http }));
    const first = await createSession(mine, { journal, id: 's1' });
    expect((await first.prompt('Look!').result).status).toBe('completed');
    const second = await openSession(theirs, 's1', { journal });
    expect((await second.prompt('And you?').result).status).toBe('completed');
    const third = await openSession(mine, 's1', { journal });
    expect((await third.prompt('And now?').result).text).toBe('Back.');
    for (const { problems } of [...own.requests, ...other.requests]) expect(problems).toEqual([]);
    const toOther = other.requests[0]?.rawBody ?? '';
    for (const secret of [SIGNATURE, 'thought-1', 'call-1']) expect(toOther).not.toContain(secret);
    const back = own.requests.at(-1)?.rawBody ?? '';
    for (const kept of [SIGNATURE, 'thought-1', 'call-1']) expect(back).toContain(`"${kept}"`);
    expect(back).not.toContain('Other thought.');
    expect(back).not.toContain('signature-1-0');
    expect(back).not.toContain('call_1_1');
  });
});

describe('Claude on Vertex AI', () => {
  it('is reached by its own wire, with the model in the path and the version in the body', async () => {
    await using provider = await fakeProvider([{ toolCalls: [{ name: 'look', arguments: { at: 'a' } }] }, 'Done.']);
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
    const model = vertex('claude-opus-4-8', {
      baseUrl: provider.googleBaseUrl,
      project: 'p',
      apiKey: 'k',
      env: {},
      http,
    });
    const session = await createSession(defineAgent({ model, tools: [look] }));
    expect(await session.prompt('Look!').result).toMatchObject({ status: 'completed', text: 'Done.' });
    const [first] = provider.requests;
    expect(first?.path).toBe(
      '/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-4-8:streamRawPredict',
    );
    expect(first?.body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true });
    expect(first?.body).not.toHaveProperty('model');
    expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
