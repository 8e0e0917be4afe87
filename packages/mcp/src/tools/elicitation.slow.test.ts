// @module-tag slow

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { createSession, defineAgent, memoryJournal, openSession } from '@treadle/core';
import type { Journal, Session, Tool } from '@treadle/core';
import { scriptedModel, testClock } from '@treadle/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { mcpServers } from '../client/servers.ts';
import { play } from '../test-support/play.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'mcp-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const SERVER = join(import.meta.dirname, '../test-support/server-process.ts');
let count = 0;

/** A process that speaks the newer protocol. */
const modern = () => {
  const log = join(folder, `calls-${++count}`);
  return {
    config: { command: process.execPath, args: [SERVER], env: { CALLS: log } },
    orders: async () => (await readFile(log, 'utf8')).split('\n').filter((line) => line.startsWith('order')),
  };
};

const words = (text: string) => ({ content: [{ type: 'text' as const, text }] });

/** A server of the older protocol, which asks within its request; `calls` counts how often it was called. */
function legacy() {
  const calls = { count: 0, cancelled: 0 };
  const server = (): McpServer => {
    const made = new McpServer({ name: 'legacy', version: '1.0.0' });
    made.registerTool('order', { description: 'Orders.' }, async ({ mcpReq }) => {
      calls.count += 1;
      mcpReq.signal.addEventListener('abort', () => (calls.cancelled += 1));
      // oxlint-disable-next-line typescript/no-deprecated -- what servers of the older protocol do
      const answer = await made.server.elicitInput({
        message: 'What shall it be?',
        requestedSchema: {
          type: 'object',
          properties: { item: { type: 'string' }, count: { type: 'integer', default: 1, maximum: 9 } },
          required: ['item'],
        },
      });
      return words(`${answer.action} ${JSON.stringify(answer.content ?? null)}`);
    });
    return made;
  };
  return { config: { server }, calls };
}

const toolText = (session: Session): string => JSON.stringify(session.messages.filter(({ role }) => role === 'tool'));

const answer = (session: Session, decision: 'approve' | 'reject', updatedInput?: { readonly item: string | number }) =>
  session[decision](session.pending[0]?.approvalId ?? '', updatedInput ? { updatedInput } : {}).result;

function elsewhere(tools: readonly Tool[], journal: Journal): Promise<Session> {
  const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__*'] }] };
  return openSession(defineAgent({ model: scriptedModel(['Done.']), tools, permissions }), 's', { journal });
}

describe.each(['legacy', 'modern'] as const)('a question of a server (%s)', (era) => {
  const configOf = () => (era === 'legacy' ? legacy().config : modern().config);

  it('pauses the run, and shows whose question it is', async () => {
    await using servers = await mcpServers({ shop: configOf() });
    const { session, results } = await play(servers.tools, [['mcp__shop__order']]);
    expect(results).toEqual([]);
    expect(session.pending).toMatchObject([
      {
        toolName: 'mcp__shop__order',
        approvalId: expect.stringMatching(/^question_/) as string,
        arguments: {
          server: 'shop',
          mode: 'form',
          message: 'What shall it be?',
          requestedSchema: { required: ['item'] },
        },
      },
    ]);
  });

  it('gets what the user filled in, with the defaults of the form', async () => {
    await using servers = await mcpServers({ shop: configOf() });
    const { session, results } = await play(servers.tools, [['mcp__shop__order']]);
    await answer(session, 'approve', { item: 'tea' });
    expect(results).toMatchObject([{ isError: false }]);
    expect(results[0]?.text).toMatch(/"item":"tea","count":1/);
  });

  it('gets a no', async () => {
    await using servers = await mcpServers({ shop: configOf() });
    const { session, results } = await play(servers.tools, [['mcp__shop__order']]);
    await answer(session, 'reject');
    expect(results[0]?.text).toMatch(era === 'legacy' ? /^decline/ : /Nothing ordered/);
  });

  it('is put again when the answer does not fit its form', async () => {
    await using servers = await mcpServers({ shop: configOf() });
    const journal = memoryJournal();
    const { session, results } = await play(servers.tools, [['mcp__shop__order']], { journal, id: 's' });
    await answer(session, 'approve');
    await answer(session, 'approve', { item: 7 });
    const asked: string[] = [];
    for await (const event of journal.read('s', 1)) if (event.type === 'approval_requested') asked.push(event.question);
    expect(asked).toEqual([
      'The MCP server shop asks: What shall it be?',
      expect.stringContaining('did not fit') as string,
      expect.stringContaining('/item must be string') as string,
    ]);
    await answer(session, 'approve', { item: 'tea' });
    expect(results[0]?.text).toContain('tea');
  });

  it('is answered where nobody has the request open any more', async () => {
    const journal = memoryJournal();
    const config = configOf();
    {
      await using servers = await mcpServers({ shop: config });
      await play(servers.tools, [['mcp__shop__order']], { journal, id: 's' });
    }
    await using again = await mcpServers({ shop: config });
    const session = await elsewhere(again.tools, journal);
    await answer(session, 'approve', { item: 'tea' });
    expect(toolText(session)).toContain('tea');
    expect(toolText(session)).not.toContain('unknown');
  });

  it('is not put where nobody can be asked', async () => {
    await using servers = await mcpServers({ shop: configOf() }, { elicitation: false });
    const { session, results } = await play(servers.tools, [['mcp__shop__order']]);
    expect(session.pending).toEqual([]);
    expect(results).toMatchObject([{ isError: true }]);
  });
});

it('keeps a request of the older protocol open while the user is asked, and not without end', async () => {
  const clock = testClock();
  const { config, calls } = legacy();
  await using servers = await mcpServers({ shop: config }, { clock, holdMs: 1000 });
  const first = await play(servers.tools, [['mcp__shop__order']], { clock });
  await answer(first.session, 'approve', { item: 'tea' });
  expect(calls).toEqual({ count: 1, cancelled: 0 });
  const second = await play(servers.tools, [['mcp__shop__order']], { clock });
  await clock.advance(1000);
  await expect.poll(() => calls.cancelled).toBe(1);
  // It is called again then, and has its answer.
  await answer(second.session, 'approve', { item: 'milk' });
  expect(second.results[0]?.text).toContain('milk');
  expect(calls.count).toBe(3);
});

it('is not called again when the server gave up waiting, and said so', async () => {
  let calls = 0;
  let gaveUp = false;
  const server = new McpServer({ name: 'hasty', version: '1.0.0' });
  server.registerTool('order', { description: 'Orders.' }, async () => {
    calls += 1;
    const requestedSchema = { type: 'object' as const, properties: {} };
    // oxlint-disable-next-line typescript/no-deprecated -- what servers of the older protocol do
    const asked = server.server.elicitInput({ message: 'Sure?', requestedSchema }, { timeout: 20 });
    return asked.then(
      () => words('Ordered.'),
      () => {
        gaveUp = true;
        return words('Nobody answered.');
      },
    );
  });
  await using servers = await mcpServers({ shop: { server } });
  const { session, results } = await play(servers.tools, [['mcp__shop__order']]);
  await expect.poll(() => gaveUp).toBe(true);
  await answer(session, 'approve');
  expect(results).toMatchObject([{ text: 'Nobody answered.' }]);
  expect(calls).toBe(1);
});

it('goes on with a request of the newer protocol where the server had stopped', async () => {
  const { config, orders } = modern();
  await using servers = await mcpServers({ shop: config });
  const { session } = await play(servers.tools, [['mcp__shop__order']]);
  await answer(session, 'approve', { item: 'tea' });
  expect(await orders()).toEqual(['order undefined', 'order reserved-7']);
});

it('shows a page as an address, which only the user opens', async () => {
  const server = new McpServer({ name: 'bank', version: '1.0.0' });
  server.registerTool('pay', { description: 'Pays.' }, async () => {
    const url = 'https://bank.example/confirm?id=7';
    // oxlint-disable-next-line typescript/no-deprecated -- what servers of the older protocol do
    const { action } = await server.server.elicitInput({ mode: 'url', message: 'Confirm.', url, elicitationId: '7' });
    return words(action);
  });
  let fetched = 0;
  const spy = (() => Promise.reject(new Error(String(++fetched)))) as typeof fetch;
  await using servers = await mcpServers({ bank: { server } }, { fetch: spy });
  const { session, results } = await play(servers.tools, [['mcp__bank__pay']]);
  expect(session.pending[0]?.arguments).toEqual({
    server: 'bank',
    message: 'Confirm.',
    mode: 'url',
    url: 'https://bank.example/confirm?id=7',
    host: 'bank.example',
  });
  await answer(session, 'approve');
  expect(results[0]?.text).toBe('accept');
  expect(fetched).toBe(0);
});

it('asks for pages that a request needs before it can be made', async () => {
  const server = new McpServer({ name: 'bank', version: '1.0.0' });
  server.registerTool('pay', { description: 'Pays.', inputSchema: z.object({}) }, () => words('never'));
  let tried = 0;
  server.server.setRequestHandler('tools/call', () => {
    if (++tried > 1) return words('Paid.');
    const elicitations = [{ mode: 'url', message: 'Log in.', url: 'https://bank.example/', elicitationId: '1' }];
    throw Object.assign(new Error('first this'), { code: -32042, data: { elicitations } });
  });
  await using servers = await mcpServers({ bank: { server } });
  const { session, results } = await play(servers.tools, [['mcp__bank__pay']]);
  expect(session.pending[0]?.arguments).toMatchObject({ mode: 'url', url: 'https://bank.example/' });
  await answer(session, 'approve');
  expect(results[0]?.text).toBe('Paid.');
});

it('asks about two calls at the same time, each once', async () => {
  const { config } = legacy();
  await using servers = await mcpServers({ shop: config });
  const call = { name: 'mcp__shop__order', arguments: {} };
  const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__*'] }] };
  const model = scriptedModel([{ toolCalls: [call, call] }, 'Done.']);
  const session = await createSession(defineAgent({ model, tools: servers.tools, permissions }));
  await session.prompt('Order.').result;
  expect(session.pending).toHaveLength(2);
  const [one, two] = session.pending;
  await session.approve(one?.approvalId ?? '', { updatedInput: { item: 'tea' } }).result;
  await session.approve(two?.approvalId ?? '', { updatedInput: { item: 'milk' } }).result;
  expect(toolText(session)).toMatch(/tea.*milk|milk.*tea/);
});
