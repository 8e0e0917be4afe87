import { randomUUID } from 'node:crypto';
import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as OldHttpAgent } from '@ag-ui/client-old';
import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { serve } from '@treadle/server';
import { scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

const locate = defineTool({
  name: 'locate',
  description: 'Where the page is.',
  runs: 'client',
  inputSchema: { type: 'object' },
});
const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'one umbrella' });
const count = defineTool({
  name: 'count',
  description: 'Counts.',
  execute: (_, { state }) => ({ content: 'Counted.', state: { count: Number(state?.['count'] ?? 0) + 1 } }),
});

async function started(turns: readonly Turn[]) {
  const model = scriptedModel(turns);
  const agents = [defineAgent({ model, tools: [locate, buy, count] })];
  const serving = await serve({ agents, journal: memoryJournal(), offeredTools: true });
  onTestFinished(async () => {
    await serving.close(0);
  });
  return { serving, model };
}

const user = (content: string) => ({ id: randomUUID(), role: 'user' as const, content });

describe.each([
  ['@ag-ui/client', HttpAgent],
  ['@ag-ui/client-old', OldHttpAgent as unknown as typeof HttpAgent],
])('%s', (_, Agent) => {
  const clientOf = ({ serving }: Awaited<ReturnType<typeof started>>, query = '') =>
    new Agent({
      url: `${serving.url}/v1/ag-ui${query}`,
      threadId: 't1',
      headers: { authorization: `Bearer ${serving.token}` },
    });
  const lastOf = (client: InstanceType<typeof Agent>) => client.messages.at(-1);

  it('text, and a tool of the server', async () => {
    const client = clientOf(await started([{ toolCalls: [{ name: 'count' }] }, { text: 'Done.' }]));
    client.addMessage(user('Count.'));
    await client.runAgent();
    expect(lastOf(client)).toMatchObject({ role: 'assistant', content: 'Done.' });
  });

  it('client tool: the run ends, and its result goes back', async () => {
    const client = clientOf(await started([{ toolCalls: [{ name: 'locate' }] }, { text: 'You are in Oslo.' }]));
    client.addMessage(user('Where am I?'));
    await client.runAgent();
    const calls = client.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    client.addMessage({ id: randomUUID(), role: 'tool', toolCallId: calls[0]?.id ?? '', content: '59.9, 10.7' });
    await client.runAgent();
    expect(lastOf(client)).toMatchObject({ content: 'You are in Oslo.' });
  });

  it('approval: an interrupt that is resumed', async () => {
    const client = clientOf(await started([{ toolCalls: [{ name: 'buy' }] }, { text: 'It is yours.' }]));
    client.addMessage(user('An umbrella.'));
    const ids: string[] = [];
    await client.runAgent(
      {},
      {
        onRunFinishedEvent({ event }) {
          if (event.outcome?.type === 'interrupt') ids.push(...event.outcome.interrupts.map(({ id }) => id));
        },
      },
    );
    await client.runAgent({
      resume: ids.map((interruptId) => ({ interruptId, status: 'resolved', payload: { approved: true } })),
    });
    expect(lastOf(client)).toMatchObject({ content: 'It is yours.' });
  });

  it('stop then write: the run is cancelled, and the message is answered', async () => {
    const until = new Promise<void>(() => {});
    const slow: Turn = { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } };
    const place = await started([slow, { text: 'As you like.' }]);
    const client = clientOf(place, '?onClose=cancel');
    client.addMessage(user('Count.'));
    const running = client.runAgent();
    await expect.poll(() => lastOf(client)?.content).toBe('One ');
    client.abortRun();
    await running;
    client.addMessage(user('Never mind.'));
    await client.runAgent();
    expect(lastOf(client)).toMatchObject({ role: 'assistant', content: 'As you like.' });
  });

  it('abort endpoint: the client sees the end of its run', async () => {
    const until = new Promise<void>(() => {});
    const slow: Turn = { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } };
    const place = await started([slow]);
    const client = clientOf(place);
    client.addMessage(user('Count.'));
    const running = client.runAgent();
    await expect.poll(() => lastOf(client)?.content).toBe('One ');
    const headers = { authorization: `Bearer ${place.serving.token}` };
    await fetch(`${place.serving.url}/v1/ag-ui/t1/abort`, { method: 'POST', headers });
    await expect(running).resolves.toBeDefined();
  });

  it('a message while a client tool waits: the run goes on with it', async () => {
    const client = clientOf(await started([{ toolCalls: [{ name: 'locate' }] }, { text: 'As you like.' }]));
    client.addMessage(user('Where am I?'));
    await client.runAgent();
    client.addMessage(user('Forget it.'));
    await client.runAgent();
    expect(lastOf(client)).toMatchObject({ content: 'As you like.' });
  });

  it('context and shared state', async () => {
    const place = await started([{ toolCalls: [{ name: 'count' }] }, { text: 'Done.' }]);
    const client = clientOf(place);
    client.setState({ count: 6 });
    client.addMessage(user('Count.'));
    await client.runAgent({ context: [{ description: 'The cart', value: 'two umbrellas' }] });
    expect(client.state).toEqual({ count: 7 });
    expect(JSON.stringify(place.model.requests[0]?.messages)).toContain('two umbrellas');
  });

  it('rejoin: another client joins the run in the middle', async () => {
    const { promise: until, resolve } = Promise.withResolvers<void>();
    const slow: Turn = { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } };
    const place = await started([slow]);
    const [first, second] = [clientOf(place), clientOf(place)];
    first.addMessage(user('Count.'));
    const running = first.runAgent();
    await expect.poll(() => lastOf(first)?.content).toBe('One ');
    const joined = second.runAgent();
    await expect.poll(() => lastOf(second)?.content).toBe('One ');
    resolve();
    await Promise.all([running, joined]);
    expect(second.messages.map(({ content }) => content)).toEqual(['Count.', 'One two three.']);
  });
});
