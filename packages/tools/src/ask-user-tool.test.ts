import {
  answerQuestions,
  createSession,
  defineAgent,
  memoryJournal,
  openSession,
  type JsonObject,
} from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { askUserTool, type AskUserToolOptions } from './ask-user-tool.ts';

const options = [
  { label: 'SQLite', description: 'One file.' },
  { label: 'Postgres', description: 'A server.' },
];
const question = { question: 'Which database?', header: 'Database', options };

const agentAsking = (questions: unknown, tool: AskUserToolOptions = {}) =>
  defineAgent({
    model: scriptedModel([{ toolCalls: [{ name: 'ask_user', arguments: { questions } as JsonObject }] }, 'Good.']),
    tools: [askUserTool(tool)],
  });

async function toolText(agent: ReturnType<typeof agentAsking>): Promise<{ text: string; isError: boolean }> {
  const session = await createSession(agent);
  const { messages } = await session.prompt('Set up storage.').result;
  const message = messages.find(({ role }) => role === 'tool');
  const [block] = message?.role === 'tool' ? message.content : [];
  return {
    text: block?.type === 'text' ? block.text : '',
    isError: message?.role === 'tool' && message.isError,
  };
}

describe('ask_user without a callback', () => {
  it('pauses the run, and another process may answer it', async () => {
    const journal = memoryJournal();
    const agent = agentAsking([question]);
    const session = await createSession(agent, { journal });
    const asked = await session.prompt('Set up storage.').result;
    expect(asked).toMatchObject({ status: 'paused', pending: [{ toolName: 'ask_user' }] });

    const elsewhere = await openSession(agent, session.id, { journal });
    const results = asked.pending.map((call) => answerQuestions(call, [{ selected: ['SQLite'] }]));
    const answered = await elsewhere.addToolOutputs(results).result;
    expect(answered).toMatchObject({ status: 'completed', text: 'Good.' });
    expect(answered.messages.find(({ role }) => role === 'tool')).toMatchObject({
      content: [{ text: '{"answers":[{"question":"Which database?","selected":["SQLite"]}]}' }],
      isError: false,
    });
  });
});

describe('ask_user with a callback', () => {
  it('is answered in this process, with the words of the user', async () => {
    const agent = agentAsking([question], {
      ask: async ([asked]) => [{ selected: [], other: `${asked?.header}? None.` }],
    });
    expect(await toolText(agent)).toEqual({
      text: '{"answers":[{"question":"Which database?","selected":[],"other":"Database? None."}]}',
      isError: false,
    });
  });

  it('tells the model when nobody can be asked', async () => {
    const { text, isError } = await toolText(agentAsking([question], { ask: () => null }));
    expect(isError).toBe(true);
    expect(text).toContain('Nobody can be asked');
  });

  it('fails the call when the callback throws or answers something else', async () => {
    const thrown = await toolText(
      agentAsking([question], {
        ask: () => {
          throw new Error('the window was closed');
        },
      }),
    );
    expect(thrown).toMatchObject({ isError: true, text: expect.stringContaining('the window was closed') as string });
    const wrong = await toolText(agentAsking([question], { ask: () => [{ selected: ['MySQL'] }] }));
    expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining('"MySQL"') as string });
  });
});

describe('questions that can not be asked are answered with what is wrong and where', () => {
  it.each([
    ['/questions', []],
    ['/questions', Array.from({ length: 5 }, () => question)],
    ['/questions/0/header', [{ ...question, header: 'A long header' }]],
    ['/questions/1/options', [question, { ...question, options: options.slice(1) }]],
    ['/questions/0/options', [{ ...question, options: [...options, ...options, ...options] }]],
    ['/questions/0/options/1/description', [{ ...question, options: [options[0], { label: 'x' }] }]],
    ['/questions/0/options/1/label', [{ ...question, options: [options[0], options[0]] }]],
    ['/questions/0/multiSelect', [{ ...question, multiSelect: 'yes' }]],
  ])('%s', async (path, questions) => {
    const { text, isError } = await toolText(agentAsking(questions, { ask: () => [{ selected: ['SQLite'] }] }));
    expect(isError).toBe(true);
    expect(text).toContain(`${path}: `);
  });
});
