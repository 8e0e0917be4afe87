import { describe, expect, it } from 'vitest';
import { golden, scriptedModel, type Turn } from '@treadle/testing';
import { createSession, defineAgent, defineTool, type AgentDefinition, type JsonObject } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { promptedTools } from './prompted-tools.ts';

// The loop of prompted tool calls, with each way in which a call comes to nothing, as transcripts.

const read = defineTool({
  name: 'read',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  readOnly: true,
  execute({ path }) {
    if (path === 'gone.txt') throw new Error('no such file');
    return `text of ${path}`;
  },
});
const find = defineTool({
  name: 'mcp__web__find',
  description: 'Finds a page.',
  readOnly: true,
  execute: () => 'a page',
});

const call = (tool_name: string, args: JsonObject, server_name = 'local'): string =>
  `<tool>${JSON.stringify({ server_name, tool_name, arguments: args })}</tool>`;

const done = call('task_completion', { result: 'It is done.' });

interface Played {
  readonly transcript: string;
  /** What the model was told last in each request, its first line. */
  readonly told: readonly string[];
  readonly text: string;
}

async function play(
  turns: readonly (Turn | string)[],
  more: Partial<AgentDefinition> = {},
  live = false,
): Promise<Played> {
  const model = scriptedModel(turns, { chunkSize: 60 });
  const agent = defineAgent({
    model: promptedTools(model),
    tools: [read, find],
    stopTools: true,
    requireToolCall: 'remind',
    ...more,
  });
  const session = await createSession(agent, { id: 's' });
  const script = golden({ live });
  session.subscribe(script.observe);
  const { text } = await session.prompt('Do it.').result;
  return { transcript: `\n${script.text()}`, told: model.requests.map(lastLine), text: text };
}

function lastLine({ messages }: ModelRequest): string {
  const block = messages.at(-1)?.content[0];
  return block?.type === 'text' ? (block.text.split('\n')[0] ?? '') : '';
}

describe('the loop', () => {
  it('reads the call from the text, runs the tool, gives back its result, and ends by a stop tool', async () => {
    const { transcript, text } = await play([`I read it.\n${call('read', { path: 'a.txt' })}`, done], {}, true);
    expect(text).toBe('It is done.');
    expect(transcript).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_started
    message_delta text "I read it."
    message_delta tool_arguments ""
    message_delta tool_arguments "{\\"path\\":\\"a.txt\\"}"
    message_added assistant (tool_use) "I read it.", calls read
    tool_started read {"path":"a.txt"}
    tool_ended read "text of a.txt"
  turn_ended
  turn_started 1 by continuation
    message_started
    message_delta tool_arguments ""
    message_delta tool_arguments "{\\"result\\":\\"It is done.\\"}"
    message_added assistant (tool_use) calls task_completion
    tool_started task_completion {"result":"It is done."}
    tool_ended task_completion "Delivered to the user."
  turn_ended
run_ended completed`);
  });

  it('calls tools of other servers by their own names', async () => {
    const { transcript: text } = await play([call('find', {}, 'web'), done]);
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (tool_use) calls mcp__web__find
    tool_started mcp__web__find {}
    tool_ended mcp__web__find "a page"
  turn_ended
  turn_started 1 by continuation
    message_added assistant (tool_use) calls task_completion
    tool_started task_completion {"result":"It is done."}
    tool_ended task_completion "Delivered to the user."
  turn_ended
run_ended completed`);
  });

  it.each([
    ['task_completion', { result: 'All of it.' }, 'All of it.'],
    ['ask_question', { question: 'Which?', suggestions: ['a', 'b'] }, 'Which?\n- a\n- b'],
    ['converse', { message: 'Hello.' }, 'Hello.'],
  ])('is left by %s', async (name, args, said) => {
    const { transcript, text } = await play([call(name, args)]);
    expect(text).toBe(said);
    expect(transcript).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (tool_use) calls ${name}
    tool_started ${name} ${JSON.stringify(args)}
    tool_ended ${name} "Delivered to the user."
  turn_ended
run_ended completed`);
  });

  it('is left at the limit of turns', async () => {
    const { transcript: text } = await play(['Hm.', 'Hm.', 'Hm.'], { limits: { maxTurns: 2 } });
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (stop) "Hm."
    tool_call_rejected  (no_call) "The reply called no tool."
  turn_ended
  turn_started 1 by continuation
    message_added user (reminder) "Your last reply called no tool, so nothing was done. If the task is not finished, call the tool for the next step. If it is, end it by calling one of: task_completion, ask_question, converse."
    message_added assistant (stop) "Hm."
    tool_call_rejected  (no_call) "The reply called no tool."
  turn_ended
  message_added user (limit) "[Agent stopped: turn limit reached (2 of 2 turns)]"
run_ended turn_limit "turn limit reached (2 of 2 turns)"`);
  });

  it('is left when the model fails for good', async () => {
    const error = { kind: 'auth', message: 'The key is wrong.', retryable: false } as const;
    const { transcript: text } = await play([call('read', { path: 'a.txt' }), { error }]);
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (tool_use) calls read
    tool_started read {"path":"a.txt"}
    tool_ended read "text of a.txt"
  turn_ended
  turn_started 1 by continuation
    attempt_failed auth
  turn_ended
run_ended model_error "The key is wrong."`);
  });
});

describe('a reply that comes to nothing', () => {
  it('no call: it is noted, and the model is reminded', async () => {
    const { transcript: text, told } = await play(['Well, well.', done]);
    expect(told[1]).toBe(
      'Your last reply called no tool, so nothing was done. If the task is not finished, call the tool for the next step. ' +
        'If it is, end it by calling one of: task_completion, ask_question, converse.',
    );
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (stop) "Well, well."
    tool_call_rejected  (no_call) "The reply called no tool."
  turn_ended
  turn_started 1 by continuation
    message_added user (reminder) "Your last reply called no tool, so nothing was done. If the task is not finished, call the tool for the next step. If it is, end it by calling one of: task_completion, ask_question, converse."
    message_added assistant (tool_use) calls task_completion
    tool_started task_completion {"result":"It is done."}
    tool_ended task_completion "Delivered to the user."
  turn_ended
run_ended completed`);
  });

  const recoveries = [
    [
      'JSON that is none',
      '<tool>{"server_name" "local"}</tool>',
      'tool (invalid_json)',
      'Not executed: the call could not be read as JSON ("\\"" is not expected there).',
    ],
    [
      'XML that is none',
      '<tool><server_name>local</server_name><tool_name>read</tool>',
      'tool (invalid_xml)',
      'Not executed: the call could not be read as XML (</tool> is missing, or something before it has no end).',
    ],
    [
      'no server',
      '<tool>{"tool_name":"read","arguments":{}}</tool>',
      'read (missing_field)',
      'Not executed: the call has no server_name.',
    ],
    [
      'no tool',
      '<tool>{"server_name":"local","arguments":{}}</tool>',
      'tool (missing_field)',
      'Not executed: the call has no tool_name.',
    ],
  ] as const;

  it.each(recoveries)('%s: it is rejected, and the model is told how to do better', async (_name, bad, what, words) => {
    const { transcript: text, told } = await play([bad, done]);
    expect(told[1]).toBe(words);
    const name = what.split(' ')[0] ?? '';
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (tool_use) calls ${name}
    tool_call_rejected ${what} ${JSON.stringify(words)}
  turn_ended
  turn_started 1 by continuation
    message_added assistant (tool_use) calls task_completion
    tool_started task_completion {"result":"It is done."}
    tool_ended task_completion "Delivered to the user."
  turn_ended
run_ended completed`);
  });

  it('a tool that is not there, here or on another server: the model is told which there are', async () => {
    const { transcript: text, told } = await play([call('nope', {}), call('read', {}, 'web'), done]);
    expect(told.slice(1)).toEqual([
      'There is no tool named "nope". The tools are: read, mcp__web__find, task_completion, ask_question, converse.',
      'There is no tool named "mcp__web__read". The tools are: read, mcp__web__find, task_completion, ask_question, converse.',
    ]);
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (tool_use) calls nope
    tool_call_rejected nope (unknown_tool) "There is no tool named \\"nope\\". The tools are: read, mcp__web__find, task_completion, ask_question, converse."
  turn_ended
  turn_started 1 by continuation
    message_added assistant (tool_use) calls mcp__web__read
    tool_call_rejected mcp__web__read (unknown_tool) "There is no tool named \\"mcp__web__read\\". The tools are: read, mcp__web__find, task_completion, ask_question, converse."
  turn_ended
  turn_started 2 by continuation
    message_added assistant (tool_use) calls task_completion
    tool_started task_completion {"result":"It is done."}
    tool_ended task_completion "Delivered to the user."
  turn_ended
run_ended completed`);
  });

  it('arguments that do not fit, and a tool that fails: the model reads why', async () => {
    const { transcript: text, told } = await play([call('read', {}), call('read', { path: 'gone.txt' }), done]);
    expect(told.slice(1)).toEqual(['<tool_result>', '<tool_result>']);
    expect(text).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Do it."
    message_added assistant (tool_use) calls read
    tool_call_rejected read (invalid_arguments) "Not executed: the arguments of read don't fit its schema.\\n- /path: is required but missing"
  turn_ended
  turn_started 1 by continuation
    message_added assistant (tool_use) calls read
    tool_started read {"path":"gone.txt"}
    tool_ended read (error) "read failed: no such file"
  turn_ended
  turn_started 2 by continuation
    message_added assistant (tool_use) calls task_completion
    tool_started task_completion {"result":"It is done."}
    tool_ended task_completion "Delivered to the user."
  turn_ended
run_ended completed`);
  });
});
