import { expect, it } from 'vitest';
import { scriptedModel, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  type AgentDefinition,
  type Model,
  type RunResult,
} from '../../index.ts';

const write = defineTool({
  name: 'write_file',
  description: 'Writes a file.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: () => 'written',
});

const cut: Turn = {
  toolCalls: [{ name: 'write_file', argumentsText: '{"text": "half a pa' }],
  stopReason: 'length',
  usage: { input: 100, output: 8192 },
};

const play = async (model: Model, definition: Partial<AgentDefinition> = {}): Promise<RunResult> =>
  (await createSession(defineAgent({ model, tools: [write], ...definition }))).prompt('Build the page.').result;

const toldOf = ({ messages }: RunResult): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map((block) => (block.type === 'text' ? block.text : '')) : [],
  );

it('tells the model of a call that the output limit cut off, with the limit in numbers', async () => {
  const result = await play(scriptedModel([cut, 'Done.']));
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
  expect(toldOf(result)).toEqual([
    'Not executed: the reply was cut off before the call was complete. It ended at 8,192 output tokens. ' +
      'Send it again with shorter arguments: split a long text over several calls.',
  ]);
});

it('warns the developer of it, and names the option to change', async () => {
  const session = await createSession(defineAgent({ model: scriptedModel([cut, 'Done.']), tools: [write] }));
  const shown: string[] = [];
  const handle = session.prompt('Build the page.');
  for await (const event of handle) if (event.type === 'warning') shown.push(event.code);
  const [warning] = (await handle.result).warnings;
  expect(shown).toEqual(['call_cut_off']);
  expect(warning?.message).toContain('8,192 output tokens in the middle of a call of write_file');
  expect(warning?.message).toContain('Raise `maxTokens`');
});

it('ends the run with `length` when two replies in a row are cut off so', async () => {
  const model = scriptedModel([cut, cut, 'Never said.']);
  const result = await play(model);
  expect(result).toMatchObject({ status: 'length', turns: 2 });
  expect(result.message).toMatch(/^Two replies in a row ended at 8,192 output tokens in the middle of a tool call\./);
  expect(model.requests).toHaveLength(2);
});

it('goes on when a whole call, or a person, comes in between', async () => {
  const whole: Turn = { toolCalls: [{ name: 'write_file', arguments: { text: 'short' } }] };
  expect(await play(scriptedModel([cut, whole, cut, whole, 'Done.']))).toMatchObject({ status: 'completed' });

  const session = await createSession(
    defineAgent({ model: scriptedModel([cut, 'Sorry.', cut, 'Done.']), tools: [write] }),
  );
  await session.prompt('Build the page.').result;
  expect(await session.prompt('Once more.').result).toMatchObject({ status: 'completed', text: 'Done.' });
});

it('asks for no more output than the window has free beside the prompt', async () => {
  const scripted = scriptedModel(['Hello.', 'Hello.', 'Hello.', 'Hello.'], { contextWindow: 20_000 });
  const model: Model = { ...scripted, outputLimit: 16_000, stream: scripted.stream.bind(scripted) };
  const asked = async (instructions: string, more: Partial<AgentDefinition> = {}): Promise<number | undefined> => {
    await play(model, { tools: [], instructions, context: false, ...more });
    return scripted.requests.at(-1)?.maxTokens;
  };
  // The model's own limit fits, and the wire knows it.
  expect(await asked('Answer.')).toBeUndefined();
  const left = await asked('word '.repeat(8000));
  expect(left).toBeGreaterThan(5000);
  expect(left).toBeLessThan(15_000);
  expect(await asked('word '.repeat(8000), { maxTokens: 2000 })).toBe(2000);
  // However full it seems to be, a call asks for a little.
  expect(await asked('word '.repeat(40_000))).toBe(1024);
});
