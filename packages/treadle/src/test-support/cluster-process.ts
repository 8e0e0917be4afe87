// A server in a process of its own, to be killed, stopped and restarted: `cluster-process.ts {journal, world, leaseMs}`.
import { asTool, defineAgent, defineTool, type Model } from '@treadle/core';
import { serve } from '@treadle/server';
import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { openJournal, type ClusterProcess } from './cluster-journal.ts';

const given = JSON.parse(process.argv[2] ?? '{}') as ClusterProcess;

const note = (...what: readonly string[]): void =>
  appendFileSync(given.world, `${[process.pid, Date.now(), ...what].join(' ')}\n`);

const usage = { input: 1, output: 1, cacheRead: null, cacheWrite: null, reasoning: null };

/** Does what the first prompt says: calls that tool as often as it says, or writes a reply slowly. */
const model = (id: string): Model => ({
  provider: 'test',
  id,
  async *stream({ messages }, signal) {
    yield { type: 'start' };
    const text = messages
      .flatMap(({ content }) => content)
      .map((block) => ('text' in block ? block.text : ''))
      .find((each) => each.startsWith('Do: '));
    const [, tool = 'reply', times = '1'] = (text ?? '').split(' ');
    const done = messages.filter(({ role }) => role === 'tool').length;
    const args =
      tool === 'task'
        ? '{"n":0,"run_in_background":true}'
        : tool === 'child'
          ? '{"prompt":"Do: reply"}'
          : `{"n":${done}}`;
    const isCall = id === 'main' && tool !== 'reply' && tool !== 'title' && done < Number(times);
    if (isCall) {
      yield {
        type: 'block_end',
        index: 0,
        block: { type: 'tool_call', providerCallId: 'c', name: tool, argumentsText: args },
      };
    } else {
      if (id !== 'main' || tool === 'reply') {
        note('asked', id);
        for (let piece = 0; piece < 10; piece += 1) {
          yield { type: 'text_delta', index: 0, text: `${piece} ` };
          await setTimeout(given.workMs / 10, undefined, { signal, ref: true });
        }
      }
      const reply = id === 'namer' ? '{"title":"Named"}' : '0 1 2 3 4 5 6 7 8 9 ';
      yield { type: 'block_end', index: 0, block: { type: 'text', text: reply } };
    }
    yield { type: 'finish', stopReason: isCall ? 'tool_use' : 'stop', usage };
  },
});

const tool = (name: string, replay: 'safe' | 'never' | 'ask') =>
  defineTool({
    name,
    description: `Takes a while; replay: ${replay}.`,
    inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    replay,
    background: name === 'task',
    async execute(_, { idempotencyKey, signal }) {
      note('start', name, idempotencyKey);
      await setTimeout(given.workMs, undefined, { signal, ref: true });
      note('end', name, idempotencyKey);
      return `${name} is done`;
    },
  });

const busy = defineTool({
  name: 'busy',
  description: 'Computes, and lets nothing else happen in its process.',
  inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
  replay: 'never',
  execute(_, { idempotencyKey }) {
    note('start', 'busy', idempotencyKey);
    for (const until = Date.now() + given.workMs; Date.now() < until;);
    note('end', 'busy', idempotencyKey);
    return 'busy is done';
  },
});

const reader = defineAgent({ id: 'reader', model: model('child') });
const common = {
  model: model('main'),
  tools: [
    busy,
    tool('safe', 'safe'),
    tool('never', 'never'),
    tool('ask', 'ask'),
    tool('task', 'safe'),
    tool('expiry', 'safe'),
    asTool(reader, { name: 'child', description: 'Reads.' }),
  ],
  background: { wake: true },
  permissions: { ask: ['expiry'], answerTimeoutMs: 3000 },
  limits: { maxTurns: 50 },
} as const;
const journal = openJournal(given);
const serving = await serve({
  agents: [
    defineAgent({ ...common, id: 'worker' }),
    defineAgent({ ...common, id: 'named', title: { model: model('namer') } }),
  ],
  journal,
  tokens: [{ name: 'test', token: 'test-token-of-a-cluster' }],
  owner: `process ${process.pid}`,
  log: ({ level, event, error }) => {
    if (level !== 'info') note('log', event, JSON.stringify(error ?? null));
  },
});
process.once('SIGTERM', () => {
  void serving
    .close()
    .then(() => journal.close())
    .then(() => process.exit(0));
});
process.stdout.write(`${serving.url}\n`);
