import { countingIds, golden, logOf, scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import { sessionTree, type ChildRunRef } from '../../entries/projections.ts';
import {
  agentsTool,
  asTool,
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  handoffTool,
  memoryJournal,
  type Agent,
  type AgentDefinition,
  type Tool,
} from '../../index.ts';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
  approval: 'always',
  execute: ({ amount }) => `paid ${amount}`,
});

const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });

type Script = Parameters<typeof scriptedModel>[0];

const reader = (turns: Script, more: Partial<AgentDefinition> = {}): Agent =>
  defineAgent({ id: 'reader', model: scriptedModel(turns), ...more });

const asks = (name: string, args: Record<string, string>): Turn => ({
  toolCalls: [{ name, arguments: args }],
});

async function bossOf(tools: readonly Tool[], turns: Script, more: Partial<AgentDefinition> = {}) {
  const journal = memoryJournal();
  const boss = defineAgent({ id: 'boss', model: scriptedModel(turns), tools, ...more });
  const session = await createSession(boss, { id: 's', journal, ids: countingIds() });
  const script = golden({ children: true });
  session.subscribe(script.observe);
  return { journal, session, script };
}

/** A boss that asks the reader once. */
const delegating = (child: Agent) =>
  bossOf([asTool(child, { description: 'Reads.' })], [asks('reader', { prompt: 'Read it.' }), 'Thanks.']);

describe('a sub-agent that succeeds', () => {
  it('has its own run within the call of its parent, which gets its last message and its run', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'hello' });
    const { session, script } = await delegating(reader([asks('look', {}), 'It says hello.'], { tools: [look] }));
    await session.prompt('What does it say?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "What does it say?"
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it."}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     message_added assistant (tool_use) calls look
      reader|     tool_started look {}
      reader|     tool_ended look "hello"
      reader|   turn_ended
      reader|   turn_started 1 by continuation
      reader|     message_added assistant (stop) "It says hello."
      reader|   turn_ended
      reader| run_ended completed
          tool_ended reader "It says hello.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "Thanks."
        turn_ended
      run_ended completed"
    `);
  });

  it('is chosen by its type, and the hooks about sub-agents are told of its start and given its transcript', async () => {
    const types = {
      reader: { agent: reader(['It says hello.']), description: 'Reads.' },
      writer: { agent: defineAgent({ id: 'writer', model: scriptedModel(['Written.']) }), description: 'Writes.' },
    };
    const call = asks('agent', { subagent_type: 'writer', prompt: 'Write it.' });
    const { note, hook } = hooksOf();
    const { session, script } = await bossOf([agentsTool(types)], [call, 'Thanks.'], { hooks: hook });
    note.to = script.note;
    await session.prompt('Write hello.').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Write hello."
          message_added assistant (tool_use) calls agent
          tool_started agent {"subagent_type":"writer","prompt":"Write it."}
          - subagent_start of writer
      writer| run_started
      writer|   turn_started 0 by subAgent
      writer|     message_added user (prompt) "Write it."
      writer|     message_added assistant (stop) "Written."
      writer|   turn_ended
          - subagent_stop of writer: "Written." after user, assistant
      writer|   decision_made hook stop {"decision":"proceed"}
      writer| run_ended completed
          tool_ended agent "Written.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call agent with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "Thanks."
        turn_ended
      run_ended completed"
    `);
  });

  it('is gone on with where its parent says so: it knows what was said there', async () => {
    const child = reader(['It says hello.', 'In English.']);
    const first = asks('reader', { prompt: 'Read it.' });
    const again = ({ messages }: ModelRequest): Turn => {
      const resume = /resume: \\"(\w+)\\"/.exec(JSON.stringify(messages))?.[1] ?? '';
      return asks('reader', { prompt: 'In which language?', resume });
    };
    const { session, script } = await bossOf([asTool(child, { description: 'Reads.' })], [first, again, 'Thanks.']);
    await session.prompt('What does it say?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "What does it say?"
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it."}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     message_added assistant (stop) "It says hello."
      reader|   turn_ended
      reader| run_ended completed
          tool_ended reader "It says hello.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 1 by continuation
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"In which language?","resume":"sub_call_1_q7hxf1m7nuq9"}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "In which language?"
      reader|     message_added assistant (stop) "In English."
      reader|   turn_ended
      reader| run_ended completed
          tool_ended reader "In English.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.2. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 2 by continuation
          message_added assistant (stop) "Thanks."
        turn_ended
      run_ended completed"
    `);
  });
});

/** Hooks about sub-agents that write down what they are told. */
function hooksOf() {
  const note = { to: (_: string): void => {} };
  const hook = [
    defineHook('subagent_start', ({ agentType }) => {
      note.to(`subagent_start of ${agentType}`);
    }),
    defineHook('subagent_stop', ({ agentType, text, transcript }) => {
      const roles = transcript.map(({ role }) => role).join(', ');
      note.to(`subagent_stop of ${agentType}: ${JSON.stringify(text)} after ${roles}`);
    }),
  ];
  return { note, hook };
}

describe('a sub-agent that does not succeed is an error for its parent, which goes on', () => {
  it('when its model fails', async () => {
    const { session, script } = await delegating(
      reader([{ error: { kind: 'auth', message: 'No key.', retryable: false } }]),
    );
    await session.prompt('What does it say?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "What does it say?"
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it."}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     attempt_failed auth
      reader|   turn_ended
      reader| run_ended model_error "No key."
          tool_ended reader (error) "The agent reader did not finish (model_error): No key.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "Thanks."
        turn_ended
      run_ended completed"
    `);
  });

  it('when it reaches its limit of turns', async () => {
    const { session, script } = await delegating(
      reader([{ text: 'Let me see.', toolCalls: [{ name: 'no_such' }] }], { limits: { maxTurns: 1 } }),
    );
    await session.prompt('What does it say?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "What does it say?"
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it."}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     message_added assistant (tool_use) "Let me see.", calls no_such
      reader|     tool_call_rejected no_such (unknown_tool) "There is no tool named \\"no_such\\". There are no tools."
      reader|   turn_ended
      reader|   message_added user (limit) "[Agent stopped: turn limit reached (1 of 1 turns)]"
      reader| run_ended turn_limit "turn limit reached (1 of 1 turns)"
          tool_ended reader (error) "The agent reader did not finish (turn_limit): turn limit reached (1 of 1 turns)", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "Thanks."
        turn_ended
      run_ended completed"
    `);
  });

  it('when it does the same again and again', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'hello' });
    const child = defineAgent({ id: 'reader', model: scriptedModel(() => asks('look', {})), tools: [look] });
    const { session, script } = await delegating(child);
    await session.prompt('What does it say?').result;
    const lines = script.text().split('\n');
    expect(lines.filter((line) => /loop_detected|run_ended|tool_ended reader/.test(line)).join('\n'))
      .toMatchInlineSnapshot(`
      "reader| run_ended loop_detected "no progress (the same call with the same result 4 times in a row: look({}))"
          tool_ended reader (error) "The agent reader did not finish (loop_detected): no progress (the same call with the same result 4 times in a row: look({}))", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
      run_ended completed"
    `);
  });

  it('when there may be no further one so deep', async () => {
    const deep = asTool(reader([]), { description: 'Reads.' });
    const middle = defineAgent({
      id: 'middle',
      model: scriptedModel([asks('reader', { prompt: 'Read.' }), 'I did it.']),
      tools: [deep],
    });
    const { session, script } = await bossOf(
      [asTool(middle, { description: 'Delegates.' })],
      [asks('middle', { prompt: 'Go.' }), 'Thanks.'],
    );
    await session.prompt('Read.').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Read."
          message_added assistant (tool_use) calls middle
          tool_started middle {"prompt":"Go."}
      middle| run_started
      middle|   turn_started 0 by subAgent
      middle|     message_added user (prompt) "Go."
      middle|     message_added assistant (tool_use) calls reader
      middle|     tool_call_rejected reader (sub_agent_limit) "Not executed: an agent at this depth may start no further ones. Do the work yourself."
      middle|   turn_ended
      middle|   turn_started 1 by continuation
      middle|     message_added assistant (stop) "I did it."
      middle|   turn_ended
      middle| run_ended completed
          tool_ended middle "I did it.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call middle with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "Thanks."
        turn_ended
      run_ended completed"
    `);
  });
});

describe('what a sub-agent asks for', () => {
  it('an approval, pauses its parent, and is answered there', async () => {
    const child = reader([{ toolCalls: [{ name: 'pay', arguments: { amount: 5 } }] }, 'It is paid.'], { tools: [pay] });
    const { session, script } = await delegating(child);
    const { pending } = await session.prompt('Pay.').result;
    script.note(`waits for ${pending.map(({ toolName, sessionId }) => `${toolName} in ${sessionId}`).join(', ')}`);
    await session.approve(pending[0]?.approvalId ?? '').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Pay."
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it."}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     message_added assistant (tool_use) calls pay
      reader|     approval_requested pay {"amount":5}
      reader|     run_paused approval pay
          tool_paused reader, for pay
          run_paused approval pay
      - waits for pay in sub_call_1_q7hxf1m7nuq9
      tool_started reader {"prompt":"Read it."}
      reader| approval_answered approve
      reader| decision_made permission permission {"outcome":"allow","by":{"type":"person"},"reason":"It was allowed when asked"}
      reader| tool_started pay {"amount":5}
      reader| tool_ended pay "paid 5"
      reader| turn_ended
      reader| turn_started 1 by continuation
      reader|   message_added assistant (stop) "It is paid."
      reader| turn_ended
      reader| run_ended completed
      tool_ended reader "It is paid.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
      turn_ended
      turn_started 1 by continuation
        message_added assistant (stop) "Thanks."
      turn_ended
      run_ended completed"
    `);
  });

  it("a client's tool, pauses its parent, and a result that is given there goes on", async () => {
    const child = reader([{ toolCalls: [{ name: 'pick' }] }, 'It is blue.'], { tools: [pick] });
    const { session, script } = await delegating(child);
    const { pending } = await session.prompt('Which?').result;
    await session.addToolOutputs(pending.map(({ callId }) => ({ callId, content: 'blue' }))).result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Which?"
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it."}
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     message_added assistant (tool_use) calls pick
      reader|     tool_started pick {}
      reader|     run_paused client_tools pick
          tool_paused reader, for pick
          run_paused client_tools pick
      tool_started reader {"prompt":"Read it."}
      reader| tool_ended pick "blue"
      reader| turn_ended
      reader| turn_started 1 by continuation
      reader|   message_added assistant (stop) "It is blue."
      reader| turn_ended
      reader| run_ended completed
      tool_ended reader "It is blue.", "Agent run sub_call_1_q7hxf1m7nuq9.scripted.scripted.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
      turn_ended
      turn_started 1 by continuation
        message_added assistant (stop) "Thanks."
      turn_ended
      run_ended completed"
    `);
  });
});

describe('a handoff', () => {
  it('ends the run with its call, and the other agent has the next one', async () => {
    const billing = defineAgent({ id: 'billing', model: scriptedModel(['It is on its way.']) });
    const desk = defineAgent({
      id: 'desk',
      model: scriptedModel([{ toolCalls: [{ name: 'hand_off_to_billing', arguments: { message: 'An invoice.' } }] }]),
      tools: [handoffTool('billing', { description: 'For invoices.' })],
    });
    const session = await createSession(desk, { id: 's', agents: [billing], ids: countingIds() });
    const script = golden();
    session.subscribe(script.observe);
    await session.prompt('I need an invoice.').result;
    script.note(`${session.agent.id} drives`);
    await session.continue().result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "I need an invoice."
          message_added assistant (tool_use) calls hand_off_to_billing
          tool_started hand_off_to_billing {"message":"An invoice."}
          tool_ended hand_off_to_billing "An invoice."
        turn_ended
      run_ended completed, hands over to billing
      - billing drives
      run_started
        turn_started 0 by continuation
          message_added assistant (stop) "It is on its way."
        turn_ended
      run_ended completed"
    `);
  });
});

describe('the links between a run and those that its calls start', () => {
  it('have every field in the logs, whichever agent did it, and however it came out', async () => {
    const types = {
      reader: { agent: reader(['It says hello.']), description: 'Reads.' },
      failing: {
        agent: defineAgent({
          id: 'failing',
          model: scriptedModel([{ error: { kind: 'auth', message: 'No key.', retryable: false } }]),
        }),
        description: 'Fails.',
      },
    };
    const toolCalls = Object.keys(types).map((type) => ({
      name: 'agent',
      arguments: { subagent_type: type, prompt: 'Go.' },
    }));
    const { session, journal } = await bossOf([agentsTool(types)], [{ toolCalls }, 'Thanks.']);
    const { runId } = await session.prompt('Go.').result;
    const [record] = sessionTree(await logOf(journal, 's')).runs;
    const refs: readonly ChildRunRef[] = record?.childRuns.toSorted((a, b) => a.callId.localeCompare(b.callId)) ?? [];
    expect(refs).toMatchInlineSnapshot(`
      [
        {
          "callId": "call_1",
          "childRunId": "sub_call_1_q7hxf1m7nuq9.scripted.scripted.1",
          "childSessionId": "sub_call_1_q7hxf1m7nuq9",
          "toolName": "agent",
        },
        {
          "callId": "call_2",
          "childRunId": "sub_call_2_q7hxf1m7nuq9.scripted.scripted.1",
          "childSessionId": "sub_call_2_q7hxf1m7nuq9",
          "toolName": "agent",
        },
      ]
    `);
    for (const { callId, toolName, childRunId, childSessionId } of refs) {
      const child = sessionTree(await logOf(journal, childSessionId ?? ''));
      expect(child.parentSpawn).toEqual({ parentSessionId: 's', parentRunId: runId, callId, toolName });
      expect(child.runs.map((run) => [run.runId, run.parentRunId])).toEqual([[childRunId, runId]]);
    }
  });
});
