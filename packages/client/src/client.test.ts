import { asTool, defineAgent, defineTool, memoryBlobs, memoryJournal, slidingWindow, type Agent } from '@treadle/core';
import { serve, type ServeOptions } from '@treadle/server';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answerWithToken, createClient, readAsked, type Client } from './index.ts';

const KEY = 'a secret of thirty-two bytes or more';

async function connected(agent: Agent, options: Partial<ServeOptions> = {}) {
  const serving = await serve({
    agents: [agent],
    journal: memoryJournal(),
    blobs: memoryBlobs(),
    answerTokens: { key: KEY },
    ...options,
  });
  onTestFinished(async () => {
    await serving.close(0);
  });
  const client: Client = createClient({ url: serving.url, token: serving.token ?? '' });
  return { client, url: serving.url };
}

const talker = (...replies: readonly string[]) => defineAgent({ model: scriptedModel(replies) });

const place = defineTool({ name: 'place', description: 'Where the user is.', runs: 'client' });
const erase = defineTool({ name: 'erase', description: 'Erases.', approval: 'always', execute: () => 'erased' });

describe('sessions', () => {
  it('are made, named, tagged, listed, found, read and deleted', async () => {
    const { client } = await connected(talker('A heron.', 'A swan.'));
    const first = await client.createSession({ id: 'a', title: 'Birds', tags: ['old'], metadata: { colour: 'grey' } });
    const second = await client.createSession({ id: 'b' });
    await first.run('Which bird is grey?');
    await second.run('Which bird is white?');
    await second.rename('White birds');
    await first.tag(['new'], ['old']);
    const listed = await client.listSessions({ tag: 'new' });
    expect(listed.sessions).toMatchObject([{ sessionId: 'a', title: 'Birds', tags: ['new'] }]);
    const found = await client.search('heron');
    expect(found.hits).toMatchObject([{ where: 'message', session: { sessionId: 'a' } }]);
    expect((await client.search('heron', { messages: false })).hits).toEqual([]);
    expect(await first.read()).toMatchObject({ sessionId: 'a', status: 'idle' });
    await second.delete();
    await expect(second.read()).rejects.toMatchObject({ status: 404, code: 'session_not_found' });
    expect((await client.listSessions({ limit: 1 })).sessions).toHaveLength(1);
  });

  it('ask the model that a run names, and refuse one that the agent does not have', async () => {
    const routing = { models: { small: scriptedModel(['From the small one.'], { id: 'small' }) } };
    const { client } = await connected(defineAgent({ model: scriptedModel(['From the large one.']), routing }));
    const session = await client.createSession();
    expect(await session.run('Hello.', { model: 'small' })).toMatchObject({ text: 'From the small one.' });
    expect(await session.run('Hello.')).toMatchObject({ text: 'From the large one.' });
    await expect(session.run('Hello.', { model: 'tiny' })).rejects.toMatchObject({
      code: 'invalid_definition',
      message: 'The agent has no model "tiny". There are default, small.',
    });
  });

  it('are compacted, replaced and reset, and change what they may do', async () => {
    const allowed = defineTool({ name: 'erase', description: 'Erases.', approval: 'always', execute: () => 'erased' });
    const model = scriptedModel([{ toolCalls: [{ name: 'erase' }] }, 'Erased.', 'So it is.', 'Hello again.']);
    const strategy = slidingWindow({ keepFirst: 0, keepRecent: 1 });
    const agent = defineAgent({ model, tools: [allowed], context: { window: 100_000, strategy } });
    const { client } = await connected(agent);
    const session = await client.createSession();
    const rule = { type: 'addRules', rules: ['erase'], behavior: 'allow', destination: 'session' } as const;
    await session.updatePermissions([rule]);
    expect(await session.run('Erase it. '.repeat(500))).toMatchObject({ status: 'completed', text: 'Erased.' });
    await expect(session.updatePermissions([{ ...rule, destination: 'userSettings' }])).rejects.toMatchObject({
      code: 'bad_request',
    });
    await session.run('Is it gone?');
    await session.compact();
    await expect.poll(async () => (await session.events()).events.map(({ type }) => type)).toContain('compacted');
    await session.importMessages([{ role: 'user', content: 'Hello.' }]);
    await session.continue();
    expect(model.requests.at(-1)?.messages).toMatchObject([{ content: [{ text: 'Hello.' }] }]);
    await session.reset();
    await expect(session.continue()).rejects.toMatchObject({ code: 'nothing_to_continue' });
  });

  it('change what they may do only for a token that may grant rights', async () => {
    const tokens = [{ name: 'guest', token: 'the-token-of-a-guest' }];
    const serving = await serve({ agents: [talker('Hi.')], journal: memoryJournal(), tokens });
    onTestFinished(async () => {
      await serving.close(0);
    });
    const session = await createClient({ url: serving.url, token: 'the-token-of-a-guest' }).createSession();
    const update = { type: 'setMode', mode: 'acceptEdits', destination: 'session' } as const;
    await expect(session.updatePermissions([update])).rejects.toMatchObject({ code: 'forbidden' });
    expect((await session.ticket()).ticket).toContain('.');
  });

  it('show their log, history, runs, files and costs', async () => {
    const model = scriptedModel(['One.', 'Two.'], { cost: () => 0.25 });
    const { client } = await connected(defineAgent({ model }));
    const session = await client.createSession();
    await session.run('First');
    await session.run('Second');
    const { events, cursor } = await session.events({ limit: 3 });
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect((await session.events({ after: cursor ?? 0, limit: 1 })).events.map(({ seq }) => seq)).toEqual([4]);
    const { messages } = await session.history();
    expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect((await session.conversations({ limit: 1 })).conversations).toMatchObject([{ text: 'Two.' }]);
    expect(await session.files()).toEqual({ files: [] });
    expect(await session.cost()).toMatchObject({ total: { cost: 0.5, calls: 2 } });
  });

  it('are forked, done again, branched and replayed', async () => {
    const { client } = await connected(talker('Heads.', 'Tails.', 'On its edge.', 'Never mind.'));
    const session = await client.createSession();
    await session.run('Toss a coin.');
    const fork = await session.fork({ title: 'A fork', seq: 1 });
    expect((await fork.read()).seq).toBe(2);
    const again = await session.rerun({ tag: 'second' });
    expect(again).toMatchObject({ status: 'completed', text: 'Tails.' });
    const path = await session.branch({ input: 'Toss it otherwise.', instead: true });
    expect(path.text).toBe('On its edge.');
    expect((await path.session.history()).messages).toHaveLength(2);
    const report = await session.replay({ model: 'recorded' });
    expect(report).toMatchObject({ differences: [], misses: [], runs: [{ status: 'completed' }] });
    expect((await session.history()).messages).toHaveLength(2);
    await expect(session.continue()).rejects.toMatchObject({ code: 'ends_with_assistant' });
  });

  it('run branches, of which one is adopted', async () => {
    const begun = Promise.withResolvers<void>();
    const answering = (id: string, text: string) =>
      defineAgent({ id, configId: id, model: scriptedModel(() => ({ text, wait: begun.promise })) });
    const agents = [answering('main', '42'), answering('other', 'Forty-two.')];
    const { client } = await connected(talker(), { agents });
    const session = await client.createSession();
    const told = new Set<string>();
    const outcome = await session.runBranches(
      { input: 'Six times seven?', branches: [{}, { agent: 'other' }, {}], strategy: 'vote' },
      {
        onEvent(event) {
          if (event.type === 'branches_started') begun.resolve();
          if (event.type === 'branch_event') told.add(event.branch.configId);
        },
      },
    );
    expect(outcome).toMatchObject({ status: 'completed', text: '42' });
    expect([...told].toSorted()).toEqual(['main', 'other']);
    expect((await session.history()).messages).toHaveLength(2);
    await expect(session.runBranches({ input: 'Again.', branches: [{}, {}] })).rejects.toMatchObject({
      code: 'invalid_definition',
    });
  });

  it('are taken back to before a message, in a fork', async () => {
    const { client } = await connected(talker('One.', 'Two.', 'Three.', 'Another.'));
    const session = await client.createSession();
    for (const text of ['First', 'Second', 'Third']) await session.run(text);
    const before = await session.rewind({ to: 2, title: 'Once more' });
    expect((await before.history()).messages).toHaveLength(2);
    expect((await before.run('Otherwise')).text).toBe('Another.');
    expect((await (await session.rewind()).history()).messages).toHaveLength(4);
    expect((await session.history()).messages).toHaveLength(6);
    await expect(session.rewind({ to: 9 })).rejects.toMatchObject({
      code: 'nothing_to_continue',
      message: expect.stringContaining('1 to 3') as string,
    });
  });

  it('are steered and cancelled', async () => {
    const model = scriptedModel(() => ({ toolCalls: [{ name: 'place' }] }));
    const { client } = await connected(defineAgent({ model, tools: [place] }));
    const session = await client.createSession();
    expect((await session.run('Where?')).status).toBe('paused');
    await session.steer('Quick.');
    await session.followUp('And then?');
    await session.cancel('Enough.');
    await expect.poll(async () => (await session.read()).status).toBe('idle');
    const { conversations } = await session.conversations();
    expect(conversations).toMatchObject([{ status: 'aborted' }]);
  });
});

describe('what waits', () => {
  it('is answered by whoever has the session', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'place' }] }, { toolCalls: [{ name: 'erase' }] }, 'Done.']);
    const { client } = await connected(defineAgent({ model, tools: [place, erase] }));
    const session = await client.createSession();
    const { pending } = await session.run('Where?');
    await session.addToolOutputs(pending.map(({ callId }) => ({ callId, content: 'Oslo' })));
    await expect.poll(async () => (await session.read()).pending.map(({ toolName }) => toolName)).toEqual(['erase']);
    const [question] = (await session.read()).pending;
    await session.approve(question?.approvalId ?? '');
    await expect.poll(async () => (await session.conversations()).conversations).toMatchObject([{ text: 'Done.' }]);
    await expect(session.reject(question?.approvalId ?? '')).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
    });
  });

  it('is answered by whoever has its token, and nothing else', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'erase' }] }, 'Done.']);
    const { client, url } = await connected(defineAgent({ model, tools: [erase] }));
    const session = await client.createSession();
    await session.run('Erase it.');
    const [issued] = await session.answerTokens();
    const holder = { url, token: issued?.token ?? '' };
    expect(await readAsked(holder)).toMatchObject({ toolName: 'erase', callId: issued?.callId });
    await expect(createClient(holder).session(session.id).read()).rejects.toMatchObject({ status: 401 });
    await answerWithToken(holder, { decision: 'approve' });
    await expect.poll(async () => (await session.conversations()).conversations).toMatchObject([{ text: 'Done.' }]);
    await expect(answerWithToken(holder, { decision: 'reject' })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('of a run that is followed is asked here, that of several sub-agents too', async () => {
    const child = (id: string) =>
      asTool(
        defineAgent({
          id,
          model: scriptedModel([{ toolCalls: [{ name: 'place' }, { name: 'erase' }] }, `${id} is done.`]),
          tools: [place, erase],
        }),
        { description: 'An agent.' },
      );
    const calls = ['one', 'two'].map((name) => ({ name, arguments: { prompt: 'Go.' } }));
    const model = scriptedModel([{ toolCalls: calls }, 'All done.']);
    const { client } = await connected(defineAgent({ model, tools: [child('one'), child('two')] }));
    const session = await client.createSession();
    const asked: string[] = [];
    const outcome = await session.run('Go.', {
      tools: { place: () => 'Oslo' },
      approve: ({ toolName }) => {
        asked.push(toolName);
        return { decision: 'approve' };
      },
    });
    expect(outcome).toMatchObject({ status: 'completed', text: 'All done.' });
    expect(asked).toEqual(['erase', 'erase']);
  });
});

it('a run may be offered tools that run here, and that its agent doesn’t have', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'set_colour', arguments: { colour: 'red' } }] }, 'It is red.']);
  const { client } = await connected(defineAgent({ model }), { offeredTools: true });
  const session = await client.createSession();
  const colours: unknown[] = [];
  const { text } = await session.run('Make it red.', {
    clientTools: [{ name: 'set_colour', description: 'Colours the page.', inputSchema: { type: 'object' } }],
    tools: { set_colour: ({ colour }) => void colours.push(colour) },
  });
  expect([text, colours]).toEqual(['It is red.', ['red']]);
});

it('background tasks are listed, read and stopped', async () => {
  const build = defineTool({
    name: 'build',
    description: 'Builds.',
    background: true,
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('half a build'))),
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'build', arguments: { run_in_background: true } }] }, 'Begun.']);
  const { client } = await connected(defineAgent({ model, tools: [build], background: true }));
  const session = await client.createSession();
  await session.run('Build.');
  const [task] = await session.tasks.list();
  expect(task).toMatchObject({ toolName: 'build', status: 'running' });
  await session.tasks.stop(task?.taskId ?? '', 'Enough.');
  await expect
    .poll(() => session.tasks.read(task?.taskId ?? ''))
    .toMatchObject({ status: 'killed', message: 'Enough.' });
  await expect(session.tasks.read('task_none')).rejects.toMatchObject({ code: 'task_not_found' });
});

it('files are kept by what they hold', async () => {
  const { client } = await connected(talker());
  const bytes = new TextEncoder().encode('some bytes');
  const { id, size } = await client.uploadFile(bytes);
  expect(size).toBe(bytes.length);
  expect((await client.uploadFile(new Blob([bytes]))).id).toBe(id);
  expect(await client.downloadFile(id)).toEqual(bytes);
  await expect(client.downloadFile('sha256-none')).rejects.toMatchObject({ status: 404 });
});
