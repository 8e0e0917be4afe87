import { describe, expect, it } from 'vitest';
import { scriptedModel } from '@treadle/testing';
import { createSession, defineAgent, defineHook, defineTool, type DurableEvent, type Tool } from '../../index.ts';
import type { ModelRequest } from '../../model/model.ts';
import { indexTools } from './ranking.ts';

const calls: string[] = [];

const tool = (name: string, description: string): Tool =>
  defineTool({
    name,
    description,
    inputSchema: { type: 'object', properties: { id: { type: 'string', description: 'Which one.' } } },
    execute: ({ id = '' }) => {
      calls.push(`${name} ${id}`);
      return `${name} did ${id}`;
    },
  });

const orders = ['list', 'cancel', 'ship', 'refund'].map((verb) => tool(`${verb}_order`, `${verb} an order`));
const search = { name: 'search_tools', arguments: { query: 'cancel an order' } };
const call = { name: 'call_tool', arguments: { name: 'cancel_order', arguments: { id: '7' } } };

const namesIn = (request: ModelRequest | undefined): readonly string[] => request?.tools.map(({ name }) => name) ?? [];

async function eventsOf(session: Awaited<ReturnType<typeof createSession>>, prompt: string): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of session.prompt(prompt)) if ('seq' in event) events.push(event);
  return events;
}

describe('definitions within the budget', () => {
  it('are all in the prompt', async () => {
    const model = scriptedModel(['Hello.']);
    const session = await createSession(defineAgent({ model, tools: orders }));
    await session.prompt('Hello').result;
    expect(namesIn(model.requests[0])).toEqual(['list_order', 'cancel_order', 'ship_order', 'refund_order']);
  });
});

describe('definitions beyond the budget', () => {
  const toolSearch = { maxTokens: 100 };

  it('are found with search_tools, and called by call_tool under their own names', async () => {
    calls.length = 0;
    const model = scriptedModel([{ toolCalls: [search] }, { toolCalls: [call] }, 'It is cancelled.']);
    const seen: string[] = [];
    const hook = defineHook('before_tool', ({ toolName }) => void seen.push(toolName), { matcher: 'cancel_order' });
    const session = await createSession(defineAgent({ model, tools: orders, toolSearch, hooks: [hook] }));
    const events = await eventsOf(session, 'Cancel order 7');
    expect(namesIn(model.requests[0])).toEqual(['search_tools', 'call_tool']);
    expect(JSON.stringify(model.requests[1]?.messages.at(-1)?.content)).toContain('cancel_order');
    expect(calls).toEqual(['cancel_order 7']);
    expect(seen).toEqual(['cancel_order']);
    const named = events.flatMap((event) =>
      event.type === 'tool_started' || event.type === 'tool_ended' ? `${event.type} ${event.toolName}` : [],
    );
    expect(named).toEqual([
      'tool_started search_tools',
      'tool_ended search_tools',
      'tool_started cancel_order',
      'tool_ended cancel_order',
    ]);
  });

  it('leave each request the beginning of the next, with the call as the model made it', async () => {
    const model = scriptedModel([{ toolCalls: [search] }, { toolCalls: [call] }, 'Done.', 'Again.']);
    const session = await createSession(defineAgent({ model, tools: orders, toolSearch }));
    await session.prompt('Cancel order 7').result;
    await session.prompt('And now?').result;
    const texts = model.requests.map(({ tools, messages }) => ({
      tools: JSON.stringify(tools),
      messages: messages.map((message) => JSON.stringify(message)),
    }));
    expect(new Set(texts.map(({ tools }) => tools)).size).toBe(1);
    for (const [at, { messages }] of texts.slice(1).entries()) {
      expect(messages.slice(0, texts[at]?.messages.length)).toEqual(texts[at]?.messages);
    }
    const [, , reply] = model.requests[2]?.messages.slice(1) ?? [];
    expect(reply?.content).toMatchObject([{ type: 'tool_call', ...call }]);
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', toolName: 'call_tool' });
  });

  it('are held to the rules of their own names', async () => {
    calls.length = 0;
    const model = scriptedModel([{ toolCalls: [call] }, 'I may not.']);
    const permissions = { ask: ['cancel_order'] };
    const session = await createSession(defineAgent({ model, tools: orders, toolSearch, permissions }));
    const { status, pending } = await session.prompt('Cancel order 7').result;
    expect(status).toBe('paused');
    expect(pending).toMatchObject([{ type: 'approval', toolName: 'cancel_order', arguments: { id: '7' } }]);
    expect(calls).toEqual([]);
  });

  it('are not found while every call of them is denied, by the agent or by the session', async () => {
    const model = scriptedModel(['Hi.', { toolCalls: [search] }, 'Found.']);
    const permissions = { deny: ['ship_order'] };
    const session = await createSession(defineAgent({ model, tools: orders, toolSearch, permissions }));
    await session.prompt('Hi').result;
    await session.updatePermissions([
      { type: 'addRules', behavior: 'deny', rules: ['cancel_order'], destination: 'session' },
    ]);
    await session.prompt('Which tools cancel an order?').result;
    const found = JSON.stringify(model.requests[2]?.messages.at(-1));
    expect(found).toContain('refund_order');
    for (const name of ['cancel_order', 'ship_order']) expect(found).not.toContain(name);
  });

  it.each([
    ['no name', { arguments: {} }],
    ['its own name', { name: 'call_tool', arguments: {} }],
    ['arguments that are no object', { name: 'cancel_order', arguments: [1] }],
  ])('run nothing for a call with %s', async (_, args) => {
    calls.length = 0;
    const model = scriptedModel([{ toolCalls: [{ name: 'call_tool', arguments: args }] }, 'Sorry.']);
    const session = await createSession(defineAgent({ model, tools: orders, toolSearch }));
    const { status } = await session.prompt('Cancel order 7').result;
    expect(status).toBe('completed');
    expect(calls).toEqual([]);
    expect(JSON.stringify(model.requests[1]?.messages.at(-1)?.content)).toContain('call_tool takes the name of a tool');
  });

  it('say which tools there are when a model calls one that there is not, and no others', async () => {
    const unknown = { name: 'call_tool', arguments: { name: 'burn_order', arguments: {} } };
    const model = scriptedModel([{ toolCalls: [unknown] }, 'Sorry.']);
    const session = await createSession(defineAgent({ model, tools: orders, toolSearch }));
    await session.prompt('Burn order 7').result;
    expect(JSON.stringify(model.requests[1]?.messages.at(-1)?.content)).toContain(
      'There is no tool named \\"burn_order\\". The tools are: search_tools, call_tool.',
    );
  });

  it('stay where a tool ends the run, or says so', () => {
    const kept = defineTool({ name: 'kept', description: 'Stays.', deferLoading: false, execute: () => '' });
    const end = defineTool({ name: 'end', description: 'Ends.', endsRun: true, execute: () => '' });
    const model = scriptedModel([]);
    const agent = defineAgent({ model, tools: [...orders, kept, end], toolSearch: { maxTokens: 0 } });
    expect(agent.toolDefinitions.map(({ name }) => name)).toEqual(['kept', 'end', 'search_tools', 'call_tool']);
  });

  it('leave first where a tool offers it', () => {
    const many = orders.map((one) => ({ ...one, name: `many_${one.name}`, deferLoading: true }));
    const agent = defineAgent({
      model: scriptedModel([]),
      tools: [...many, ...orders],
      toolSearch: { maxTokens: 250 },
    });
    expect(agent.toolDefinitions.map(({ name }) => name)).toEqual([
      ...orders.map(({ name }) => name),
      'search_tools',
      'call_tool',
    ]);
  });

  it('go to a model that adds them in place', async () => {
    const scripted = scriptedModel([{ toolCalls: [search] }, { toolCalls: [{ name: 'cancel_order' }] }, 'Done.']);
    const session = await createSession(
      defineAgent({ model: { ...scripted, deferredTools: true }, tools: orders, toolSearch }),
    );
    await session.prompt('Cancel order 7').result;
    expect(scripted.requests.map(namesIn)).toEqual([['search_tools'], ['search_tools'], ['search_tools']]);
    expect(scripted.requests[2]?.deferredTools?.map(({ name }) => name)).toEqual(orders.map(({ name }) => name));
    expect(scripted.requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', toolName: 'cancel_order' });
  });

  it('refuse a tool with the name of one of theirs', () => {
    const define = () =>
      defineAgent({ model: scriptedModel([]), tools: [...orders, tool('call_tool', 'Calls.')], toolSearch });
    expect(define).toThrow('"call_tool" is the name of a built-in tool of agents that defer tools.');
  });
});

describe('a list of tools that changes', () => {
  it('is searched and called as it is now, and leaves the prompt as it was', async () => {
    calls.length = 0;
    let listed: readonly Tool[] = [orders[0] ?? tool('none', 'None.')];
    const change = defineTool({
      name: 'restart_server',
      description: 'Restarts it.',
      execute: () => void (listed = orders),
    });
    const model = scriptedModel([
      { toolCalls: [search] },
      { toolCalls: [{ name: 'restart_server' }] },
      { toolCalls: [search] },
      { toolCalls: [call] },
      'Done.',
    ]);
    const session = await createSession(defineAgent({ model, tools: [change], toolSearch: { source: () => listed } }));
    const { status } = await session.prompt('Cancel order 7').result;
    expect(status).toBe('completed');
    expect(calls).toEqual(['cancel_order 7']);
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('refund_order');
    expect(JSON.stringify(model.requests[3]?.messages)).toContain('refund_order');
    expect(new Set(model.requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1);
  });
});

describe('a search', () => {
  const index = indexTools(orders.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })));
  const first = (query: string): string | undefined => index.find(query, 1)[0]?.name;

  it('finds a tool by its name, by words that mean the same, and by what is to be done', () => {
    expect(first('ship_order')).toBe('ship_order');
    expect(first('stopping orders')).toBe('cancel_order');
    expect(first('show me all orders')).toBe('list_order');
  });

  it('finds nothing where no word fits', () => {
    expect(index.find('weather', 5)).toEqual([]);
    expect(index.find('', 5)).toEqual([]);
  });
});
