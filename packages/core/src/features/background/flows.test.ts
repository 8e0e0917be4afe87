import {
  countingIds,
  golden,
  type Golden,
  journalOf,
  logOf,
  scriptedModel,
  type ScriptedModel,
  testClock,
  type Turn,
} from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type BackgroundOptions,
} from '../../index.ts';
import type { ToolContext } from '../../tools/tool.ts';

/** A tool whose call ends when the test says so. */
function longTool() {
  const open: {
    readonly context: ToolContext;
    readonly end: (text: string) => void;
    readonly fail: (why: string) => void;
  }[] = [];
  const tool = defineTool({
    name: 'build',
    description: 'Builds, which takes long.',
    background: true,
    execute: (_, context) =>
      new Promise<string>((resolve, reject) => {
        open.push({ context, end: resolve, fail: (why) => reject(new Error(why)) });
        context.signal.addEventListener('abort', () => resolve('half a build'));
      }),
  });
  return { tool, open };
}

const IN_BACKGROUND: Turn = { toolCalls: [{ name: 'build', arguments: { run_in_background: true } }] };

/** Lets everything happen that needs no clock. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function builder(turns: Parameters<typeof scriptedModel>[0], background: true | BackgroundOptions = true) {
  const { tool, open } = longTool();
  const model: ScriptedModel = scriptedModel(turns);
  const agent = defineAgent({ id: 'builder', model, tools: [tool], background });
  const journal = memoryJournal();
  const clock = testClock();
  const session = await createSession(agent, { id: 's', journal, clock, ids: countingIds() });
  const script = golden();
  session.subscribe(script.observe);
  return { agent, journal, clock, session, script, open };
}

/** Writes what a poll of the task shows into its transcript. */
async function polled({
  session,
  script,
}: {
  readonly session: Awaited<ReturnType<typeof createSession>>;
  readonly script: Golden;
}) {
  for await (const { taskId, status, content } of session.tasks.poll('task_call_1')) {
    const said = content.map((block) => (block.type === 'text' ? JSON.stringify(block.text) : block.type)).join(', ');
    script.note(`poll of ${taskId}: ${status}${said === '' ? '' : ` ${said}`}`);
  }
}

describe('a background task', () => {
  it('starts, is polled every second while it runs, completes, and is told to the model once, by the next run', async () => {
    const { session, script, open, clock } = await builder([
      IN_BACKGROUND,
      'It is being built.',
      'It is built.',
      'Yes.',
    ]);
    await session.prompt('Build it.').result;
    const reading = polled({ session, script });
    await settled();
    open[0]?.context.update('half way');
    await clock.advance(1000);
    open[0]?.end('built');
    await reading;
    await session.prompt('Is it built?').result;
    await session.prompt('Sure?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Build it."
          message_added assistant (tool_use) calls build
          tool_started build {"run_in_background":true}
          task_updated task_call_1 pending
          tool_ended build "build runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being built."
        turn_ended
      run_ended completed
      - poll of task_call_1: running
      - poll of task_call_1: running "half way"
      task_updated task_call_1 completed
      - poll of task_call_1: completed "built"
      run_started
        turn_started 0 by user
          message_added user (prompt) "Is it built?"
          message_added user (task) "[Background task task_call_1 (build): completed. Its result:]", "built"
          message_added assistant (stop) "It is built."
        turn_ended
      run_ended completed
      run_started
        turn_started 0 by user
          message_added user (prompt) "Sure?"
          message_added assistant (stop) "Yes."
        turn_ended
      run_ended completed"
    `);
  });

  it('that completes wakes an idle session, where its agent wants that', async () => {
    const { session, script, open } = await builder([IN_BACKGROUND, 'It is being built.', 'It is built.'], {
      wake: true,
    });
    await session.prompt('Build it.').result;
    script.note('nobody asks anything');
    open[0]?.end('built');
    await settled();
    await session.idle();
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Build it."
          message_added assistant (tool_use) calls build
          tool_started build {"run_in_background":true}
          task_updated task_call_1 pending
          tool_ended build "build runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being built."
        turn_ended
      run_ended completed
      - nobody asks anything
      task_updated task_call_1 completed
      run_started
        turn_started 0 by continuation
          message_added user (task) "[Background task task_call_1 (build): completed. Its result:]", "built"
          message_added assistant (stop) "It is built."
        turn_ended
      run_ended completed"
    `);
  });

  it('that fails is told as failed', async () => {
    const { session, script, open } = await builder([IN_BACKGROUND, 'It is being built.', 'It failed.']);
    await session.prompt('Build it.').result;
    open[0]?.fail('no space left');
    await settled();
    await session.prompt('Is it built?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Build it."
          message_added assistant (tool_use) calls build
          tool_started build {"run_in_background":true}
          task_updated task_call_1 pending
          tool_ended build "build runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being built."
        turn_ended
      run_ended completed
      task_updated task_call_1 failed
      run_started
        turn_started 0 by user
          message_added user (prompt) "Is it built?"
          message_added user (task) "[Background task task_call_1 (build): failed. Its result:]", "build failed: no space left"
          message_added assistant (stop) "It failed."
        turn_ended
      run_ended completed"
    `);
  });

  it('is killed by the model, which is told by its call and by nothing else', async () => {
    const stop: Turn = { toolCalls: [{ name: 'task_stop', arguments: { task_id: 'task_call_1' } }] };
    const { session, script } = await builder([IN_BACKGROUND, stop, 'Stopped.', 'No.']);
    await session.prompt('Build it, or not.').result;
    await session.prompt('Anything left?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Build it, or not."
          message_added assistant (tool_use) calls build
          tool_started build {"run_in_background":true}
          task_updated task_call_1 pending
          tool_ended build "build runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (tool_use) calls task_stop
          tool_started task_stop {"task_id":"task_call_1"}
          tool_ended task_stop "task_call_1 (build): killed. It was stopped by task_stop.\\nIts result:", "build was cancelled before it finished.", "half a build"
          task_updated task_call_1 killed "It was stopped by task_stop."
        turn_ended
        turn_started 2 by continuation
          message_added assistant (stop) "Stopped."
        turn_ended
      run_ended completed
      run_started
        turn_started 0 by user
          message_added user (prompt) "Anything left?"
          message_added assistant (stop) "No."
        turn_ended
      run_ended completed"
    `);
  });

  it('is stopped from outside, and the model is told of it by the next run', async () => {
    const { session, script } = await builder([IN_BACKGROUND, 'It is being built.', 'Somebody stopped it.']);
    await session.prompt('Build it.').result;
    const { status } = await session.tasks.stop('task_call_1', 'It takes too long.');
    script.note(`stopped: ${status}`);
    await session.prompt('Is it built?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Build it."
          message_added assistant (tool_use) calls build
          tool_started build {"run_in_background":true}
          task_updated task_call_1 pending
          tool_ended build "build runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being built."
        turn_ended
      run_ended completed
      task_updated task_call_1 killed "It takes too long."
      - stopped: killed
      run_started
        turn_started 0 by user
          message_added user (prompt) "Is it built?"
          message_added user (task) "[Background task task_call_1 (build): killed. It takes too long. Its result:]", "build was cancelled before it finished.", "half a build"
          message_added assistant (stop) "Somebody stopped it."
        turn_ended
      run_ended completed"
    `);
  });

  it('whose process died is interrupted, and the next process tells the model', async () => {
    const { session, script, journal: died, clock } = await builder([IN_BACKGROUND, 'It is being built.']);
    await session.prompt('Build it.').result;
    script.note('the process dies');
    const journal = await journalOf(await logOf(died, 's'));
    const { tool } = longTool();
    const agent = defineAgent({
      id: 'builder',
      model: scriptedModel(['Nobody knows.']),
      tools: [tool],
      background: true,
    });
    const second = await openSession(agent, 's', { journal, clock });
    second.subscribe(script.observe);
    await second.prompt('Is it built?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Build it."
          message_added assistant (tool_use) calls build
          tool_started build {"run_in_background":true}
          task_updated task_call_1 pending
          tool_ended build "build runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being built."
        turn_ended
      run_ended completed
      - the process dies
      task_updated task_call_1 failed "interrupted: the process that ran it is gone, and what it has done is unknown."
      run_started
        turn_started 0 by user
          message_added user (prompt) "Is it built?"
          message_added user (task) "[Background task task_call_1 (build): failed. interrupted: the process that ran it is gone, and what it has done is unknown.]"
          message_added assistant (stop) "Nobody knows."
        turn_ended
      run_ended completed"
    `);
  });
});
