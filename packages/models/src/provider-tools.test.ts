import { createSession, defineAgent, defineTool, memoryJournal, openSession, type JsonObject } from '@treadle/core';
import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { anthropic } from './anthropic.ts';
import { resolveModel } from './deployments.ts';

const PNG = 'iVBORw0KGgo=';
const SCREEN = { type: 'image', mediaType: 'image/png', data: PNG } as const;

const bodiesOf = (provider: FakeProvider): readonly JsonObject[] => {
  expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
  return provider.requests.map(({ body }) => body as JsonObject);
};

describe('a tool of Anthropic that the client executes', () => {
  const claude = (provider: FakeProvider) => anthropic('claude-opus-5-5', { baseUrl: provider.anthropicBaseUrl });

  it.each([
    ['bash_20250124', 'bash', { command: 'ls' }, undefined],
    ['text_editor_20250728', 'str_replace_based_edit_tool', { command: 'view', path: '/a' }, undefined],
    ['memory_20250818', 'memory', { command: 'view', path: '/memories' }, 'context-management-2025-06-27'],
    ['computer_20251124', 'computer', { action: 'screenshot' }, 'computer-use-2025-11-24'],
  ])('is declared as %s and executed by the tool of its name', async (type, name, args, beta) => {
    await using provider = await fakeProvider([{ toolCalls: [{ name, arguments: args }] }, 'Done.']);
    const ran: unknown[] = [];
    const tool = defineTool({ name, description: 'Acts.', execute: (given) => (ran.push(given), [SCREEN]) });
    const providerTools = [{ name, provider: 'anthropic', definition: { type, name } }];
    const session = await createSession(defineAgent({ model: claude(provider), tools: [tool], providerTools }));
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(ran).toEqual([args]);
    const [first, second] = bodiesOf(provider);
    expect(first?.['tools']).toMatchObject([{ type, name }]);
    expect(JSON.stringify(second?.['messages'])).toContain(
      `"type":"tool_result","tool_use_id":"${JSON.stringify(second).match(/"type":"tool_use","id":"([^"]+)/)?.[1]}"`,
    );
    expect(JSON.stringify(second?.['messages'])).toContain(PNG);
    const betas = provider.requests[0]?.headers['anthropic-beta'] ?? '';
    expect(betas.includes(beta ?? 'computer-use')).toBe(beta !== undefined);
  });

  it('is an ordinary function to another provider', async () => {
    await using provider = await fakeProvider([
      { toolCalls: [{ name: 'bash', arguments: { command: 'ls' } }] },
      'Done.',
    ]);
    const tool = defineTool({ name: 'bash', description: 'Runs a command.', execute: () => 'a.txt' });
    const providerTools = [
      { name: 'bash', provider: 'anthropic', definition: { type: 'bash_20250124', name: 'bash' } },
    ];
    const model = resolveModel('openai/gpt-6-luna', { baseUrl: provider.openaiBaseUrl, apiKey: 'k' });
    const session = await createSession(defineAgent({ model, tools: [tool], providerTools }));
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(bodiesOf(provider)[0]?.['tools']).toMatchObject([{ type: 'function', name: 'bash' }]);
  });
});

describe('a tool of OpenAI that the client executes', () => {
  const gpt = (provider: FakeProvider) =>
    resolveModel('openai/gpt-6-luna', { baseUrl: provider.openaiBaseUrl, apiKey: 'k' });
  const item = (raw: JsonObject): NonNullable<ProviderTurn['content']>[number] => ({
    type: 'provider_tool_call',
    callId: 'call_1',
    name: 'x',
    arguments: {},
    raw: { call_id: 'call_1', status: 'completed', ...raw },
  });
  const bound = (type: string) => [{ name: type, provider: 'openai', definition: { type } }];
  const toolOf = (name: string, execute: (args: JsonObject) => unknown, inputSchema: JsonObject = { type: 'object' }) =>
    defineTool({ name, description: 'Acts.', inputSchema, execute: (args) => execute(args) as string });

  const SHELL = { id: 'lsh_1', type: 'local_shell_call', action: { type: 'exec', command: ['ls', '-a'], env: {} } };
  const PATCH = {
    id: 'apc_1',
    type: 'apply_patch_call',
    operation: { type: 'create_file', path: 'list.md', diff: '+ Milk' },
  };
  const CLICK = { id: 'cu_1', type: 'computer_call', actions: [{ type: 'click', x: 1, y: 2 }] };

  it.each([
    ['local_shell', SHELL, 'a.txt', [{ output: 'a.txt' }]],
    ['apply_patch', PATCH, 'Written.', [{ status: 'completed', output: 'Written.' }]],
    [
      'computer',
      CLICK,
      [SCREEN, { type: 'text', text: 'Clicked.' }],
      [
        { output: { type: 'computer_screenshot', image_url: `data:image/png;base64,${PNG}` } },
        { role: 'user', content: [{ type: 'input_text', text: 'Clicked.' }] },
      ],
    ],
  ])('executes %s by the tool of its name, and answers in its form', async (name, call, output, answers) => {
    await using provider = await fakeProvider([{ content: [item(call)] }, 'Done.']);
    const ran: JsonObject[] = [];
    const tool = toolOf(name, (args) => (ran.push(args), output));
    const agent = defineAgent({ model: gpt(provider), tools: [tool], providerTools: bound(name) });
    const session = await createSession(agent);
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    const { id: _id, type, ...args } = call;
    expect(ran).toEqual([args]);
    const [first, second] = bodiesOf(provider);
    expect(first?.['tools']).toEqual([{ type: name }]);
    const input = second?.['input'] as readonly JsonObject[];
    expect(input[1]).toEqual({ ...call, call_id: 'call_1', status: 'completed' });
    const [answer, ...others] = answers;
    expect(input.slice(2)).toEqual([{ type: `${type}_output`, call_id: 'call_1', ...answer }, ...others]);
  });

  it('says in each form that a call failed', async () => {
    const answersTo = async (name: string, call: JsonObject): Promise<readonly JsonObject[]> => {
      await using provider = await fakeProvider([{ content: [item(call)] }, 'Done.']);
      const tool = toolOf(name, () => Promise.reject(new Error('No such thing.')));
      const agent = defineAgent({ model: gpt(provider), tools: [tool], providerTools: bound(name) });
      expect((await (await createSession(agent)).prompt('Go.').result).status).toBe('completed');
      const input = bodiesOf(provider)[1]?.['input'] as readonly JsonObject[];
      return input.slice(2);
    };
    const output: unknown = expect.stringContaining('No such thing.');
    expect(await answersTo('local_shell', SHELL)).toMatchObject([{ output }]);
    expect(await answersTo('apply_patch', PATCH)).toMatchObject([{ status: 'failed', output }]);
    expect(await answersTo('shell', { id: 'sh_1', type: 'shell_call', action: { commands: ['ls'] } })).toMatchObject([
      { output: [{ stdout: '', stderr: output, outcome: { type: 'exit', exit_code: 1 } }] },
    ]);
    expect(await answersTo('computer', CLICK)).toMatchObject([
      { output: { type: 'computer_screenshot' } },
      { content: [{ type: 'input_text', text: output }] },
    ]);
  });

  it('is asked for, and runs after the session was opened again', async () => {
    await using provider = await fakeProvider([{ content: [item(SHELL)] }, 'Done.']);
    const journal = memoryJournal();
    const ran: unknown[] = [];
    const agent = defineAgent({
      model: gpt(provider),
      tools: [toolOf('local_shell', (args) => (ran.push(args), 'a.txt'))],
      providerTools: bound('local_shell'),
      permissions: { ask: ['local_shell'] },
    });
    const first = await createSession(agent, { journal, id: 's1' });
    expect((await first.prompt('Go.').result).status).toBe('paused');
    expect(ran).toEqual([]);
    await first.close();
    const again = await openSession(agent, 's1', { journal });
    const [question] = again.pending;
    if (question?.type !== 'approval') throw new Error('Nothing is asked.');
    expect(question).toMatchObject({ toolName: 'local_shell', arguments: { action: SHELL.action } });
    expect((await again.approve(question).result).text).toBe('Done.');
    expect(ran).toEqual([{ action: SHELL.action }]);
  });

  it('runs with safety checks only where its schema knows of them, and acknowledges them then', async () => {
    const pending_safety_checks = [{ id: 'sc_1', code: 'malicious_instructions', message: 'Look here.' }];
    const call = { ...CLICK, pending_safety_checks };
    const play = async (properties: JsonObject) => {
      await using provider = await fakeProvider([{ content: [item(call)] }, 'Done.']);
      const ran: unknown[] = [];
      const tool = toolOf('computer', (args) => (ran.push(args), [SCREEN]), { type: 'object', properties });
      const agent = defineAgent({ model: gpt(provider), tools: [tool], providerTools: bound('computer') });
      await (await createSession(agent)).prompt('Go.').result;
      return { ran, bodies: bodiesOf(provider) };
    };
    const unaware = await play({});
    expect(unaware.ran).toEqual([]);
    expect(unaware.bodies).toHaveLength(1);
    const aware = await play({ pending_safety_checks: { type: 'array' } });
    expect(aware.ran).toEqual([{ actions: CLICK.actions, pending_safety_checks }]);
    expect(JSON.stringify(aware.bodies[1]?.['input'])).toContain(
      `"acknowledged_safety_checks":${JSON.stringify(pending_safety_checks)}`,
    );
  });
});
