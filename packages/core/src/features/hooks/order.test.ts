import { describe, expect, it } from 'vitest';
import { golden, type Golden, scriptedModel, type Turn } from '@treadle/testing';
import { createSession, defineAgent, defineTool, type Hook, type HookEvent, type RunResult } from '../../index.ts';

const bash = defineTool({
  name: 'bash',
  description: 'Runs a command.',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  execute({ command }, { update }) {
    update(`running ${command}`);
    if (command === 'fail') throw new Error('exit 1');
    return `ran ${command}`;
  },
});

const runs = (command: string): Turn => ({ toolCalls: [{ name: 'bash', arguments: { command } }] });

const SEED_EVENTS: readonly HookEvent[] = [
  'before_run',
  'after_run',
  'before_turn',
  'after_turn',
  'before_tool',
  'after_tool',
  'before_tool_update',
  'after_tool_update',
];

interface Played {
  readonly text: string;
  readonly result: RunResult;
}

async function play(script: Golden, turns: readonly (Turn | string)[], hooks: readonly Hook[]): Promise<Played> {
  const agent = defineAgent({
    model: scriptedModel(turns),
    tools: [bash],
    hooks,
    toolExecution: { mode: 'sequential' },
  });
  const session = await createSession(agent, { id: 's' });
  session.subscribe(script.observe);
  const result = await session.prompt('Go.').result;
  await session.close({ reason: 'other' });
  return { text: script.text(), result };
}

/** Every hook of the seed's table, one of which says no. */
async function playRefusing(refusing: HookEvent | null, turns: readonly (Turn | string)[]): Promise<Played> {
  const script = golden({ live: true });
  const hooks = SEED_EVENTS.map((event) => script.hook(event, () => event !== refusing));
  const played = await play(script, turns, hooks);
  const text = played.text
    .split('\n')
    .filter((line) => !/message_started|message_delta|decision_made/.test(line))
    .join('\n');
  return { ...played, text };
}

describe('the order of hooks and events', () => {
  it('of a simple prompt', async () => {
    const { text } = await playRefusing(null, ['Hello.']);
    expect(`\n${text}`).toBe(`
* before_run
run_started
  * before_turn
  turn_started 0 by user
    message_added user (prompt) "Go."
    message_added assistant (stop) "Hello."
  turn_ended
  * after_turn
run_ended completed
* after_run`);
  });

  it('of a tool cycle', async () => {
    const { text } = await playRefusing(null, [runs('ls'), 'Done.']);
    expect(`\n${text}`).toBe(`
* before_run
run_started
  * before_turn
  turn_started 0 by user
    message_added user (prompt) "Go."
    message_added assistant (tool_use) calls bash
    * before_tool bash
    tool_started bash {"command":"ls"}
    * before_tool_update bash
    tool_update bash "running ls"
    * after_tool_update bash
    tool_ended bash "ran ls"
    * after_tool bash
  turn_ended
  * after_turn
  * before_turn
  turn_started 1 by continuation
    message_added assistant (stop) "Done."
  turn_ended
  * after_turn
run_ended completed
* after_run`);
  });

  it('when before_run says no: no start, no messages, and still a terminal event', async () => {
    const { text, result } = await playRefusing('before_run', ['Hello.']);
    expect(`\n${text}`).toBe(`
* before_run
input_rejected "A before_run hook said no."
run_ended rejected "A before_run hook said no."`);
    expect(result).toMatchObject({ status: 'rejected', messages: [], turns: 0 });
  });

  it('when before_turn says no: the turn has no start and no end, and the run ends', async () => {
    const { text } = await playRefusing('before_turn', ['Hello.']);
    expect(`\n${text}`).toBe(`
* before_run
run_started
  * before_turn
  message_added user (prompt) "Go."
run_ended stopped "A before_turn hook said no."
* after_run`);
  });

  it('when before_tool says no: the call has no start and no end, and the model is told', async () => {
    const { text } = await playRefusing('before_tool', [runs('ls'), 'Done.']);
    expect(`\n${text}`).toBe(`
* before_run
run_started
  * before_turn
  turn_started 0 by user
    message_added user (prompt) "Go."
    message_added assistant (tool_use) calls bash
    * before_tool bash
    tool_call_rejected bash (hook) "Not executed: A hook said no."
  turn_ended
  * after_turn
  * before_turn
  turn_started 1 by continuation
    message_added assistant (stop) "Done."
  turn_ended
  * after_turn
run_ended completed
* after_run`);
  });

  it('when before_tool_update says no: nobody sees the update, and the call goes on', async () => {
    const { text } = await playRefusing('before_tool_update', [runs('ls'), 'Done.']);
    expect(text).not.toContain('tool_update bash "running');
    expect(text).not.toContain('after_tool_update');
    expect(text).toContain('tool_ended bash "ran ls"');
  });

  it('when before_tool_update crashes: nobody sees the update either', async () => {
    const script = golden({ live: true });
    const crash = script.hook('before_tool_update', () => {
      throw new Error('no database');
    });
    const { text } = await play(script, [runs('ls'), 'Done.'], [crash]);
    expect(text).toContain('* before_tool_update');
    expect(text).not.toContain('tool_update bash "running');
    expect(text).toContain('tool_ended bash "ran ls"');
  });

  it('of a session: start, prompt, tool, failure, stop, end', async () => {
    const script = golden();
    const events: readonly HookEvent[] = [
      'session_start',
      'user_prompt_submit',
      'before_tool',
      'after_tool',
      'tool_failed',
      'stop',
      'session_end',
    ];
    const { text } = await play(
      script,
      [runs('ls'), runs('fail'), 'Done.'],
      events.map((event) => script.hook(event)),
    );
    expect(`\n${text.replaceAll(/^ *decision_made.*\n/gm, '')}`).toBe(`
* session_start
* user_prompt_submit
run_started
  turn_started 0 by user
    message_added user (prompt) "Go."
    message_added assistant (tool_use) calls bash
    * before_tool bash
    tool_started bash {"command":"ls"}
    tool_ended bash "ran ls"
    * after_tool bash
  turn_ended
  turn_started 1 by continuation
    message_added assistant (tool_use) calls bash
    * before_tool bash
    tool_started bash {"command":"fail"}
    tool_ended bash (error) "bash failed: exit 1"
    * after_tool bash
    * tool_failed bash
  turn_ended
  turn_started 2 by continuation
    message_added assistant (stop) "Done."
  turn_ended
  * stop
run_ended completed
* session_end`);
  });
});
