import assert from 'node:assert/strict';
import {
  createSession,
  defineAgent,
  defineTool,
  type Agent,
  type Journal,
  type Message,
  type Session,
} from '@treadle/core';
import { scriptedModel } from '../../scripted-model.ts';
import type { Turn } from '../../turns.ts';
import type { Cases } from '../case.ts';
import type { JournalUnderTest } from '../journal/case.ts';

/** A journal as one case has it: what its process holds, and what others open. */
export interface Store {
  readonly journal: Journal;
  /** As another process opens it; a journal that lives in one process is the same one. Closed after the case. */
  another(): Promise<Journal>;
  dispose(): Promise<void>;
}

export type SessionCases = Cases<Store>;

/** A store that closes all its journals when it is disposed of. */
export async function storeOf(make: () => JournalUnderTest | Promise<JournalUnderTest>): Promise<Store> {
  const { journal, open, dispose } = await make();
  const others: Journal[] = [];
  return {
    journal,
    async another() {
      if (!open) return journal;
      const other = await open();
      others.push(other);
      return other;
    },
    async dispose() {
      await Promise.all([journal, ...others].map((each) => each.close()));
      await dispose?.();
    },
  };
}

export const act = defineTool({ name: 'act', description: 'Acts.', execute: () => 'acted' });
export const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'seen' });
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'paid' });
export const tools = [act, look, pick, pay];

export const agentWith = (...turns: readonly (Turn | string)[]): Agent =>
  defineAgent({ id: 'helper', model: scriptedModel(turns), tools });

/** What was said, a line for each message. */
export const said = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'extension'
      ? []
      : [
          `${message.role}: ${message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join()}`,
        ],
  );

/** A session with two runs: one with tools of every kind, through a pause and an approval, and one that only talks. */
export async function longSession(journal: Journal): Promise<Session> {
  const calls = ['act', 'look', 'pick', 'pay'].map((name) => ({ name }));
  const agent = agentWith({ text: 'I begin.', toolCalls: calls }, 'All done.', 'You are welcome.');
  const session = await createSession(agent, { journal, id: 'parent' });
  const paused = await session.prompt('Do it all.').result;
  await session.steer('And be quick.');
  const approvalId = paused.pending.find((call) => call.approvalId !== undefined)?.approvalId ?? '';
  const asked = await session.approve(approvalId).result;
  await session.addToolOutputs(asked.pending.map(({ callId }) => ({ callId, content: 'red' }))).result;
  assert.equal((await session.prompt('Thanks.').result).status, 'completed');
  return session;
}

/** What providers refuse: a call without its one result, or a result without its call. */
export function unanswered(messages: readonly Message[]): string[] {
  const open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = open.indexOf(message.callId);
      if (at === -1) return [`${message.callId} has a result too many`];
      open.splice(at, 1);
    } else if (message.role === 'assistant') {
      for (const block of message.content) if (block.type === 'tool_call') open.push(block.callId);
    } else if (open.length > 0) return open;
  }
  return open;
}

/** The code of what a call throws at once or a promise rejects with; null when neither happens. */
export async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return null;
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
}
