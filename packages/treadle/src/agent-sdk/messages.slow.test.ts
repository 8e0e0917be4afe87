// @module-tag slow

import { describe, expect, it } from 'vitest';

import type { Json } from '../test-support/agent-sdk/client.ts';
import { ownServer } from '../test-support/agent-sdk/own-server.ts';
import { last, prompts, recorded, until, world } from '../test-support/agent-sdk/world.ts';

describe('a question of an MCP server', () => {
  it.each([
    ['accepts', { action: 'accept', content: { fruit: 'plum' } }, 'elicitation'],
    ['declines', { action: 'decline' }, 'elicitation-declined'],
  ] as const)('is put to the client, which %s', async (_, said, golden) => {
    await using w = await world([{ toolCalls: [{ name: 'mcp__shop__order' }] }, 'Ordered.']);
    const record = recorded(w);
    const asking = prompts();
    const asked: Json[] = [];
    const requestedSchema = { type: 'object', properties: { fruit: { type: 'string' } }, required: ['fruit'] };
    const answered = Promise.withResolvers<Json>();
    const shop = ownServer(
      'shop',
      'order',
      async () => {
        const params = { message: 'Which fruit?', requestedSchema };
        const message = { jsonrpc: '2.0', id: 'ask-1', method: 'elicitation/create', params };
        await running.request('mcp_message', { server_name: 'shop', message });
        return JSON.stringify(await answered.promise);
      },
      (reply) => answered.resolve(reply['result'] as Json),
    );
    const running = w.drive(
      asking,
      {
        mcpServers: { shop },
        allowedTools: ['mcp__shop'],
        onElicitation: async (request) => {
          asked.push(request);
          return said;
        },
      },
      record.testing,
    );
    asking.say('Order.');
    const messages = await until(running[Symbol.asyncIterator](), 'result');
    expect(last(messages)).toMatchObject({ subtype: 'success', result: 'Ordered.' });
    expect(asked).toMatchObject([
      { mcp_server_name: 'shop', message: 'Which fruit?', mode: 'form', requested_schema: requestedSchema },
    ]);
    asking.end();
    expect((await running.ended).code).toBe(0);
    await record.matches(golden);
  });
});

describe('a task', () => {
  it('is stopped by the client, and its end is told', async () => {
    const call = { name: 'bash', arguments: { command: 'sleep 60', run_in_background: true } };
    await using w = await world([{ toolCalls: [call] }, 'It is running.']);
    const record = recorded(w);
    const asking = prompts();
    const running = w.drive(asking, { allowedTools: ['Bash'] }, record.testing);
    const messages = running[Symbol.asyncIterator]();
    asking.say('Start it.');
    const first = await until(messages, 'result');
    const task = String(first.find(({ subtype }) => subtype === 'task_started')?.['task_id']);
    expect(await running.request('stop_task', { task_id: task })).toEqual({});
    let told: Json = {};
    while (told['subtype'] !== 'task_notification') told = last(await until(messages, 'system'));
    expect(told).toMatchObject({ task_id: task, status: 'stopped' });
    asking.end();
    await running.ended;
    await record.matches('task');
  });
});

describe('a call that takes its time', () => {
  it('is told of while it runs', async () => {
    const call = { name: 'mcp__shop__wait' };
    await using w = await world([{ toolCalls: [call] }, 'Done.']);
    const record = recorded(w);
    const asking = prompts();
    const waited = Promise.withResolvers<string>();
    const shop = ownServer('shop', 'wait', () => waited.promise);
    const running = w.drive(asking, { mcpServers: { shop }, allowedTools: ['mcp__shop'] }, record.testing);
    const messages = running[Symbol.asyncIterator]();
    asking.say('Wait.');
    expect(last(await until(messages, 'tool_progress'))).toMatchObject({
      tool_name: 'mcp__shop__wait',
      parent_tool_use_id: null,
    });
    waited.resolve('done');
    await until(messages, 'result');
    asking.end();
    await running.ended;
    await record.matches('tool-progress');
  });
});
