import { describe, expect, it } from 'vitest';
import { scriptedModel, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  type AgentDefinition,
  type DurableEvent,
} from '../index.ts';

const noop = defineTool({ name: 'noop', description: 'Does nothing.', execute: () => 'done nothing' });

async function play(turns: readonly (Turn | string)[], more: Partial<AgentDefinition> = {}) {
  const model = scriptedModel(turns);
  const session = await createSession(defineAgent({ model, tools: [noop], stopTools: true, ...more }));
  const log: DurableEvent[] = [];
  session.subscribe((event) => isDurable(event) && log.push(event));
  const result = await session.prompt('Go.').result;
  return { model, session, log, result };
}

const types = (log: readonly DurableEvent[]): string[] => log.map(({ type }) => type);

describe('stop tools', () => {
  it.each([
    ['task_completion', { result: 'All done.' }, 'All done.'],
    ['converse', { message: 'Hello!' }, 'Hello!'],
    ['ask_question', { question: 'Which one?', suggestions: ['a', 'b'] }, 'Which one?\n- a\n- b'],
    ['ask_question', { question: 'Why?' }, 'Why?'],
  ])('%s ends the run with what it says', async (name, args, text) => {
    const { result } = await play([{ text: 'Well.', toolCalls: [{ name, arguments: args }] }]);
    expect(result).toMatchObject({
      status: 'completed',
      turns: 1,
      text: text,
      stopTool: { name, arguments: args },
    });
  });

  it('keeps their results out of the conversation: what they say is what the model said', async () => {
    const call = { name: 'ask_question', arguments: { question: 'Which?' } };
    const { session, model, result } = await play([{ toolCalls: [{ name: 'noop' }, call] }, 'Fine.']);
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(session.exportMessages()).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_call', name: 'noop' },
          { type: 'text', text: 'Which?' },
        ],
      },
      { role: 'tool', toolName: 'noop' },
    ]);
    await session.prompt('The first.').result;
    // Providers want one result for every call; it says nothing.
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
    expect(JSON.stringify(model.requests[1]?.messages[3])).toContain('Delivered to the user.');
  });

  it('does not end the run when the call was wrong', async () => {
    const { result, session } = await play([
      { toolCalls: [{ name: 'task_completion', arguments: {} }] },
      { toolCalls: [{ name: 'task_completion', arguments: { result: 'Now.' } }] },
    ]);
    expect(result).toMatchObject({ status: 'completed', text: 'Now.', turns: 2 });
    expect(session.exportMessages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('can not be overridden', () => {
    const own = defineTool({ name: 'converse', description: 'Mine.', execute: () => 'mine' });
    for (const stopTools of [true, false]) {
      expect(() => defineAgent({ model: scriptedModel([]), tools: [own], stopTools })).toThrow(
        expect.objectContaining({ code: 'invalid_definition' }) as Error,
      );
    }
  });

  it('leaves agents alone that do not want them', () => {
    expect([...defineAgent({ model: scriptedModel([]), tools: [noop] }).tools.keys()]).toEqual(['noop']);
  });
});

describe('a reply without a tool call', () => {
  const done = { toolCalls: [{ name: 'task_completion', arguments: { result: 'Done.' } }] };

  it('is the answer, unless the agent says otherwise', async () => {
    const { result } = await play(['Just words.']);
    expect(result).toMatchObject({ status: 'completed', text: 'Just words.', stopTool: null });
  });

  it('is a slip where calls are wanted: it is noted, and the model is reminded', async () => {
    const { result, log, model, session } = await play(['Just words.', done], { requireToolCall: 'remind' });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 2 });
    expect(types(log).slice(3, 10)).toEqual([
      'turn_started',
      'message_added',
      'message_added',
      'tool_call_rejected',
      'turn_ended',
      'turn_started',
      'message_added',
    ]);
    expect(log.find(({ type }) => type === 'tool_call_rejected')).toMatchObject({ reason: 'no_call', toolName: '' });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'user',
      origin: 'reminder',
      content: [{ text: expect.stringContaining('task_completion, ask_question, converse') as string }],
    });
    expect(JSON.stringify(session.exportMessages())).not.toContain('called no tool');
  });

  it('is told in words of your own', async () => {
    const { model } = await play(['Words.', done], { requireToolCall: { remind: 'Call something!' } });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ content: [{ text: 'Call something!' }] });
  });

  it('goes on at most to the turn limit', async () => {
    const { result } = await play(['a', 'b', 'c', 'd'], { requireToolCall: 'remind', limits: { maxTurns: 3 } });
    expect(result).toMatchObject({ status: 'turn_limit', turns: 3 });
  });

  it('of thoughts alone is the same slip, and no empty reply besides', async () => {
    const thought = { thinking: 'I should say so.' };
    const { result, model } = await play([thought, thought, thought, done], { requireToolCall: 'remind' });
    expect(result).toMatchObject({ status: 'completed', turns: 4 });
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('was empty');
  });

  it('is not a slip when the model refused, or was cut off', async () => {
    const refused = await play([{ text: 'No.', stopReason: 'refusal' }], { requireToolCall: 'remind' });
    expect(refused.result.status).toBe('refused');
    const cut = await play([{ text: 'Wor', stopReason: 'length' }], { requireToolCall: 'remind', maxContinuations: 0 });
    expect(cut.result.status).toBe('length');
  });

  it('needs something that can end a run', () => {
    expect(() => defineAgent({ model: scriptedModel([]), tools: [noop], requireToolCall: 'remind' })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
    expect(() => defineAgent({ model: scriptedModel([]), stopTools: true, requireToolCall: { remind: ' ' } })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});
