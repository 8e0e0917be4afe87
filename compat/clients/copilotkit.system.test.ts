import { randomUUID } from 'node:crypto';
import { HttpAgent } from '@ag-ui/client-old';
import { CopilotRuntime, createCopilotRuntimeHandler } from '@copilotkit/runtime/v2';
import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { serve } from '@treadle/server';
import { scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

process.env['COPILOTKIT_TELEMETRY_DISABLED'] = 'true';

const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'one umbrella' });

/** CopilotKit's runtime in front of a server of agents, and the client that its pages use. */
async function started(turns: readonly Turn[], query = '') {
  const model = scriptedModel(turns);
  const serving = await serve({
    agents: [defineAgent({ model, tools: [buy] })],
    journal: memoryJournal(),
    offeredTools: true,
  });
  onTestFinished(async () => {
    await serving.close(0);
  });
  const headers = { authorization: `Bearer ${serving.token}` };
  const agent = new HttpAgent({ url: `${serving.url}/v1/ag-ui${query}`, headers });
  const handler = createCopilotRuntimeHandler({
    runtime: new CopilotRuntime({ agents: { default: agent } as never }),
    basePath: '/api/copilotkit',
  });
  const page = new HttpAgent({
    url: 'http://localhost/api/copilotkit/agent/default/run',
    threadId: 't1',
    fetch: (url: string, init: RequestInit) => Promise.resolve(handler(new Request(url, init))),
  } as never);
  return { page, model, handler };
}

const user = (content: string) => ({ id: randomUUID(), role: 'user' as const, content });

const colour = {
  name: 'set_colour',
  description: 'Colours the page.',
  parameters: { type: 'object', properties: { colour: { type: 'string' } } },
};

describe('@copilotkit/runtime', () => {
  it('text', async () => {
    const { page } = await started([{ text: 'Good day.' }]);
    page.addMessage(user('Hello.'));
    await page.runAgent();
    expect(page.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Good day.' });
  });

  it('frontend tool: it runs in the page, and its result goes back', async () => {
    const { page } = await started([
      { toolCalls: [{ name: 'set_colour', arguments: { colour: 'red' } }] },
      { text: 'It is red.' },
    ]);
    page.addMessage(user('Make it red.'));
    await page.runAgent({ tools: [colour] });
    const calls = page.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    expect(calls.map((call) => call.function.name)).toEqual(['set_colour']);
    page.addMessage({ id: randomUUID(), role: 'tool', toolCallId: calls[0]?.id ?? '', content: 'done' });
    await page.runAgent({ tools: [colour] });
    expect(page.messages.at(-1)).toMatchObject({ content: 'It is red.' });
  });

  it('approval: an interrupt that is resumed', async () => {
    const { page } = await started([{ toolCalls: [{ name: 'buy' }] }, { text: 'It is yours.' }]);
    page.addMessage(user('An umbrella.'));
    const ids: string[] = [];
    await page.runAgent(
      {},
      {
        onRunFinishedEvent({ event }) {
          if (event.outcome?.type === 'interrupt') ids.push(...event.outcome.interrupts.map(({ id }) => id));
        },
      },
    );
    const resume = ids.map((interruptId) => ({
      interruptId,
      status: 'resolved' as const,
      payload: { approved: true },
    }));
    await page.runAgent({ resume } as never);
    expect(page.messages.at(-1)).toMatchObject({ content: 'It is yours.' });
  });

  it('context: it reaches the model', async () => {
    const { page, model } = await started([{ text: 'Two.' }]);
    page.addMessage(user('How many?'));
    await page.runAgent({ context: [{ description: 'The cart', value: 'two umbrellas' }] });
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('two umbrellas');
  });

  it('stop then write: the runtime ends the run, and the message is answered', async () => {
    const until = new Promise<void>(() => {});
    const slow: Turn = { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } };
    const { page, handler } = await started([slow, { text: 'As you like.' }], '?onClose=cancel');
    page.addMessage(user('Count.'));
    const running = page.runAgent();
    await expect.poll(() => page.messages.at(-1)?.content).toBe('One ');
    await handler(new Request('http://localhost/api/copilotkit/agent/default/stop/t1', { method: 'POST' }));
    await running;
    page.addMessage(user('Never mind.'));
    await page.runAgent();
    expect(page.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'As you like.' });
  });
});
