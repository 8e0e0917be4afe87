import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Http, Model } from '@treadle/core';
import type { ModelEvent, ModelRequest } from '@treadle/core/model';
import {
  fakeProvider,
  readCassette,
  recordingFetch,
  recordingHttp,
  replayedModel,
  replayingFetch,
} from '@treadle/testing';
import type { FakeProvider, ProviderTurn, ReplayChunking } from '@treadle/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { resolveModel } from './deployments.ts';
import { fetchHttp } from './http/fetch-http.ts';
import { nodeHttp } from './http/node-http.ts';
import { joined } from './test-support/streams.ts';

// Every wire over a real socket into a file, and out of the file again.

const CANARY = 'canary-key-0123456789';
const folder = mkdtempSync(join(tmpdir(), 'treadle-cassettes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const WIRES: readonly (readonly [name: string, url: (provider: FakeProvider) => string])[] = [
  ['anthropic/claude-sonnet-4-5', (provider) => provider.anthropicBaseUrl],
  ['openai/gpt-5', (provider) => provider.openaiBaseUrl],
  ['openai-responses/gpt-5', (provider) => provider.openaiBaseUrl],
  ['google/gemini-2.5-flash', (provider) => provider.googleBaseUrl],
  ['ollama/qwen3', (provider) => provider.ollamaBaseUrl],
  // Its frames are no text.
  ['bedrock/anthropic.claude', (provider) => provider.bedrockBaseUrl],
];

const CHUNKINGS: readonly ReplayChunking[] = ['recorded', 'whole', 1, 7, { seed: 1 }, { seed: 2 }];

const TURNS: readonly ProviderTurn[] = [
  {
    thinking: 'Grüße: think about 東京.',
    text: 'I look it up: ☂️.',
    toolCalls: [{ name: 'weather', arguments: { city: 'Zürich', days: [1, 2] } }],
  },
  { text: 'It rains.' },
];

const REQUESTS: readonly ModelRequest[] = ['What is the weather?', 'And now?'].map((text) => ({
  system: 'Be brief.',
  messages: [{ id: text, role: 'user', origin: 'prompt', content: [{ type: 'text', text }], at: 0 }],
  tools: [{ name: 'weather', description: 'Says the weather.', inputSchema: { type: 'object', properties: {} } }],
}));

async function eventsOf(model: Model, request: ModelRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

async function allEvents(model: Model): Promise<ModelEvent[][]> {
  const all: ModelEvent[][] = [];
  for (const request of REQUESTS) all.push(await eventsOf(model, request));
  return all;
}

const making =
  (name: string, baseUrl: string) =>
  (http: Http): Model =>
    resolveModel(name, { apiKey: CANARY, baseUrl, http, env: {}, contextWindow: 100_000 });

async function recorded(name: string, url: (provider: FakeProvider) => string, path: string): Promise<ModelEvent[][]> {
  await using provider = await fakeProvider([...TURNS], { chunking: 11 });
  const http = recordingHttp(nodeHttp({ env: {} }), { path });
  const events = await allEvents(making(name, url(provider))(http));
  await http.settled();
  return events;
}

describe.each(WIRES)('a recording of %s', (name, url) => {
  const path = join(folder, `${name.replaceAll('/', '_')}.jsonl`);

  it('gives the same events at any chunking, without a network', async () => {
    const live = await recorded(name, url, path);
    expect(live.map((events) => events.at(-1)?.type)).toEqual(['finish', 'finish']);
    for (const chunking of CHUNKINGS) {
      for (const match of ['order', 'request'] as const) {
        const model = replayedModel(path, making(name, 'http://replayed.invalid'), { chunking, match });
        const replayed = await allEvents(model);
        expect(replayed.map(joined)).toEqual(live.map(joined));
        if (chunking === 'recorded') expect(replayed).toEqual(live);
      }
    }
  });

  it('has no key in its file', async () => {
    await recorded(name, url, path);
    expect(readFileSync(path, 'utf8')).not.toContain(CANARY);
    expect(readCassette(path).map(({ end }) => end)).toEqual(['done', 'done']);
  });

  it('says what is different about a request that was not recorded', async () => {
    await recorded(name, url, path);
    const model = replayedModel(path, making(name, 'http://replayed.invalid'), { match: 'request' });
    const events = await eventsOf(model, { ...REQUESTS[0], system: 'Be long.' } as ModelRequest);
    expect(events).toEqual([
      {
        type: 'error',
        error: expect.objectContaining({
          retryable: false,
          message: expect.stringMatching(/was not recorded like this.*body\..*Be brief\..*Be long\./s) as string,
        }) as unknown,
      },
    ]);
  });
});

describe('a recording', () => {
  it('of an error gives the same error', async () => {
    const path = join(folder, 'error.jsonl');
    const name = 'openai/gpt-5';
    const message = `Incorrect API key provided: ${CANARY}.`;
    const live = await (async () => {
      await using provider = await fakeProvider([{ error: { kind: 'auth', status: 401, message } }]);
      const http = recordingHttp(nodeHttp({ env: {} }), { path });
      const events = await eventsOf(making(name, provider.openaiBaseUrl)(http), REQUESTS[0] as ModelRequest);
      await http.settled();
      return events;
    })();
    expect(readFileSync(path, 'utf8')).not.toContain(CANARY);
    const replayed = await eventsOf(
      replayedModel(path, making(name, 'http://replayed.invalid')),
      REQUESTS[0] as ModelRequest,
    );
    expect(live).toMatchObject([{ type: 'error', error: { kind: 'auth', status: 401 } }]);
    expect(replayed).toMatchObject([{ type: 'error', error: { kind: 'auth', status: 401 } }]);
  });

  it('of a connection that was cut breaks off again at the same place', async () => {
    const path = join(folder, 'cut.jsonl');
    const name = 'anthropic/claude-sonnet-4-5';
    await using provider = await fakeProvider([{ text: 'A long story, cut short.', faults: { cutAfterEvents: 4 } }]);
    const http = recordingHttp(nodeHttp({ env: {} }), { path });
    const live = await eventsOf(making(name, provider.anthropicBaseUrl)(http), REQUESTS[0] as ModelRequest);
    await http.settled();
    expect(live.at(-1)).toMatchObject({ type: 'error', error: { kind: 'network', retryable: true } });
    expect(
      await eventsOf(replayedModel(path, making(name, 'http://replayed.invalid')), REQUESTS[0] as ModelRequest),
    ).toEqual(live);
  });

  it('by fetch is the same as one by Http', async () => {
    const path = join(folder, 'fetch.jsonl');
    const name = 'openai/gpt-5';
    await using provider = await fakeProvider([...TURNS], { chunking: 11 });
    const recording = recordingFetch(fetch, { path });
    const live = await allEvents(making(name, provider.openaiBaseUrl)(fetchHttp(recording)));
    await recording.settled();
    expect(readFileSync(path, 'utf8')).not.toContain(CANARY);
    const byFetch = await allEvents(making(name, 'http://replayed.invalid')(fetchHttp(replayingFetch(path))));
    const byHttp = await allEvents(replayedModel(path, making(name, 'http://replayed.invalid')));
    expect(byFetch.map(joined)).toEqual(live.map(joined));
    expect(byHttp).toEqual(byFetch);
  });
});
