// `elicit-process.ts {folder} {server} ask|answer`: has a server ask the user, and waits to be killed; or answers that, in a
// process that knows only the folder.

import { join } from 'node:path';
import { createSession, defineAgent, openSession } from '@treadle/core';
import { fileJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

import { mcpServers } from '../index.ts';
import type { McpServerConfig } from '../index.ts';
import { overStdio } from './reference-servers.ts';

const [folder = '', server = '', what = ''] = process.argv.slice(2);

const own: McpServerConfig = { command: process.execPath, args: [join(import.meta.dirname, 'server-process.ts')] };
const isOwn = server === 'own';
const tool = `mcp__it__${isOwn ? 'order' : 'trigger-elicitation-request'}`;

await using servers = await mcpServers({ it: isOwn ? own : overStdio('everything', 'stdio') });
const isAsk = what === 'ask';
// The everything server has more tools once it knows its client.
while (!servers.tools.some(({ name }) => name === tool)) await new Promise((done) => setTimeout(done, 20));
const model = scriptedModel(isAsk ? [{ toolCalls: [{ name: tool }] }] : ['Done.']);
const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__*'] }] };
const agent = defineAgent({ model, tools: servers.tools, permissions });
const journal = fileJournal({ folder: join(folder, 'journal') });

if (isAsk) {
  const session = await createSession(agent, { journal, id: 's' });
  await session.prompt('Go.').result;
  process.stdout.write(`${JSON.stringify(session.pending)}\n`);
  setInterval(() => {}, 1000);
} else {
  const session = await openSession(agent, 's', { journal });
  const updatedInput = isOwn ? { item: 'tea' } : { name: 'Ada' };
  const { messages } = await session.approve(session.pending[0]?.approvalId ?? '', { updatedInput }).result;
  process.stdout.write(`${JSON.stringify(messages.filter(({ role }) => role === 'tool'))}\n`);
}
