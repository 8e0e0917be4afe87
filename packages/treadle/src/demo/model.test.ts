import { createSession, defineAgent, defineTool, type ModelMessage } from '@treadle/core';
import type { ModelEvent, ModelRequest } from '@treadle/core/model';

import { describe, expect, it } from 'vitest';

import { demoModel } from './index.ts';

const user = (text: string, origin: 'prompt' | 'steering' | 'reminder' = 'prompt'): ModelMessage => ({
  role: 'user',
  id: text,
  at: 0,
  origin,
  content: [{ type: 'text', text }],
});
const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } });
const request = (text: string, over: Partial<ModelRequest> = {}): ModelRequest => ({
  system: '',
  messages: [user(text)],
  tools: [tool('list_files'), tool('read_file'), tool('bash')],
  ...over,
});

async function collect(asked: ModelRequest, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of demoModel().stream(asked, signal)) events.push(event);
  return events;
}

const textOf = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('');
const callsOf = (events: readonly ModelEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'tool_call_start' ? [event.name] : []));

describe('the demo model', () => {
  it('names itself, and costs nothing', () => {
    const model = demoModel();
    expect([model.provider, model.id]).toEqual(['demo', 'demo-1']);
    expect(model.cost?.({ input: 1e6, output: 1e6, cacheRead: 0, cacheWrite: 0, reasoning: 0 })).toBe(0);
  });

  it.each(['hello', '', 'What is in', 'What is in this folder? And who are you?', 'Delete a.md'])(
    'says what it is and what it knows, and calls nothing, for %j',
    async (prompt) => {
      const events = await collect(request(prompt));
      expect(textOf(events)).toContain(
        "In a program, use `model('anthropic/claude-sonnet-5-5')` instead of `demoModel()`",
      );
      expect(textOf(events)).toMatch(/^I am a demo model: .* no language model\. I did nothing\./);
      expect(textOf(events)).toContain('--model anthropic/');
      expect(callsOf(events)).toEqual([]);
    },
  );

  it('knows each prompt that it offers', async () => {
    const offered = [...textOf(await collect(request('hello'))).matchAll(/^- (.+)$/gm)].map(
      ([, prompt = '']) => prompt,
    );
    expect(offered.length).toBeGreaterThan(5);
    for (const prompt of offered) expect(textOf(await collect(request(prompt)))).not.toContain('I am a demo model');
  });

  it('gives the same stream for the same request', async () => {
    expect(await collect(request('Count the lines of a'))).toEqual(await collect(request('Count the lines of a')));
  });

  it('streams text and arguments in small pieces that join to the blocks, and never splits a character', async () => {
    const events = await collect(request(`Run \`echo ${'😀a'.repeat(50)}\``));
    const deltas = events.flatMap((event) => ('text' in event ? [event] : []));
    expect(deltas.length).toBeGreaterThan(10);
    expect(deltas.every(({ text }) => text.isWellFormed())).toBe(true);
    const [text, call] = events.flatMap((event) => (event.type === 'block_end' ? [event.block] : []));
    expect(text).toEqual({ type: 'text', text: textOf(events) });
    const pieces = deltas.flatMap((event) => (event.type === 'tool_arguments_delta' ? [event.text] : []));
    expect(call).toMatchObject({ type: 'tool_call', name: 'bash', argumentsText: pieces.join('') });
    expect(JSON.parse(pieces.join(''))).toEqual({ command: `echo ${'😀a'.repeat(50)}` });
    expect(events.at(-1)).toMatchObject({ type: 'finish', stopReason: 'tool_use' });
  });

  it('stops at the output limit, without calls', async () => {
    const events = await collect(request('Run `ls`', { maxTokens: 1 }));
    expect({ text: textOf(events), calls: callsOf(events) }).toEqual({ text: 'Runn', calls: [] });
    expect(events.at(-1)).toMatchObject({ type: 'finish', stopReason: 'length', usage: { output: 1 } });
  });

  it('estimates its usage from what it was sent', async () => {
    const input = async (text: string): Promise<number> => {
      const last = (await collect(request(text))).at(-1);
      return last?.type === 'finish' ? (last.usage.input ?? -1) : -1;
    };
    expect((await input('x'.repeat(4100))) - (await input('x'.repeat(100)))).toBe(1000);
  });

  it('ends a stream that is aborted with one error of kind cancelled', async () => {
    const controller = new AbortController();
    const events: ModelEvent[] = [];
    for await (const event of demoModel().stream(request('hello'), controller.signal)) {
      events.push(event);
      if (events.length === 3) controller.abort();
    }
    expect(events).toHaveLength(4);
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'cancelled', retryable: false } });
  });

  it('calls nothing when the request forbids it, and says so', async () => {
    const events = await collect(request('Run `ls`', { toolChoice: 'none' }));
    expect({ calls: callsOf(events), text: textOf(events) }).toEqual({
      calls: [],
      text: 'I need the tool `bash` for this, and I may not call it here.',
    });
  });

  it('does what the newest message of a person asks, and no reminder', async () => {
    const messages = [user('hello'), user('Run `ls`', 'steering'), user('Count the lines of a', 'reminder')];
    expect(callsOf(await collect(request('', { messages })))).toEqual(['bash']);
  });

  it('takes what was piped in beside a prompt for data', async () => {
    const piped = '<stdin>\nRun `ls`\n</stdin>';
    const content = [piped, 'Count the lines of a'].map((text) => ({ type: 'text' as const, text }));
    const events = await collect(request('', { messages: [{ ...user(''), role: 'user', origin: 'prompt', content }] }));
    expect(callsOf(events)).toEqual(['read_file']);
  });

  it('keeps no state: another one continues where it was', async () => {
    const list = defineTool({
      name: 'list_files',
      description: 'Lists.',
      inputSchema: { type: 'object' },
      execute: () => '3  a.txt',
    });
    const session = await createSession(
      defineAgent({ model: { ...demoModel(), stream: (...args) => demoModel().stream(...args) }, tools: [list] }),
    );
    const { text, turns } = await session.prompt('What is the largest file?').result;
    expect({ text: text, turns }).toEqual({
      text: 'The largest file in this folder:\n\n- a.txt (3 bytes)',
      turns: 2,
    });
  });
});

describe('a tool that returns nothing', () => {
  it.each([
    ['write_file', 'Create notes/hello.md with the text "Hello"'],
    ['bash', 'Run `true`'],
    ['bash', 'Run true'],
    ['list_files', 'What is in this folder?'],
    ['search', 'Which files mention "timeout"?'],
    ['read_file', 'Count the lines of README.md'],
  ])('of the name %s ends the run with an answer', async (name, prompt) => {
    const silent = defineTool({ name, description: 'Does it.', execute: () => '' });
    const session = await createSession(defineAgent({ model: demoModel(), tools: [silent] }));
    const { status, text, turns } = await session.prompt(prompt).result;
    expect({ status, turns }).toEqual({ status: 'completed', turns: 2 });
    expect(text).not.toBe('');
  });
});
