import {
  asTool,
  defineAgent,
  defineTool,
  handoffTool,
  memoryJournal,
  sessionsOf,
  TreadleError,
  type Journal,
  type JsonObject,
  type Tool,
} from '@treadle/core';
import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it, vi } from 'vitest';
import type { LogRecord } from '../log.ts';
import { isRunEnd, sse, until, type Told } from '../test-support/events.ts';
import { startServer, type TestServer } from '../test-support/server.ts';

const counting = () => scriptedModel(({ messages }) => `Reply to ${messages.length}.`);

async function talked(server: TestServer, id: string, ...prompts: readonly string[]): Promise<string> {
  await server.json('POST', '/v1/sessions', { id });
  for (const input of prompts) {
    const run = await server.call('POST', `/v1/sessions/${id}/runs`, { input }, { accept: 'text/event-stream' });
    await until(sse(run), ({ type }) => type === 'run_ended' || type === 'run_paused');
  }
  return `/v1/sessions/${id}`;
}

const eventsOf = async (server: TestServer, at: string): Promise<readonly Told[]> =>
  (await server.json<{ events: Told[] }>('GET', `${at}/events`)).events;

const problemOf = async (response: Response): Promise<unknown> => {
  const { status, code } = (await response.json()) as { status: number; code: string };
  return { status, code };
};

interface Page {
  readonly sessions: readonly { readonly sessionId: string; readonly title?: string; readonly tags?: string[] }[];
}

describe('a session', () => {
  it('is named and tagged, when it is made or later, and listed by its tag', async () => {
    const server = await startServer({ model: counting() });
    await server.json('POST', '/v1/sessions', { id: 'a', title: 'First', tags: ['old'] });
    await server.json('POST', '/v1/sessions', { id: 'b' });
    expect((await server.call('POST', '/v1/sessions/b/title', { title: 'Second' })).status).toBe(202);
    expect((await server.call('POST', '/v1/sessions/a/tags', { add: ['new'], remove: ['old'] })).status).toBe(202);
    expect(await server.json<Page>('GET', '/v1/sessions?tag=new')).toMatchObject({
      sessions: [{ sessionId: 'a', title: 'First', tags: ['new'] }],
    });
    expect(await server.json<Page>('GET', '/v1/sessions?tag=old')).toEqual({ sessions: [] });
    expect(
      (await server.json<Page>('GET', '/v1/sessions')).sessions.find(({ sessionId }) => sessionId === 'b'),
    ).toMatchObject({ title: 'Second' });
    const wrong = await server.call('POST', '/v1/sessions/a/title', { title: 'two\nlines' });
    expect(await problemOf(wrong)).toEqual({ status: 400, code: 'invalid_definition' });
  });

  it.each(['../a', 'a b', '-a', 'a'.repeat(129)])('is not made or forked under the id %j', async (id) => {
    const server = await startServer({ model: counting() });
    const refused = { status: 400, code: 'bad_request' };
    expect(await problemOf(await server.call('POST', '/v1/sessions', { id }))).toEqual(refused);
    await server.json('POST', '/v1/sessions', { id: 'a' });
    expect(await problemOf(await server.call('POST', '/v1/sessions/a/fork', { id }))).toEqual(refused);
  });

  it('is named once under one key, and not as something else', async () => {
    const server = await startServer({ model: counting() });
    await server.json('POST', '/v1/sessions', { id: 'a' });
    const rename = (title: string) =>
      server.call('POST', '/v1/sessions/a/title', { title }, { 'idempotency-key': 'k' });
    const first = (await (await rename('One')).json()) as JsonObject;
    expect(await (await rename('One')).json()).toEqual({ ...first, duplicate: true });
    expect(await problemOf(await rename('Two'))).toEqual({ status: 422, code: 'idempotency_mismatch' });
  });

  it('is not made under a key that made another one', async () => {
    const server = await startServer({ model: counting() });
    const create = (body: object) => server.call('POST', '/v1/sessions', body, { 'idempotency-key': 'k' });
    expect((await create({ title: 'One' })).status).toBe(201);
    expect((await create({ title: 'One' })).status).toBe(200);
    expect(await problemOf(await create({ title: 'Two' }))).toEqual({ status: 422, code: 'idempotency_mismatch' });
  });
});

describe('a search', () => {
  interface Hits {
    readonly hits: readonly { readonly where: string; readonly excerpt: string; session: { sessionId: string } }[];
    readonly cursor?: string;
  }

  it('finds titles, prompts and messages, a page at a time', async () => {
    const server = await startServer({ model: scriptedModel(['A heron.', 'A goose.', 'A swan.']) });
    await talked(server, 'a', 'Which bird is grey?');
    await talked(server, 'b', 'Which one is white and brown?');
    await talked(server, 'c', 'Which bird has a long neck?');
    await server.json('POST', '/v1/sessions/b/title', { title: 'A bird' });
    const search = (query: string) => server.json<Hits>('GET', `/v1/search?${query}`);
    const found = ({ hits }: Hits) => hits.map(({ where, session }) => `${session.sessionId} ${where}`);
    expect(found(await search('query=bird'))).toEqual(['b title', 'c prompt', 'a prompt']);
    expect(found(await search('query=heron'))).toEqual(['a message']);
    expect(found(await search('query=heron&messages=false'))).toEqual([]);
    const first = await search('query=bird&limit=2');
    const second = await search(`query=bird&limit=2&cursor=${first.cursor}`);
    expect([...found(first), ...found(second)]).toEqual(['b title', 'c prompt', 'a prompt']);
    expect((await server.call('GET', '/v1/search?query=')).status).toBe(400);
  });

  it('finds nothing that its token may not see', async () => {
    const journal = memoryJournal();
    const all = await startServer({ model: counting() }, { journal });
    await talked(all, 'ann-1', 'A secret bird.');
    await talked(all, 'bob-1', 'A secret fish.');
    const tokens = [{ name: 'ann', token: 'token-of-ann-0123456789', sessions: ['ann-*'] }];
    const server = await startServer({ model: counting() }, { journal, tokens });
    const bearer = { authorization: 'Bearer token-of-ann-0123456789' };
    const response = await server.call('GET', '/v1/search?query=secret', undefined, bearer);
    const { hits } = (await response.json()) as Hits;
    expect(hits.map(({ session }) => session.sessionId)).toEqual(['ann-1']);
  });
});

describe('a fork', () => {
  it('has its parent’s metadata, and a title and tags of its own', async () => {
    const server = await startServer({ model: counting() });
    await server.json('POST', '/v1/sessions', { id: 'a', title: 'A', metadata: { colour: 'blue' } });
    const fork = { id: 'b', title: 'B', tags: ['fork'] };
    expect((await server.call('POST', '/v1/sessions/a/fork', fork)).status).toBe(201);
    const [created] = (await eventsOf(server, '/v1/sessions/b')).slice(-1);
    expect(created).toMatchObject({
      type: 'session_created',
      metadata: { colour: 'blue' },
      title: 'B',
      tags: ['fork'],
    });
  });

  it('of a run that waits closes that run, and takes a prompt at once; the parent goes on waiting', async () => {
    const place = defineTool({ name: 'place', description: 'Where.', runs: 'client' });
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'user' && messages.length > 1 ? 'Hello.' : { toolCalls: [{ name: 'place' }] },
    );
    const server = await startServer({ model, tools: [place] });
    const at = await talked(server, 'a', 'Where?');
    await server.json('POST', `${at}/fork`, { id: 'b' });
    await expect.poll(async () => server.json('GET', '/v1/sessions/b')).toMatchObject({ status: 'idle', pending: [] });
    await server.json('POST', `${at}/fork`, { id: 'c' });
    const body = { input: 'Never mind.' };
    const run = await server.call('POST', '/v1/sessions/c/runs', body, { accept: 'text/event-stream' });
    const seen = await until(sse(run), (event) => event.type === 'run_ended' && event.status !== 'aborted');
    expect(seen.at(-1)?.event).toMatchObject({ status: 'completed' });
    expect(await server.json('GET', at)).toMatchObject({ status: 'paused' });
  });

  it('is made once under one key, and not of something else', async () => {
    const server = await startServer({ model: counting() });
    const at = await talked(server, 'a', 'Hi.');
    const fork = (body: object) => server.call('POST', `${at}/fork`, body, { 'idempotency-key': 'k' });
    const first = await fork({ seq: 2 });
    const again = await fork({ seq: 2 });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(await again.json()).toEqual(await first.json());
    expect(await problemOf(await fork({ seq: 3 }))).toEqual({ status: 422, code: 'idempotency_mismatch' });
  });
});

describe('a run', () => {
  const lastText = (events: readonly Told[]): unknown =>
    events
      .flatMap((event) => (event.type === 'message_added' && event.message.role === 'assistant' ? [event.message] : []))
      .at(-1)?.content;

  it('is done again in a fork from before it', async () => {
    const server = await startServer({ model: scriptedModel(['Heads.', 'So be it.', 'Tails.']) });
    const at = await talked(server, 'a', 'Toss a coin.', 'Good.');
    const { events } = await server.json<{ events: Told[] }>('GET', `${at}/events`);
    const [run] = events.flatMap((event) => (event.type === 'run_started' ? [event.runId] : []));
    const response = await server.call(
      'POST',
      `${at}/rerun`,
      { runId: run, tag: 'again' },
      { accept: 'text/event-stream' },
    );
    const seen = (await until(sse(response), isRunEnd)).map(({ event }) => event);
    expect(lastText(seen)).toEqual([{ type: 'text', text: 'Tails.' }]);
    const started = seen.find((event) => event.type === 'run_started');
    expect(started).toMatchObject({ continuation: { kind: 'rerun', tag: 'again' } });
    expect(await eventsOf(server, at)).toHaveLength(events.length);
  });

  it('is done again once under one key', async () => {
    const server = await startServer({ model: counting() });
    const at = await talked(server, 'a', 'Hi.');
    const rerun = (body: object = {}) => server.call('POST', `${at}/rerun`, body, { 'idempotency-key': 'k' });
    const first = (await (await rerun()).json()) as JsonObject;
    expect(first['runId']).toEqual(expect.stringMatching(/\.\d+$/));
    expect(await (await rerun()).json()).toEqual({ ...first, duplicate: true });
    expect((await server.json<Page>('GET', '/v1/sessions')).sessions).toHaveLength(2);
    expect(await problemOf(await rerun({ metadata: { other: true } }))).toEqual({
      status: 422,
      code: 'idempotency_mismatch',
    });
  });

  it('takes another path instead of one that was taken, or from an event', async () => {
    const server = await startServer({ model: scriptedModel(['North it is.', 'South it is.', 'West it is.']) });
    const at = await talked(server, 'a', 'Go north.');
    const branch = async (body: object) => {
      const response = await server.call('POST', `${at}/branch`, body, { accept: 'text/event-stream' });
      return lastText((await until(sse(response), isRunEnd)).map(({ event }) => event));
    };
    expect(await branch({ input: 'Go south.', instead: true })).toEqual([{ type: 'text', text: 'South it is.' }]);
    expect(await branch({ input: 'Go west.', seq: 1, id: 'west' })).toEqual([{ type: 'text', text: 'West it is.' }]);
    const prompts = (await eventsOf(server, '/v1/sessions/west')).filter(
      (event) => event.type === 'message_added' && event.message.role === 'user',
    );
    expect(prompts).toHaveLength(1);
    expect(await problemOf(await server.call('POST', `${at}/branch`, {}))).toEqual({
      status: 409,
      code: 'ends_with_assistant',
    });
    expect(await problemOf(await server.call('POST', `${at}/branch`, { seq: 2, instead: true, input: 'x' }))).toEqual({
      status: 400,
      code: 'invalid_definition',
    });
  });

  it('is replayed with what its tools gave, by an agent that has changed since', async () => {
    const executed: string[] = [];
    const weather = defineTool({
      name: 'weather',
      description: 'The weather.',
      execute: () => {
        executed.push('weather');
        return 'rain';
      },
    });
    const journal = memoryJournal();
    const call = { toolCalls: [{ name: 'weather' }] };
    const before = await startServer({ model: scriptedModel([call, 'It rains.']), tools: [weather] }, { journal });
    const at = await talked(before, 'a', 'The weather?');
    const after = await startServer(
      { model: scriptedModel([call, 'Wet.', call, 'Wet.']), tools: [weather] },
      { journal },
    );
    const replay = (key: string) => after.call('POST', `${at}/replay`, {}, { 'idempotency-key': key });
    const [report, again] = await Promise.all([replay('k'), replay('k')]);
    const told = (await report.json()) as JsonObject;
    expect(told).toMatchObject({
      sessionId: null,
      differences: [{ turn: 1, what: 'text', recorded: 'It rains.', replayed: 'Wet.' }],
      misses: [],
    });
    // The same request waits for the same replay.
    expect(await again.json()).toEqual(told);
    expect(executed).toEqual(['weather']);
    expect((await after.json<Page>('GET', '/v1/sessions')).sessions).toHaveLength(1);
  });
});

it('a replay that was cut off with its process is not gone on with: its tools would run for real', async () => {
  const journal = memoryJournal();
  const first = await startServer({ model: counting() }, { journal });
  await talked(first, 'a', 'Hi.');
  await sessionsOf(journal).fork('a', { at: 1, id: 'cut-off', tags: ['replay'] });
  await sessionsOf(journal).fork('a', { at: 1, id: 'mine', tags: ['replay'] });
  const prompt = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hi.' }] }] } as const;
  const continuation = { kind: 'rerun', tag: 'replay of a.scripted.scripted.1' } as const;
  await journal.post('cut-off', { ...prompt, continuation }, 'k', 0);
  await journal.post('mine', prompt, 'k', 0);
  const second = await startServer({ model: counting() }, { journal });
  expect(await second.recovered).toEqual(['mine']);
});

it('a session that is damaged keeps no other from going on at the start', async () => {
  const journal = memoryJournal();
  const first = await startServer({ model: counting() }, { journal });
  for (const id of ['a', 'b', 'c']) await talked(first, id, 'Hi.');
  const prompt = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hi.' }] }] } as const;
  for (const id of ['a', 'b', 'c']) await journal.post(id, prompt, 'k', 0);
  const damaged: Journal = {
    ...journal,
    read: (sessionId, from) => {
      if (sessionId !== 'c') throw new TreadleError('journal_corrupt', 'It is damaged.');
      return journal.read(sessionId, from);
    },
  };
  const failed: unknown[] = [];
  const log = ({ event, ['sessionId']: id }: LogRecord): void => void (event === 'drive_failed' && failed.push(id));
  await startServer({ model: counting() }, { journal: damaged, log });
  await vi.waitFor(async () => expect((await logOf(journal, 'c')).at(-1)?.type).toBe('run_ended'), { timeout: 15_000 });
  expect(new Set(failed)).toEqual(new Set(['a', 'b']));
});

describe('background tasks', () => {
  function building(): { readonly tool: Tool; readonly finish: (text: string) => void } {
    const done = Promise.withResolvers<string>();
    const tool = defineTool({
      name: 'build',
      description: 'Builds.',
      background: true,
      execute: (_, { signal }) => {
        signal.addEventListener('abort', () => done.resolve('half a build'));
        return done.promise;
      },
    });
    return { tool, finish: done.resolve };
  }

  const agentWith = (tool: Tool) =>
    defineAgent({
      model: scriptedModel([
        { toolCalls: [{ name: 'build', arguments: { run_in_background: true } }] },
        'Begun.',
        'Yes.',
      ]),
      tools: [tool],
      background: true,
    });

  interface Tasks {
    readonly tasks: readonly { readonly taskId: string; readonly status: string; readonly message: string | null }[];
  }

  it('are listed, and read with what they came to', async () => {
    const { tool, finish } = building();
    const server = await startServer(agentWith(tool));
    const at = await talked(server, 'a', 'Build.');
    const { tasks } = await server.json<Tasks>('GET', `${at}/tasks`);
    expect(tasks).toMatchObject([{ toolName: 'build', status: 'running' }]);
    finish('built');
    const path = `${at}/tasks/${tasks[0]?.taskId}`;
    await expect
      .poll(async () => server.json('GET', path))
      .toMatchObject({ status: 'completed', content: [{ type: 'text', text: 'built' }] });
    expect(await problemOf(await server.call('GET', `${at}/tasks/task_none`))).toEqual({
      status: 404,
      code: 'task_not_found',
    });
  });

  it('are ended one at a time, once, also while no run is open', async () => {
    const { tool } = building();
    const server = await startServer(agentWith(tool));
    const at = await talked(server, 'a', 'Build.');
    const { tasks } = await server.json<Tasks>('GET', `${at}/tasks`);
    const stop = () => server.call('POST', `${at}/tasks/${tasks[0]?.taskId}/stop`, { reason: 'Too long.' });
    expect((await stop()).status).toBe(202);
    await expect
      .poll(async () => server.json<Tasks>('GET', `${at}/tasks`))
      .toMatchObject({ tasks: [{ status: 'killed', message: 'Too long.' }] });
    const { seq } = await server.json<{ seq: number }>('GET', at);
    expect((await stop()).status).toBe(202);
    expect(await server.json('GET', at)).toMatchObject({ seq, status: 'idle' });
  });

  it('are ended by a cancellation, also while no run is open', async () => {
    const { tool } = building();
    const server = await startServer(agentWith(tool));
    const at = await talked(server, 'a', 'Build.');
    expect((await server.call('POST', `${at}/cancel`, { reason: 'All of it.' })).status).toBe(202);
    await expect
      .poll(async () => server.json<Tasks>('GET', `${at}/tasks`))
      .toMatchObject({ tasks: [{ status: 'killed', message: 'All of it.' }] });
  });
});

it('an agent of the server may hand a session over to another one of it', async () => {
  const second = defineAgent({ id: 'second', model: scriptedModel(['The second speaks.']) });
  const first = defineAgent({
    id: 'first',
    model: scriptedModel([{ toolCalls: [{ name: 'hand_off_to_second' }] }]),
    tools: [handoffTool(second.id, { description: 'For the rest.' })],
  });
  const server = await startServer(first, { agents: [first, second] });
  const at = await talked(server, 'a', 'Hi.', 'And now?');
  expect(JSON.stringify(await eventsOf(server, at))).toContain('The second speaks.');
});

// A sub-agent's own session can be read by whoever may see it.
it('shows sub-agents’ sessions under their own ids', async () => {
  const child = defineAgent({ id: 'child', model: scriptedModel(['Below.']) });
  const model = scriptedModel([{ toolCalls: [{ name: 'child', arguments: { prompt: 'Go.' } }] }, 'Above.']);
  const server = await startServer({ model, tools: [asTool(child, { description: 'An agent.' })] });
  const at = await talked(server, 'a', 'Hi.');
  const [started] = (await eventsOf(server, at)).filter((event) => event.type === 'tool_started');
  const id = started?.type === 'tool_started' ? started.childSessionId : '';
  expect(JSON.stringify(await eventsOf(server, `/v1/sessions/${id}`))).toContain('Below.');
});
