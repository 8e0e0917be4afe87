import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { defineAgent } from '../../agent/agent.ts';
import type { AgentDefinition } from '../../agent/definition.ts';
import type { DurableEvent } from '../../events/events.ts';
import { memoryJournal } from '../../journal/memory.ts';
import type { Message } from '../../messages/message.ts';
import { createSession, openSession } from '../../session/session.ts';
import { defineHook } from '../../features/hooks/hook.ts';

const TEXT = 'Use tabs.';

const agentWith = (projectInstructions: string, over: Partial<AgentDefinition> = {}) =>
  defineAgent({ model: scriptedModel(['One.', 'Two.', 'Three.']), projectInstructions, ...over });

const said = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'user'
      ? message.content.map((block) => `${message.origin}: ${block.type === 'text' ? block.text : ''}`)
      : [],
  );

describe("a project's instructions", () => {
  it('are told once, before the prompt, so that the beginning of every request stays the same', async () => {
    const model = scriptedModel(['One.', 'Two.']);
    const session = await createSession(agentWith(TEXT, { model }));
    await session.prompt('First?').result;
    await session.prompt('Second?').result;
    expect(said(session.messages)).toEqual([`instructions: ${TEXT}`, 'prompt: First?', 'prompt: Second?']);
    const [first, second] = model.requests;
    expect(second?.messages.slice(0, first?.messages.length)).toEqual(first?.messages);
    expect(second?.system).toBe(first?.system);
  });

  it('are told again where they have changed, and what was said before stays', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith(TEXT), { journal });
    await session.prompt('First?').result;
    const later = await openSession(agentWith('Use spaces.'), session.id, { journal });
    await later.prompt('Second?').result;
    await later.prompt('Third?').result;
    expect(said(later.messages)).toEqual([
      `instructions: ${TEXT}`,
      'prompt: First?',
      expect.stringMatching(/^instructions: .*have changed.*\n\nUse spaces\.$/) as string,
      'prompt: Second?',
      'prompt: Third?',
    ]);
  });

  it('are told again to a conversation that was begun anew', async () => {
    const session = await createSession(agentWith(TEXT));
    await session.prompt('First?').result;
    await session.reset();
    await session.prompt('Second?').result;
    expect(said(session.messages)).toEqual([`instructions: ${TEXT}`, 'prompt: Second?']);
  });

  it('are in the log and no part of the conversation', async () => {
    const session = await createSession(agentWith(TEXT));
    const events: DurableEvent[] = [];
    session.subscribe((event) => {
      if ('seq' in event) events.push(event);
    });
    const { messages } = await session.prompt('First?').result;
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(said(messages)).toEqual(['prompt: First?']);
    expect(events.map(({ type }) => type).slice(2, 6)).toEqual([
      'run_started',
      'message_added',
      'turn_started',
      'message_added',
    ]);
    expect(events[3]).toMatchObject({ inView: true, message: { origin: 'instructions' } });
  });

  it('are told once where hooks are asked before a turn', async () => {
    const hooks = [defineHook('before_turn', () => true)];
    const session = await createSession(agentWith(TEXT, { hooks }));
    await session.prompt('First?').result;
    expect(said(session.messages)).toEqual([`instructions: ${TEXT}`, 'prompt: First?']);
  });

  it('are nothing when there is nothing in them', async () => {
    const session = await createSession(agentWith(' \n'));
    await session.prompt('First?').result;
    expect(said(session.messages)).toEqual(['prompt: First?']);
  });
});
