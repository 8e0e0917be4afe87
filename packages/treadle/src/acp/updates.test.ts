import type { ClientCapabilities, SessionUpdate } from '@agentclientprotocol/sdk';
import { agentsTool, createSession, defineAgent, defineTool, memoryJournal, type AgentDefinition } from '@treadle/core';
import { isDurable, type TreadleEvent } from '@treadle/core/events';
import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import { todoTool } from '@treadle/tools';

import { describe, expect, it } from 'vitest';

import { schemaProblems } from '../test-support/acp-schema.ts';
import { sessionUpdates } from './updates.ts';

const EVERYTHING: ClientCapabilities = { session: { compaction: {}, notices: {} } };

/** The events of a session with one prompt. */
async function eventsOf(
  turns: readonly (Turn | string)[],
  more: Partial<AgentDefinition> = {},
): Promise<TreadleEvent[]> {
  const [journal, clock] = [memoryJournal(), testClock()];
  const agent = defineAgent({
    model: scriptedModel(turns, { chunkSize: 4 }),
    permissions: { mode: 'bypass', allowBypass: true },
    ...more,
  });
  const session = await createSession(agent, { id: 's', journal, clock });
  const events: TreadleEvent[] = [];
  session.subscribe((event) => void events.push(event));
  await session.prompt('Go.').result;
  return events;
}

function updatesOf(events: readonly TreadleEvent[], client: ClientCapabilities = {}): SessionUpdate[] {
  const labels: Readonly<Record<string, string>> = { write_file: 'Write a file' };
  const fold = sessionUpdates({ folder: '/w', client, label: (name) => labels[name], contextWindow: () => 1000 });
  const updates = events.flatMap((event) => fold.take(event, event.type === 'file_checkpointed' ? 'old' : undefined));
  const sent = updates.map((update) => ({
    from: 'agent' as const,
    message: { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } },
  }));
  expect(schemaProblems(sent)).toEqual([]);
  return updates;
}

const textOf = (updates: readonly SessionUpdate[], kind: SessionUpdate['sessionUpdate']): string =>
  updates
    .flatMap((update) =>
      update.sessionUpdate === kind && 'content' in update && update.content && 'text' in update.content
        ? [update.content.text]
        : [],
    )
    .join('');

const pick = (updates: readonly SessionUpdate[], ...kinds: readonly SessionUpdate['sessionUpdate'][]) =>
  updates.filter(({ sessionUpdate }) => kinds.includes(sessionUpdate));

describe('the updates of a session', () => {
  const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'plum' });

  it('say the same of a session that is watched and of one that is loaded', async () => {
    const call = { name: 'look', arguments: { path: 'a' } };
    const events = await eventsOf(
      [{ thinking: 'Hm, let me see.', text: 'I look at it.', toolCalls: [call] }, 'It is a plum.'],
      { tools: [look] },
    );
    const watched = updatesOf(events);
    const loaded = updatesOf(events.filter(isDurable));
    expect(watched.length).toBeGreaterThan(loaded.length);
    for (const kind of ['agent_message_chunk', 'agent_thought_chunk', 'user_message_chunk'] as const)
      expect(textOf(watched, kind)).toBe(textOf(loaded, kind));
    expect(textOf(loaded, 'agent_message_chunk')).toBe('I look at it.It is a plum.');
    expect(textOf(loaded, 'user_message_chunk')).toBe('Go.');
    const others = ['tool_call_update', 'usage_update', 'session_info_update'] as const;
    expect(pick(watched, ...others).filter((update) => !('rawInput' in update))).toEqual(pick(loaded, ...others));
  });

  it('follow a call from its first word to its result', async () => {
    const updates = updatesOf(
      await eventsOf([{ toolCalls: [{ name: 'look', arguments: { path: 'a' } }] }, 'Yes.'], { tools: [look] }),
    );
    const [announced, ...later] = pick(updates, 'tool_call', 'tool_call_update');
    expect(announced).toMatchObject({ sessionUpdate: 'tool_call', name: 'look', title: 'look', status: 'pending' });
    expect(later).toMatchObject([
      { title: 'look a', rawInput: { path: 'a' } },
      { status: 'in_progress' },
      { status: 'completed', content: [{ type: 'content', content: { type: 'text', text: 'plum' } }] },
    ]);
  });

  it('show a call that was refused as failed', async () => {
    const updates = updatesOf(await eventsOf([{ toolCalls: [{ name: 'fly' }] }, 'No.'], { tools: [look] }));
    expect(pick(updates, 'tool_call_update').at(-1)).toMatchObject({ status: 'failed' });
  });

  it('show what a write replaces', () => {
    const message = {
      role: 'assistant',
      id: 'm',
      content: [{ type: 'tool_call', callId: 'c', name: 'write_file', arguments: { path: 'a', content: 'new' } }],
    };
    const events = [
      { type: 'message_added', seq: 1, at: 0, message },
      { type: 'file_checkpointed', seq: 2, at: 0, callId: 'c', root: '/w', path: 'a', before: {}, after: 'x' },
      { type: 'tool_ended', seq: 3, at: 0, callId: 'c', toolName: 'write_file', content: [], isError: false },
    ] as unknown as TreadleEvent[];
    const updates = updatesOf(events);
    expect(updates[0]).toMatchObject({ title: 'Write a file a', kind: 'edit', locations: [{ path: '/w/a' }] });
    expect(updates.at(-1)).toMatchObject({
      content: [{ type: 'diff', path: '/w/a', oldText: 'old', newText: 'new' }],
    });
  });

  it('have the plan, the use of the window, and what it cost', async () => {
    const todos = [
      { content: 'Look', status: 'completed', activeForm: 'Looking' },
      { content: 'Act', status: 'pending', activeForm: 'Acting' },
    ];
    const usage = { input: 100, output: 20, cacheRead: 5, cacheWrite: 0 };
    const updates = updatesOf(
      await eventsOf(
        [
          { toolCalls: [{ name: 'todo', arguments: { todos } }], usage },
          { text: 'Done.', usage },
        ],
        {
          tools: [todoTool()],
        },
      ),
    );
    expect(pick(updates, 'plan')).toEqual([
      {
        sessionUpdate: 'plan',
        entries: [
          { content: 'Look', status: 'completed', priority: 'medium' },
          { content: 'Act', status: 'pending', priority: 'medium' },
        ],
      },
    ]);
    expect(pick(updates, 'usage_update')).toMatchObject([
      { used: 125, size: 1000 },
      { used: 125, size: 1000 },
    ]);
  });

  it('show the work of a sub-agent in the call that it is', async () => {
    const helper = defineAgent({ id: 'helper', model: scriptedModel(['I help.']) });
    const tools = [agentsTool({ helper: { agent: helper, description: 'Helps.' } })];
    const call = { name: 'agent', arguments: { subagent_type: 'helper', description: 'Help', prompt: 'Help.' } };
    const updates = updatesOf(await eventsOf([{ toolCalls: [call] }, 'Helped.'], { tools }));
    expect(JSON.stringify(pick(updates, 'tool_call_update'))).toContain('I help.');
  });

  it('say why a run ended early: as a notice where there are such, else in the reply', async () => {
    const again: Turn = { toolCalls: [{ name: 'look' }] };
    const events = await eventsOf([again, again, again], { tools: [look], limits: { maxTurns: 2 } });
    expect(pick(updatesOf(events, EVERYTHING), 'notice')).toMatchObject([{ severity: 'warning' }]);
    expect(textOf(updatesOf(events), 'agent_message_chunk')).toMatch(/^\n\n\[.*\]$/);
  });

  it('tell clients that know of it when the conversation is made smaller', () => {
    const events = [
      { type: 'status', afterSeq: 0, status: 'compacting' },
      { type: 'compacted', seq: 1, at: 0, view: [] },
      { type: 'compaction_failed', seq: 2, at: 0, message: 'Nothing to remove.' },
    ] as unknown as TreadleEvent[];
    expect(updatesOf(events)).toEqual([]);
    expect(updatesOf(events, EVERYTHING)).toMatchObject([
      { compactionId: 'compaction-1', status: 'in_progress' },
      { compactionId: 'compaction-1', status: 'completed' },
      { compactionId: 'compaction-2', status: 'failed', error: 'Nothing to remove.' },
    ]);
  });

  it('say what a reply says that was cut off, and then all of the next one', async () => {
    const turns = [{ text: 'It begins', error: { retryable: true, afterDeltas: 2 } }, 'It begins and ends.'];
    const events = await eventsOf(turns, { retry: { initialDelayMs: 0, afterText: true } });
    const updates = updatesOf(events, EVERYTHING);
    expect(textOf(updates, 'agent_message_chunk')).toMatch(/^It begi.*It begins and ends\.$/);
    expect(pick(updates, 'notice')).toHaveLength(1);
  });
});
