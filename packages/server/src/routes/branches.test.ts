import {
  defineAgent,
  defineTool,
  memoryJournal,
  type Agent,
  type AgentDefinition,
  type JsonObject,
} from '@treadle/core';
import { chosenBy } from '@treadle/core/branches';
import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { isRunEnd, sse, until, type Told } from '../test-support/events.ts';
import { startServer, type TestServer } from '../test-support/server.ts';

const agent = (id: string, text: string, more: Partial<AgentDefinition> = {}): Agent =>
  defineAgent({ id, configId: id, model: scriptedModel(() => ({ text })), ...more });

const small = () => agent('small', '42');
const large = () => agent('large', 'Forty-two, most likely.');

const STREAM = { accept: 'text/event-stream' };

async function begun(agents: readonly Agent[], options: Parameters<typeof startServer>[1] = {}): Promise<TestServer> {
  const [first] = agents;
  if (!first) throw new Error('There is no agent.');
  const server = await startServer(first, { ...options, agents });
  await server.json('POST', '/v1/sessions', { id: 's' });
  return server;
}

async function streamed(server: TestServer, body: JsonObject): Promise<readonly Told[]> {
  const response = await server.call('POST', '/v1/sessions/s/branches', body, STREAM);
  expect(response.status).toBe(200);
  return (await until(sse(response), isRunEnd)).map(({ event }) => event);
}

const textsIn = (events: readonly Told[]): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'message_added' && event.message.role === 'assistant'
      ? event.message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
      : [],
  );

const chosenIn = (events: readonly Told[]): unknown =>
  events.flatMap((event) => (event.type === 'decision_made' && event.kind === 'judge' ? [event.decision] : []))[0];

describe('branches of a session', () => {
  it('run side by side; their events are on the stream of the run, and one is adopted', async () => {
    const server = await begun([small(), large(), agent('third', '42')]);
    const branches = [{ agent: 'small' }, { agent: 'large' }, { agent: 'third' }];
    const events = await streamed(server, { input: 'Six times seven?', branches, strategy: 'vote' });
    expect(chosenIn(events)).toMatchObject({ selectedIndex: 0, strategy: 'vote' });
    expect(textsIn(events)).toEqual(['42']);
    const ran = new Set(events.flatMap((event) => (event.type === 'branch_event' ? [event.branch.configId] : [])));
    expect([...ran].toSorted()).toEqual(['large', 'small', 'third']);
    const { messages } = await server.json<{ messages: object[] }>('GET', '/v1/sessions/s/history');
    expect(messages).toMatchObject([{ message: { role: 'user' } }, { message: { role: 'assistant' } }]);
    const other = await server.json<{ status: string }>('GET', '/v1/sessions/s.small.1.b1');
    expect(other.status).toBe('idle');
  });

  it('ask the models that they name, of the session’s own agent without another', async () => {
    const models = { terse: scriptedModel(() => '4'), wordy: scriptedModel(() => 'It is four.') };
    const server = await begun([agent('main', 'Never asked.', { routing: { models } })]);
    const branches = [{ model: 'wordy' }, { model: 'terse' }];
    const events = await streamed(server, { input: 'Two and two?', branches, strategy: 'first' });
    expect(textsIn(events)).toEqual(['It is four.']);
    expect(events.find(({ type }) => type === 'branches_started')).toMatchObject({
      branches: [{ configId: 'wordy' }, { configId: 'terse' }],
    });
  });

  it('are judged by the model of the agent that is named, with instructions', async () => {
    const heard: string[] = [];
    const judging = scriptedModel(({ system }) => {
      heard.push(system ?? '');
      return 'The second is clear.\nBEST: 2';
    });
    const judge = defineAgent({ id: 'judge', model: judging });
    const server = await begun([small(), large(), judge]);
    const events = await streamed(server, {
      input: 'Six times seven?',
      branches: [{ agent: 'small' }, { agent: 'large' }],
      strategy: 'llm_judge',
      judge: { agent: 'judge', instructions: 'Full sentences are better.' },
    });
    expect(textsIn(events)).toEqual(['Forty-two, most likely.']);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toContain('Full sentences are better.');
  });

  it('are chosen by a strategy of the application', async () => {
    const strategies = { longest: chosenBy((outcomes) => outcomes.findIndex(({ text }) => text.length > 10)) };
    const server = await begun([small(), large()], { strategies });
    const branches = [{ agent: 'small' }, { agent: 'large' }];
    expect(textsIn(await streamed(server, { input: '?', branches, strategy: 'longest' }))).toEqual([
      'Forty-two, most likely.',
    ]);
  });

  it('go on with the history without an input', async () => {
    const journal = memoryJournal();
    const server = await begun([small()], { journal });
    const empty = await server.call('POST', '/v1/sessions/s/branches', { branches: [{}] });
    expect(await empty.json()).toMatchObject({ status: 409, code: 'nothing_to_continue' });
    await streamed(server, { input: 'Hi', branches: [{}] });
    const again = await server.call('POST', '/v1/sessions/s/branches', { branches: [{}] });
    expect(await again.json()).toMatchObject({ status: 409, code: 'ends_with_assistant' });
  });

  it.each<[JsonObject, string]>([
    [{ branches: [{ agent: 'nobody' }] }, 'There is no agent "nobody". The agents are: small, large.'],
    [{ branches: [{ model: 'tiny' }] }, 'The agent has no model "tiny".'],
    [{ branches: [{}, {}] }, 'Nothing chooses among 2 branches.'],
    [{ branches: [{}, {}], strategy: 'best' }, 'There is no strategy "best". The strategies are: only, first,'],
    [{ branches: [{}, {}], strategy: 'llm_judge', judge: { agent: 'nobody' } }, 'There is no agent "nobody".'],
    [{ branches: Array.from({ length: 9 }, () => ({})), strategy: 'first' }, 'A run may have 8 branches, not 9.'],
    [{ branches: [] }, 'branches'],
    [{ branches: [{}], strategy: '__proto__' }, 'There is no strategy "__proto__".'],
  ])('are refused where the server can’t run them, and nothing is written: %j', async (body, words) => {
    const server = await begun([small(), large()]);
    const response = await server.call('POST', '/v1/sessions/s/branches', { input: 'Go.', ...body });
    const { detail } = (await response.json()) as { detail: string };
    expect(response.status).toBe(400);
    expect(detail).toContain(words);
    expect(await logOf(server.journal, 's')).toHaveLength(1);
  });

  it('are asked for once under one key, and not during another run', async () => {
    const held = Promise.withResolvers<void>();
    const slow = defineAgent({
      id: 'slow',
      model: scriptedModel(async () => {
        await held.promise;
        return 'Done.';
      }),
    });
    const server = await begun([slow]);
    const body = { input: 'Go.', branches: [{}] };
    const ask = (more: object, key: string) =>
      server.call('POST', '/v1/sessions/s/branches', { ...body, ...more }, { 'idempotency-key': key });
    const first = (await (await ask({}, 'k')).json()) as JsonObject;
    expect(await (await ask({}, 'k')).json()).toMatchObject({ inputSeq: first['inputSeq'] ?? null, duplicate: true });
    expect(await (await ask({ input: 'Stop.' }, 'k')).json()).toMatchObject({ code: 'idempotency_mismatch' });
    expect(await (await ask({}, 'another')).json()).toMatchObject({ status: 409, code: 'run_active' });
    held.resolve();
  });

  it('end with the run that is cancelled', async () => {
    const model = scriptedModel(() => ({ text: 'Never said.', delayMs: 600_000 }));
    const server = await begun([defineAgent({ id: 'hanging', configId: 'hanging', model })]);
    const run = await server.call('POST', '/v1/sessions/s/branches', { input: 'Go.', branches: [{}] }, STREAM);
    const told = await until(sse(run), (event) => {
      const isAsked = event.type === 'branch_event' && event.event.type === 'turn_started';
      if (isAsked) void server.call('POST', '/v1/sessions/s/cancel', {});
      return isRunEnd(event);
    });
    expect(told.at(-1)?.event).toMatchObject({ status: 'aborted' });
    const ends = (await logOf(server.journal, 's.hanging.1.b0')).filter(({ type }) => type === 'run_ended');
    expect(ends).toMatchObject([{ status: 'aborted' }]);
  });

  it('go on at the next server where the first one stopped amid them, and none is asked twice', async () => {
    const journal = memoryJournal();
    const calls: string[] = [];
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
    const model = (id: string) =>
      scriptedModel(async ({ messages }) => {
        calls.push(id);
        if (id === 'quick') return 'quick is done';
        if (messages.at(-1)?.role === 'tool') return 'slow is done';
        reached.resolve();
        await held.promise;
        return { toolCalls: [{ name: 'look' }] };
      });
    const agents = ['quick', 'slow'].map((id) => defineAgent({ id, configId: id, model: model(id), tools: [look] }));
    const first = await begun(agents, { journal });
    const branches = [{ agent: 'quick' }, { agent: 'slow' }];
    await first.call('POST', '/v1/sessions/s/branches', { input: 'Go.', branches, strategy: 'first' });
    await reached.promise;
    await expect.poll(async () => (await logOf(journal, 's.quick.1.b0')).at(-1)?.type).toBe('run_ended');
    const closed = first.close();
    held.resolve();
    await closed;
    expect((await logOf(journal, 's')).map(({ type }) => type)).not.toContain('branches_ended');

    const second = await startServer(agents[0] ?? { model: model('none') }, { agents, journal });
    await second.recovered;
    await expect.poll(async () => (await logOf(journal, 's')).at(-1)).toMatchObject({ status: 'completed' });
    expect(calls).toEqual(['quick', 'slow', 'slow']);
  });
});
