import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession, defineAgent, memoryJournal, openSession } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { mcpServers } from '../client/servers.ts';
import { callOnce, play } from '../test-support/play.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'mcp-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const SERVER = join(import.meta.dirname, '../test-support/task-server-process.ts');
let count = 0;

function taskServer() {
  const log = join(folder, `calls-${++count}`);
  const config = { command: process.execPath, args: [SERVER], env: { CALLS: log } };
  return { config, noted: () => readFile(log, 'utf8') };
}

describe('a tool that its server runs as a task', () => {
  it('is looked at until it has ended', async () => {
    await using servers = await mcpServers({ s: taskServer().config });
    expect(await callOnce(servers.tools, 'mcp__s__slow')).toMatchObject({ text: 'slow is done', isError: false });
  });

  it('that failed says so', async () => {
    await using servers = await mcpServers({ s: taskServer().config });
    const result = await callOnce(servers.tools, 'mcp__s__failing');
    expect(result).toMatchObject({ isError: true, details: { problem: 'refused' } });
    expect(result.text).toContain('It broke.');
  });

  it('asks the user, and is told the answer', async () => {
    const { config, noted } = taskServer();
    await using servers = await mcpServers({ s: config });
    const { session, results } = await play(servers.tools, [['mcp__s__asking']]);
    const id = session.pending[0]?.approvalId ?? '';
    expect(session.pending[0]?.arguments).toMatchObject({ message: 'Which word?' });
    await session.approve(id, { updatedInput: { word: 'loom' } }).result;
    expect(results[0]?.text).toContain('"word":"loom"');
    expect((await noted()).match(/^call/gm)).toHaveLength(1);
  });

  it('is found again where the answer came in another process: it is not begun twice', async () => {
    const { config, noted } = taskServer();
    const journal = memoryJournal();
    await using servers = await mcpServers({ s: config });
    const { tools } = servers;
    await play(tools, [['mcp__s__asking']], { journal, id: 's' });
    const session = await openSession(defineAgent({ model: scriptedModel(['Done.']), tools }), 's', { journal });
    const id = session.pending[0]?.approvalId ?? '';
    await session.approve(id, { updatedInput: { word: 'loom' } }).result;
    expect(JSON.stringify(session.messages)).toContain('asking is done');
    expect((await noted()).match(/^call/gm)).toHaveLength(1);
  });

  it('is cancelled with its call', async () => {
    const { config, noted } = taskServer();
    await using servers = await mcpServers({ s: config });
    const model = scriptedModel([{ toolCalls: [{ name: 'mcp__s__endless' }] }, 'Done.']);
    const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__*'] }] };
    const session = await createSession(defineAgent({ model, tools: servers.tools, permissions }));
    const run = session.prompt('Go.');
    await expect.poll(noted).toContain('call endless');
    await session.abort();
    await run.result;
    await expect.poll(noted).toContain('cancel endless');
  });
});
