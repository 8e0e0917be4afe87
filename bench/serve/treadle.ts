// Treadle as a server, with a model in its process that says one piece at every tick. The journal is in memory.

import { defineAgent, memoryJournal, type Model } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { inProcess, serve } from '@treadle/server';
import { deltaText } from '../scenarios.ts';
import type { ServerJob } from './job.ts';
import { createPace, type Pace } from './pace.ts';
import type { Contestant } from './contestant.ts';

const TOKEN = 'token-of-the-benchmark';
const MANY = 1_000_000;

function pacedModel(pace: Pace, deltas: number, asked: () => void): Model {
  return {
    provider: 'bench',
    id: 'paced',
    async *stream() {
      let text = '';
      asked();
      for (let index = 0; index < deltas; index += 1) {
        await pace.next();
        const piece = deltaText(index);
        text += piece;
        yield { type: 'text_delta', index: 0, text: piece };
      }
      yield { type: 'block_end', index: 0, block: { type: 'text', text } };
      yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
    },
  };
}

export async function treadle({ shape, streams, deltas }: ServerJob): Promise<Contestant> {
  const pace = createPace();
  const sessions = shape === 'watched' ? 1 : streams;
  let asked = 0;
  let allAsked = Promise.withResolvers<void>();
  const model = pacedModel(pace, deltas, () => {
    asked += 1;
    if (asked === sessions) allAsked.resolve();
  });
  const journal = memoryJournal();
  const agent = defineAgent({ model });
  const dispatch = inProcess({ journal, agentOf: () => agent });
  const serving = await serve({
    agents: [agent],
    journal,
    dispatch,
    tokens: [{ name: 'bench', token: TOKEN }],
    limits: { requests: { perSecond: MANY, burst: MANY }, streams: MANY, streamsPerToken: MANY },
  });
  const ids = Array.from({ length: sessions }, (_, index) => `session-${String(index).padStart(5, '0')}`);
  const post = async (path: string, body: object): Promise<void> => {
    const request = new Request(`http://localhost${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const response = await serving.server.fetch(request);
    if (!response.ok) throw new Error(await response.text());
    await response.body?.cancel();
  };
  for (const id of ids) await post('/v1/sessions', { id });
  return {
    ready: { port: serving.port, token: TOKEN, paths: ids.map((id) => `/v1/sessions/${id}/stream`) },
    async begin() {
      pace.stop();
      asked = 0;
      allAsked = Promise.withResolvers();
      for (const id of ids) await post(`/v1/sessions/${id}/runs`, { input: 'Tell me.' });
      await allAsked.promise;
    },
    go: () => pace.go(),
    async ended() {
      while (dispatch.active > 0) await pace.next();
      pace.stop();
    },
  };
}
