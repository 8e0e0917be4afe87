import { randomBytes } from 'node:crypto';
import { createServer } from '@treadle/server';
import { sqliteJournal, type Agent, type Journal } from 'treadle';
import { createAgent } from './agent.ts';
import { model } from './model.ts';

/** An agent behind `/v1`, and the token that the page sends. */
export function createChat(agent: Agent, journal: Journal) {
  // Whoever may see the page may use the agent: put your login in front of both.
  const token = randomBytes(32).toString('base64url');
  return { token, server: createServer({ agents: [agent], journal, tokens: [{ name: 'page', token }] }) };
}

const shared = globalThis as { chat?: ReturnType<typeof createChat> };

/** The chat of this process. Next.js may load this module more than once: page and routes share one chat. */
export function chat() {
  return (shared.chat ??= createChat(createAgent(model(), process.cwd()), sqliteJournal({ path: 'sessions.db' })));
}
