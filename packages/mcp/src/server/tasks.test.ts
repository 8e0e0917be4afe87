import { defineAgent, defineTool, memoryJournal, type Agent, type Journal, type JsonObject } from '@treadle/core';
import { scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { mcpServer, type McpAgentServer } from './agent-server.ts';

const TASKS = { 'io.modelcontextprotocol/tasks': {} };
const FOLLOWS = { elicitation: {}, extensions: TASKS };

/** Sends a request of the newer protocol, as any client of it does. */
async function ask(
  server: McpAgentServer,
  method: string,
  params: JsonObject,
  capabilities: JsonObject = FOLLOWS,
): Promise<{ readonly result: JsonObject; readonly error?: { readonly code: number; readonly data?: unknown } }> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const name = params['taskId'] ?? params['name'];
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
  const response = await server.fetch(new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body }));
  const text = await response.text();
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
  return JSON.parse(data) as Awaited<ReturnType<typeof ask>>;
}

const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'paid' });
const PAY: Turn = { toolCalls: [{ name: 'pay' }] };
const clerk = (...turns: readonly (Turn | string)[]): Agent =>
  defineAgent({ id: 'clerk', model: scriptedModel(turns), tools: [pay] });

const serverOf = (agent: Agent, journal: Journal = memoryJournal()): McpAgentServer => mcpServer(agent, { journal });

const begin = async (server: McpAgentServer): Promise<string> => {
  const { result } = await ask(server, 'tools/call', { name: 'run', arguments: { prompt: 'Go.' } });
  expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null });
  return result['taskId'] as string;
};

const stateOf = async (server: McpAgentServer, taskId: string): Promise<JsonObject> =>
  (await ask(server, 'tasks/get', { taskId })).result;

describe('a run for a client that follows tasks', () => {
  it('is a task that ends with the answer of the run', async () => {
    await using server = serverOf(clerk('Hello.'));
    const taskId = await begin(server);
    await expect
      .poll(() => stateOf(server, taskId))
      .toMatchObject({
        taskId,
        status: 'completed',
        result: { content: [{ type: 'text', text: 'Hello.' }], structuredContent: { status: 'completed' } },
      });
    expect((await ask(server, 'tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    expect(await stateOf(server, taskId)).toMatchObject({ status: 'completed' });
  });

  it('asks by its task, and takes the answer in another process', async () => {
    const journal = memoryJournal();
    const first = serverOf(clerk(PAY), journal);
    const taskId = await begin(first);
    await expect.poll(() => stateOf(first, taskId)).toMatchObject({ status: 'input_required' });
    await first.close();
    await using second = serverOf(clerk('It is paid.'), journal);
    const { inputRequests } = await stateOf(second, taskId);
    const [id = ''] = Object.keys(inputRequests as JsonObject);
    const request = (inputRequests as JsonObject)[id];
    expect(request).toMatchObject({
      method: 'elicitation/create',
      params: { requestedSchema: { required: ['approve'] } },
    });
    const inputResponses = { [id]: { action: 'accept', content: { approve: true } } };
    await ask(second, 'tasks/update', { taskId, inputResponses });
    await expect
      .poll(() => stateOf(second, taskId))
      .toMatchObject({
        status: 'completed',
        result: { content: [{ text: 'It is paid.' }] },
      });
  });

  it('goes on in another process, when its own was cut off', async () => {
    const journal = memoryJournal();
    const stuck = defineTool({
      name: 'pay',
      description: 'Pays.',
      replay: 'safe',
      execute: () => new Promise(() => {}),
    });
    let letGo = async (): Promise<void> => {};
    const claim: Journal['claim'] = async (...args) => {
      const claimed = await journal.claim(...args);
      letGo = () => claimed.release();
      return claimed;
    };
    const agentOfDead = defineAgent({ id: 'clerk', model: scriptedModel([PAY]), tools: [stuck] });
    const dead = serverOf(agentOfDead, { ...journal, claim });
    const taskId = await begin(dead);
    // As when a process is gone: nobody holds the session, and nothing was said.
    await letGo();
    const done = defineTool({ name: 'pay', description: 'Pays.', replay: 'safe', execute: () => 'paid' });
    const agent = defineAgent({ id: 'clerk', model: scriptedModel(['It is paid.']), tools: [done] });
    await using next = serverOf(agent, journal);
    await expect.poll(() => stateOf(next, taskId)).toMatchObject({ status: 'completed' });
  });

  it('is cancelled', async () => {
    await using server = serverOf(clerk(PAY));
    const taskId = await begin(server);
    await expect.poll(() => stateOf(server, taskId)).toMatchObject({ status: 'input_required' });
    expect((await ask(server, 'tasks/cancel', { taskId })).result).not.toHaveProperty('status');
    await expect.poll(() => stateOf(server, taskId)).toMatchObject({ status: 'cancelled' });
  });

  it('that fails is a completed task with an error', async () => {
    await using server = serverOf(defineAgent({ id: 'clerk', model: scriptedModel([]) }));
    const taskId = await begin(server);
    await expect.poll(() => stateOf(server, taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
  });
});

describe('a task', () => {
  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('is not found by %s with an id of nobody', async (method) => {
    await using server = serverOf(clerk('Hello.'));
    const taskId = await begin(server);
    for (const other of ['x', 'session#1', taskId.replace(/\d+$/, '1'), taskId.replace('#', '#9')]) {
      expect(await ask(server, method, { taskId: other, inputResponses: {} })).toMatchObject({
        error: { code: -32602 },
      });
    }
    await using stranger = mcpServer(defineAgent({ id: 'other', model: scriptedModel([]) }));
    expect(await ask(stranger, method, { taskId, inputResponses: {} })).toMatchObject({ error: { code: -32602 } });
  });

  it('is nothing for a client that follows none: its runs answer when they are done', async () => {
    await using server = serverOf(clerk('Hello.', 'Hello again.'));
    const call = { name: 'run', arguments: { prompt: 'Go.' } };
    for (const capabilities of [{ elicitation: {} }, { extensions: TASKS }]) {
      const { result } = await ask(server, 'tools/call', call, capabilities);
      expect(result).toMatchObject({ resultType: 'complete', structuredContent: { status: 'completed' } });
    }
    const { error } = await ask(server, 'tasks/get', { taskId: 'x' }, { elicitation: {} });
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: TASKS } } });
  });
});
