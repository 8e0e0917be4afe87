import { describe, expect, it } from 'vitest';
import { scriptedModel, type ScriptedModel, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  type AgentDefinition,
  type DurableEvent,
  type JsonObject,
  type RunResult,
  type Session,
  type TreadleEvent,
} from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { promptedTools, type PromptedToolsOptions } from './prompted-tools.ts';

const call = (
  args: JsonObject = { text: 'x' },
  names: JsonObject = { server_name: 'local', tool_name: 'echo' },
): string => `<tool>${JSON.stringify({ ...names, arguments: args })}</tool>`;

interface Outcome {
  readonly result: RunResult;
  readonly events: readonly TreadleEvent[];
  readonly log: readonly DurableEvent[];
  readonly model: ScriptedModel;
  readonly session: Session;
  readonly ran: readonly JsonObject[];
}

async function play(
  turns: readonly (Turn | string)[],
  options: PromptedToolsOptions = {},
  more: Partial<AgentDefinition> = {},
): Promise<Outcome> {
  const ran: JsonObject[] = [];
  const echo = defineTool({
    name: 'echo',
    description: 'Says it again.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    execute: (args) => {
      ran.push(args);
      return `echo: ${args.text}`;
    },
  });
  const model = scriptedModel(turns);
  const agent = defineAgent({ model: promptedTools(model, options), tools: [echo], instructions: 'Be kind.', ...more });
  const session = await createSession(agent);
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  const result = await session.prompt('Go.').result;
  return { result, events, log: events.filter(isDurable), model, session, ran };
}

const rejections = ({ log }: Outcome) => log.flatMap((event) => (event.type === 'tool_call_rejected' ? [event] : []));

/** A request as text: who says what. */
const transcript = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).map(
    ({ role, content }) =>
      `${role}: ${content.map((block) => (block.type === 'text' ? block.text : block.type)).join(' | ')}`,
  );

describe('promptedTools', () => {
  it('runs the tool that was written into the reply, and tells its result in words', async () => {
    const outcome = await play([`I look.\n${call()}`, 'It said x.']);
    expect(outcome.result).toMatchObject({ status: 'completed', text: 'It said x.', turns: 2 });
    expect(outcome.ran).toEqual([{ text: 'x' }]);
    expect(outcome.session.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(outcome.session.messages[1]).toMatchObject({
      stopReason: 'tool_use',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_call', name: 'echo', arguments: { text: 'x' } },
      ],
    });
    expect(outcome.model.requests[1]?.tools).toEqual([]);
    expect(transcript(outcome.model.requests[1])).toEqual([
      'user: Go.',
      `assistant: I look.\n\n${call()}`,
      'user: <tool_result>\n<server_name>local</server_name>\n<tool_name>echo</tool_name>\n<status>success</status>\n<output>\necho: x\n</output>\n</tool_result>',
    ]);
  });

  it('describes the tools behind the instructions, in the order of the parts, the same in every request', async () => {
    const { model } = await play([call(), call(), 'Done.'], { sections: { repository: 'The repository is empty.' } });
    const [first] = model.requests;
    const places = [
      'Be kind.',
      'The repository is empty.',
      '# What you can do',
      '# How you work',
      '# How you think',
      '# How you call a tool',
      '# Your tools',
      '"required":["text"]',
      '# Rules',
    ].map((part) => first?.system.indexOf(part) ?? -1);
    expect(places.every((place) => place >= 0)).toBe(true);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
    for (const [at, request] of model.requests.entries()) {
      expect(request.system).toBe(first?.system);
      const before = model.requests[at - 1]?.messages ?? [];
      // The same messages, by reference: a wire writes each of them once.
      expect(request.messages.slice(0, before.length).every((message, index) => message === before[index])).toBe(true);
    }
  });

  it('leaves a part out, or says it in other words', async () => {
    const { model } = await play(['Hello.'], { sections: { reasoning: '', agentLoop: 'Step by step.' } });
    expect(model.requests[0]?.system).not.toContain('# How you think');
    expect(model.requests[0]?.system).toContain('# How you work\n\nStep by step.');
  });

  it('closes the text before the call, and streams the arguments under their tool', async () => {
    const { events } = await play([`I look.\n${call({ text: 'long enough for more than one delta' })}`, 'Done.']);
    const deltas = events.flatMap((event) => (event.type === 'message_delta' && event.turnIndex === 0 ? [event] : []));
    const text = deltas.filter(({ kind }) => kind === 'text');
    const args = deltas.filter(({ kind }) => kind === 'tool_arguments');
    expect(text.map((delta) => delta.text).join('')).toBe('I look.');
    expect(args.length).toBeGreaterThan(2);
    expect(args.every(({ toolName, index }) => toolName === 'echo' && index === 1)).toBe(true);
    expect(deltas.findLastIndex(({ kind }) => kind === 'text')).toBeLessThan(
      deltas.findIndex(({ kind }) => kind === 'tool_arguments'),
    );
    expect(args.at(-1)?.partial).toEqual({ text: 'long enough for more than one delta' });
  });

  it('gives structured output by a call', async () => {
    const output = { schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } };
    const plain = scriptedModel([
      '<tool>{"server_name":"local","tool_name":"structured_output","arguments":{"city":"Oslo"}}</tool>',
    ]);
    const agent = defineAgent({ model: promptedTools(plain), output });
    expect(agent.output?.mode).toBe('tool');
    const session = await createSession(agent);
    expect((await session.prompt('Where?').result).output).toEqual({ city: 'Oslo' });
  });

  it('sends the context of a turn in the same place as to other models', async () => {
    const { model } = await play(['Done.'], {}, { turnContext: { planning: () => 'One step.' } });
    expect(transcript(model.requests[0])).toEqual(['user: # The plan as it stands now\n\nOne step.', 'user: Go.']);
  });

  it('ends a reply with its first call, unless several are wanted', async () => {
    const reply = `One.\n${call({ text: '1' })}\nTwo.\n${call({ text: '2' })}\nThree.`;
    const first = await play([reply, 'Done.']);
    expect(first.ran).toEqual([{ text: '1' }]);
    expect(transcript(first.model.requests[1])[1]).toBe(`assistant: One.\n\n${call({ text: '1' })}`);
    const several = await play([reply, 'Done.'], { calls: 'several' });
    expect(several.ran).toEqual([{ text: '1' }, { text: '2' }]);
    expect(several.session.messages[1]?.role === 'assistant' ? several.session.messages[1].content : []).toMatchObject([
      { text: 'One.' },
      { type: 'tool_call' },
      { text: 'Two.' },
      { type: 'tool_call' },
      { text: 'Three.' },
    ]);
    expect(transcript(several.model.requests[1])[1]).toBe(
      `assistant: One.\n\n${call({ text: '1' })}\n\nTwo.\n\n${call({ text: '2' })}\n\nThree.`,
    );
  });

  it('takes text for thinking where that is wanted, and gives it back as text', async () => {
    const { session, model, result } = await play(
      [`Hm.\n${call({ message: 'Hello!' }, { server_name: 'local', tool_name: 'converse' })}`, 'x'],
      { text: 'thinking' },
      { stopTools: true, requireToolCall: 'remind' },
    );
    expect(result).toMatchObject({ status: 'completed', text: 'Hello!', stopTool: { name: 'converse' } });
    expect(session.messages[1]).toMatchObject({ content: [{ type: 'thinking', text: 'Hm.' }, { type: 'tool_call' }] });
    await session.prompt('More.').result;
    expect(transcript(model.requests[1]).slice(1)).toEqual([
      expect.stringContaining('assistant: Hm.\n\n<tool>') as string,
      // The result of a stop tool is nobody's message.
      'user: More.',
    ]);
  });

  it('calls tools of other servers by their own names', async () => {
    const ran: JsonObject[] = [];
    const read = defineTool({
      name: 'mcp__files__read_file',
      description: 'Reads.',
      execute: (args) => {
        ran.push(args);
        return 'text';
      },
    });
    const xml = '<tool><server_name>files</server_name><tool_name>read_file</tool_name></tool>';
    const { model, result } = await play([xml, 'Done.'], { form: 'xml' }, { tools: [read] });
    expect(result.status).toBe('completed');
    expect(ran).toEqual([{}]);
    expect(model.requests[0]?.system).toContain('server_name: files\ntool_name: read_file');
    expect(transcript(model.requests[1])[2]).toContain('<server_name>files</server_name>\n<tool_name>read_file');
  });

  it('T9: tools named as members of prototypes are tools, and others of such names are unknown', async () => {
    const tool = defineTool({ name: 'toString', description: 'A tool.', execute: () => 'fine' });
    const names = (tool_name: string) => ({ server_name: 'local', tool_name });
    const outcome = await play(
      [call({}, names('toString')), call({}, names('__proto__')), call({}, names('constructor')), 'Done.'],
      {},
      { tools: [tool] },
    );
    expect(outcome.log.filter(({ type }) => type === 'tool_ended')).toHaveLength(1);
    expect(rejections(outcome)).toMatchObject([
      { toolName: '__proto__', reason: 'unknown_tool' },
      { toolName: 'constructor', reason: 'unknown_tool' },
    ]);
  });

  it('T8: arguments from XML leave prototypes alone', async () => {
    const xml =
      '<tool><server_name>local</server_name><tool_name>echo</tool_name><arguments><text>a</text><__proto__><polluted>yes</polluted></__proto__></arguments></tool>';
    const outcome = await play([xml, 'Done.']);
    expect(outcome.result.status).toBe('completed');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(outcome.ran.map((args) => Object.getPrototypeOf(args) as unknown)).toEqual(
      outcome.ran.map(() => Object.prototype),
    );
  });

  it('says in words that a tool must be called, or none, and lets no call through then', async () => {
    const model = scriptedModel([`No. ${call()}`, 'Yes.']);
    const prompted = promptedTools(model);
    const tools = [{ name: 'echo', description: 'Says it.', inputSchema: { type: 'object' } }];
    const ask = async (toolChoice: 'none' | 'required') => {
      const types: string[] = [];
      const request = { system: '', messages: [], tools, toolChoice };
      for await (const event of prompted.stream(request, new AbortController().signal)) types.push(event.type);
      return types;
    };
    expect(await ask('none')).not.toContain('tool_call_start');
    await ask('required');
    expect(model.requests.map(({ system }) => system)[1]).toBe(model.requests[0]?.system);
    expect(model.requests.map((request) => transcript(request).at(-1))).toEqual([
      'user: Call no tool in this reply. Answer in words.',
      'user: Call a tool in this reply.',
    ]);
  });

  it('refuses options that are none', () => {
    expect(() => promptedTools(scriptedModel([]), { form: 'yaml' } as unknown as PromptedToolsOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });

  it('keeps the history readable for models with tool calls', async () => {
    const { session } = await play([`I look.\n${call()}`, '<tool>{oops}</tool>', 'Done.']);
    const native = scriptedModel(['Hello.']);
    const other = await createSession(defineAgent({ model: native }));
    await other.importMessages(session.exportMessages());
    await other.prompt('And?').result;
    expect(native.requests[0]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
  });
});

describe('a prompted call that is no call', () => {
  const recover = (bad: string, options: PromptedToolsOptions = {}) => play([bad, call(), 'Done.'], options);

  it.each([
    ['P5: JSON that is none', '<tool>{"server_name": local}</tool>', 'invalid_json', 'could not be read as JSON'],
    ['P5: XML that is none', '<tool><server_name>local</tool>', 'invalid_xml', 'could not be read as XML'],
    ['a call without its tool', '<tool>{"server_name":"local"}</tool>', 'missing_field', 'has no tool_name'],
    ['a call without its server', '<tool>{"tool_name":"echo"}</tool>', 'missing_field', 'has no server_name'],
    ['a call that was never closed', '<tool>{"server_name":"local","tool', 'invalid_json', '</tool> is missing'],
  ])('%s is rejected, and the model is told how to do better', async (_name, bad, reason, words) => {
    const outcome = await recover(bad);
    expect(outcome.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(outcome.ran).toEqual([{ text: 'x' }]);
    expect(rejections(outcome)).toMatchObject([
      { reason, content: [{ text: expect.stringContaining(words) as string }] },
    ]);
    const [, reply, recovery] = transcript(outcome.model.requests[1]);
    expect(reply).toBe(`assistant: ${bad}`);
    expect(recovery).toContain(words);
    expect(recovery).toContain(bad);
    expect(recovery).toContain('"tool_name":"NAME_OF_THE_TOOL"');
    // What helps the model is no part of the conversation.
    expect(JSON.stringify(outcome.session.exportMessages())).not.toContain('NAME_OF_THE_TOOL');
    expect(JSON.stringify(outcome.log)).not.toContain('NAME_OF_THE_TOOL');
  });

  it('shows 300 characters of what could not be read', async () => {
    const { model } = await recover(`<tool>{${'y'.repeat(1000)}}</tool>`);
    const [, , recovery = ''] = transcript(model.requests[1]);
    expect(recovery).toContain(`${`<tool>{${'y'.repeat(1000)}`.slice(0, 300)}…`);
    expect(recovery).not.toContain('y'.repeat(300));
  });

  it('P37: a tool that is not there is answered with those that are', async () => {
    const outcome = await recover(call({}, { server_name: 'local', tool_name: 'nope' }));
    expect(rejections(outcome)).toMatchObject([{ reason: 'unknown_tool', toolName: 'nope' }]);
    expect(transcript(outcome.model.requests[1])[2]).toMatch(/no tool named "nope".*The tools are: echo/s);
    const elsewhere = await recover(call({}, { server_name: 'files', tool_name: 'echo' }));
    expect(rejections(elsewhere)).toMatchObject([{ reason: 'unknown_tool', toolName: 'mcp__files__echo' }]);
  });

  it('P11: no arguments are none, and what they lack is said', async () => {
    const outcome = await recover('<tool>{"server_name":"local","tool_name":"echo","arguments":""}</tool>');
    expect(rejections(outcome)).toMatchObject([{ reason: 'invalid_arguments' }]);
    expect(transcript(outcome.model.requests[1])[2]).toContain('/text');
  });

  it('P4: a call that the length cut off is never executed', async () => {
    const cut = call().slice(0, -12);
    const outcome = await play([{ text: cut, stopReason: 'length' }, 'Done.']);
    expect(outcome.ran).toEqual([]);
    expect(rejections(outcome)).toMatchObject([{ reason: 'cut_off' }]);
    expect(outcome.result.text).toBe('Done.');
  });

  it('takes a call without a server for a local one where that is allowed', async () => {
    const outcome = await recover('<tool>{"tool_name":"echo","arguments":{"text":"y"}}</tool>', {
      missingServer: 'local',
    });
    expect(outcome.ran).toEqual([{ text: 'y' }, { text: 'x' }]);
  });
});
