import { describe, expect, it } from 'vitest';
import { countingIds, golden, scriptedModel } from '@treadle/testing';
import { createSession, defineAgent, defineTool, memoryJournal, openSession } from '../index.ts';

const search = defineTool({
  name: 'search',
  description: 'Searches.',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  execute: ({ query }) => `results for ${query}`,
});
const pickColour = defineTool({
  name: 'pick_colour',
  description: 'Asks the user for a colour in the page.',
  inputSchema: { type: 'object', properties: {} },
  runs: 'client',
});

describe('tools of the browser', () => {
  it('run after all of ours; the state is durable before the pause is told, and any process goes on', async () => {
    const journal = memoryJournal();
    const model = scriptedModel([
      {
        toolCalls: [
          { name: 'pick_colour', arguments: {} },
          { name: 'search', arguments: { query: 'blue' } },
        ],
      },
      'It is blue.',
    ]);
    const agent = defineAgent({ model, tools: [search, pickColour] });
    const script = golden();
    const first = await createSession(agent, { id: 's', journal, ids: countingIds() });
    first.subscribe(script.observe);
    const logged: string[] = [];
    first.subscribe(async (event) => {
      if (event.type !== 'run_paused') return;
      for await (const { type } of journal.read('s', event.seq)) logged.push(type);
    });
    const paused = await first.prompt('Paint it.').result;
    expect(paused.status).toBe('paused');
    expect(logged[0]).toBe('run_paused');

    // Nothing of the first process is used from here on.
    const second = await openSession(agent, 's', { journal });
    second.subscribe(script.observe);
    const results = paused.pending.map(({ callId }) => ({ callId, content: 'blue' }));
    const { status, messages } = await second.addToolOutputs(results).result;
    expect(status).toBe('completed');
    expect(`\n${script.text()}`).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Paint it."
    message_added assistant (tool_use) calls pick_colour, calls search
    tool_started pick_colour {}
    tool_started search {"query":"blue"}
    tool_ended search "results for blue"
    run_paused client_tools pick_colour
tool_ended pick_colour "blue"
turn_ended
turn_started 1 by continuation
  message_added assistant (stop) "It is blue."
turn_ended
run_ended completed`);
    // Results are in the order of the calls, and the history of the run is whole.
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
    expect(model.requests[1]?.messages.slice(2)).toMatchObject([
      { role: 'tool', toolName: 'pick_colour' },
      { role: 'tool', toolName: 'search' },
    ]);
  });
});

describe('a file that is shown while it is written', () => {
  it('streams its arguments before the call starts, and the next turn begins after its result', async () => {
    const createFile = defineTool({
      name: 'create_file',
      description: 'Creates a file.',
      inputSchema: { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] },
      execute: ({ content }) => `Created, ${content.length} characters.`,
    });
    const script = golden({ live: true });
    const model = scriptedModel([
      {
        thinking: 'A page.',
        text: 'Here.',
        toolCalls: [{ name: 'create_file', arguments: { content: '<h1>Hi</h1>' } }],
        chunkSize: 12,
      },
      'Done.',
    ]);
    const session = await createSession(defineAgent({ model, tools: [createFile] }));
    session.subscribe(script.observe);
    await session.prompt('A page, please.').result;
    expect(`\n${script.text()}`).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "A page, please."
    message_started
    message_delta thinking "A page."
    message_delta text "Here."
    message_delta tool_arguments ""
    message_delta tool_arguments "{\\"content\\":\\""
    message_delta tool_arguments "<h1>Hi</h1>\\""
    message_delta tool_arguments "}"
    message_added assistant (tool_use) thinking, "Here.", calls create_file
    tool_started create_file {"content":"<h1>Hi</h1>"}
    tool_ended create_file "Created, 11 characters."
  turn_ended
  turn_started 1 by continuation
    message_started
    message_delta text "Done."
    message_added assistant (stop) "Done."
  turn_ended
run_ended completed`);
  });
});
