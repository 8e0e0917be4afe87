import { defineAgent, defineHook, defineTool, memoryBlobs, memoryJournal } from '@treadle/core';
import type { Hook } from '@treadle/core';

import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { mcpServers } from '../client/servers.ts';
import { callOnce, play } from '../test-support/play.ts';
import { AgentRuns } from './agent-runs.ts';
import { mcpServer } from './agent-server.ts';
import type { McpServerOptions } from './agent-server.ts';
import { serveMcp, type ServingMcp } from './http.ts';

const ran: string[] = [];
const tool = (name: string, more: object = {}) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
    execute({ what }) {
      ran.push(`${name} ${what}`);
      return `${name}: ${what}`;
    },
    ...more,
  });

const clerk = (hooks: readonly Hook[] = []) =>
  defineAgent({
    id: 'clerk',
    model: scriptedModel(['Hello.']),
    tools: [
      tool('look', { readOnly: true }),
      tool('pay', { approval: 'always' }),
      tool('erase'),
      tool('guarded', { readOnly: true }),
      defineTool({ name: 'page', description: 'Of the client.', runs: 'client' }),
    ],
    permissions: { settings: [{ source: 'agent', deny: ['erase'] }] },
    hooks: [
      defineHook('before_tool', () => ({ decision: 'deny', reason: 'Not today.' }), { matcher: 'guarded' }),
      ...hooks,
    ],
  });

async function served(options: McpServerOptions, agent = clerk()) {
  const serving = await serveMcp(mcpServer(agent, options));
  const headers = { authorization: `Bearer ${serving.token}` };
  const servers = await mcpServers({ it: { type: 'http', url: serving.url, headers } });
  return {
    serving,
    servers,
    tools: servers.tools,
    [Symbol.asyncDispose]: async () => {
      await servers.close();
      await serving.close();
    },
  };
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};

/** Calls a tool without a client's library. */
const post = (
  { url, token }: ServingMcp,
  params: { readonly name: string; readonly [more: string]: unknown },
  init: RequestInit = {},
): Promise<Response> =>
  fetch(url, {
    ...init,
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: META } }),
  });

describe('the tools of an agent, offered to clients', () => {
  it('are called by clients, with the permissions and hooks of the agent', async () => {
    const journal = memoryJournal();
    await using world = await served({ tools: true, journal, blobs: memoryBlobs() });
    const own = world.tools
      .map(({ name }) => name.replace('mcp__it__', ''))
      .filter((name) => !name.includes('resource'));
    // What is denied whatever its arguments, and what runs on a client of the agent, is not offered.
    expect(own).toEqual(['run', 'status', 'cancel', 'look', 'pay', 'guarded']);
    expect(await callOnce(world.tools, 'mcp__it__look', { what: 'here' })).toMatchObject({
      text: 'look: here',
      isError: false,
    });
    expect(await callOnce(world.tools, 'mcp__it__guarded', { what: 'x' })).toMatchObject({
      text: expect.stringContaining('Not today.') as string,
      isError: true,
    });
    expect(ran).toEqual(['look here']);
    // The calls are in the journal, and not among the sessions of the agent.
    expect((await journal.list({ agentId: 'clerk' })).sessions).toEqual([]);
    expect((await journal.list({ agentId: 'clerk.tools' })).sessions.length).toBeGreaterThan(1);
  });

  it("ask the client's user for an approval", async () => {
    await using world = await served({ tools: ['pay'] });
    const { session, results } = await play(world.tools, [['mcp__it__pay', { what: 'five' }]]);
    expect(session.pending[0]?.arguments['message']).toContain('May pay run?');
    await session.approve(session.pending[0]?.approvalId ?? '', { updatedInput: { approve: true } }).result;
    expect(results).toMatchObject([{ text: 'pay: five', isError: false }]);
  });

  it('refuse a state that the client has changed', async () => {
    await using world = await served({ tools: true });
    const ask = async (more: object): Promise<{ readonly error?: { readonly code: number } }> => {
      const response = await post(world.serving, { name: 'pay', arguments: {}, ...more });
      const text = await response.text();
      return JSON.parse(text.slice(text.indexOf('{'))) as object;
    };
    ran.length = 0;
    for (const requestState of ['{}', '{"session":"other","question":"q"}', 'x']) {
      const answer = { action: 'accept', content: { approve: true } };
      expect(await ask({ requestState, inputResponses: { answer } })).toMatchObject({ error: { code: -32602 } });
    }
    expect(ran).toEqual([]);
  });

  it('are called once, whatever hooks add before and after the call', async () => {
    const hooked = clerk([
      defineHook('before_run', () => ({ context: 'It is Monday.' })),
      defineHook('after_tool', () => ({ context: '{"name":"look","arguments":{"what":"again"}}' })),
    ]);
    await using world = await served({ tools: ['look'] }, hooked);
    ran.length = 0;
    expect(await callOnce(world.tools, 'mcp__it__look', { what: 'here' })).toMatchObject({ text: 'look: here' });
    expect(ran).toEqual(['look here']);
  });

  it('say why a call was not made', async () => {
    const hooked = clerk([defineHook('before_run', () => ({ decision: 'deny', reason: 'Closed on Mondays.' }))]);
    await using world = await served({ tools: ['look'] }, hooked);
    expect(await callOnce(world.tools, 'mcp__it__look', { what: 'here' })).toMatchObject({
      text: expect.stringContaining('Closed on Mondays.') as string,
      isError: true,
    });
  });

  it('are forgotten with their sessions once they are answered, where no journal was given', async () => {
    const begun: string[] = [];
    const noting = clerk([defineHook('before_run', ({ sessionId }) => void begun.push(sessionId))]);
    await using world = await served({ tools: ['look'] }, noting);
    await callOnce(world.tools, 'mcp__it__look', { what: 'here' });
    const requestState = JSON.stringify({ session: begun[0], question: 'q' });
    const response = await post(world.serving, { name: 'look', arguments: {}, requestState });
    expect(await response.text()).toContain('"code":-32602');
    expect(begun).toHaveLength(1);
  });

  it.each([
    [['nothing'], 'has no such tool'],
    [['page'], 'runs on a client'],
  ])('must be tools that can run here: %s', (tools, message) => {
    expect(() => mcpServer(clerk(), { tools })).toThrow(
      expect.objectContaining({
        code: 'invalid_definition',
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });
});

it('resources of the application stand beside the sessions, one by one and by template', async () => {
  await using world = await served({
    resources: [
      { uri: 'docs://start', name: 'Start', mimeType: 'text/markdown', read: () => '# Start' },
      { uri: 'docs://{page}/raw', name: 'Page', read: ({ page }) => new TextEncoder().encode(`raw ${page}`) },
    ],
  });
  const read = (uri: string) => callOnce(world.tools, 'mcp__it__read_resource', { uri });
  expect((await callOnce(world.tools, 'mcp__it__list_resources')).text).toContain('docs://start');
  expect((await read('docs://start')).text).toContain('# Start');
  const raw = await read('docs://two/raw');
  expect(raw.content).toMatchObject([{ type: 'file', data: Buffer.from('raw two').toString('base64') }]);
  expect(await read('docs://two/other')).toMatchObject({ isError: true });
});

describe('the sessions of a server', () => {
  it('are let go of when more than a hundred are idle, and come back from the journal', async () => {
    const agent = defineAgent({ id: 'clerk', model: scriptedModel(() => 'Hello.') });
    const journal = memoryJournal();
    const runs = new AgentRuns({ agent, journal });
    const [first = ''] = (await Promise.all(Array.from({ length: 130 }, () => runs.session(undefined)))).map(
      ({ id }) => id,
    );
    expect(runs.open).toBe(100);
    await (await runs.session(first)).prompt('Hi.').result;
    expect((await runs.state(first)).text).toBe('Hello.');
    expect(runs.open).toBe(100);
    await runs.close();
  });
});

describe('a client that leaves', () => {
  it('ends the run that it waited for', async () => {
    const journal = memoryJournal();
    const begun = Promise.withResolvers<string>();
    const hang = defineTool({
      name: 'hang',
      description: 'Hangs.',
      execute: (_, { signal, sessionId }) => {
        begun.resolve(sessionId);
        return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('cut off')));
      },
    });
    const agent = defineAgent({
      id: 'clerk',
      model: scriptedModel([{ toolCalls: [{ name: 'hang' }] }, 'Done.']),
      tools: [hang],
      permissions: { settings: [{ source: 'agent', allow: ['hang'] }] },
    });
    await using serving = await serveMcp(mcpServer(agent, { journal }));
    const client = new AbortController();
    const waiting = post(serving, { name: 'run', arguments: { prompt: 'Go.' } }, { signal: client.signal });
    const sessionId = await begun.promise;
    client.abort();
    await waiting.then(({ text }) => text).catch(() => {});
    const last = async (): Promise<string> => {
      let status = '';
      for await (const event of journal.read(sessionId, 1)) if (event.type === 'run_ended') ({ status } = event);
      return status;
    };
    await expect.poll(last).toBe('aborted');
  });
});
