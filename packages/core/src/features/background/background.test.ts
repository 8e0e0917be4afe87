import { countingIds, golden, journalOf, scriptedModel, type ScriptedModel, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { initialState, reduce } from '../../entries/kernel.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Agent,
  type BackgroundOptions,
  type DurableEvent,
  type Journal,
  type Tool,
} from '../../index.ts';
import { decodeState, encodeState } from '../../kernel/snapshot/snapshot.ts';
import type { ToolContext } from '../../tools/tool.ts';

/** A tool whose calls end when the test says so. */
function longTool(options: { readonly replay?: 'safe' | 'never'; readonly name?: string } = {}) {
  const open: { readonly context: ToolContext; readonly end: (text: string) => void; readonly fail: () => void }[] = [];
  const tool: Tool = defineTool({
    name: options.name ?? 'build',
    description: 'Builds, which takes long.',
    background: true,
    ...(options.replay === undefined ? {} : { replay: options.replay }),
    execute: (_, context) =>
      new Promise<string>((resolve, reject) => {
        open.push({ context, end: resolve, fail: () => reject(new Error('no space')) });
        context.signal.addEventListener('abort', () => resolve('half a build'));
      }),
  });
  return { tool, open };
}

const inBackground = (name = 'build') => ({ toolCalls: [{ name, arguments: { run_in_background: true } }] });

const agentOf = (model: ScriptedModel, tools: readonly Tool[], background: true | BackgroundOptions = true): Agent =>
  defineAgent({ id: 'builder', model, tools, background });

async function logOf(journal: Journal, sessionId: string): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of journal.read(sessionId, 1)) events.push(event);
  return events;
}

const statusesIn = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) => (event.type === 'task_updated' ? [event.status] : []));

const deliveriesIn = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) =>
    event.type === 'message_added' && event.notice?.type === 'task' ? [event.notice.taskId] : [],
  );

/** Lets everything happen that needs no clock. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a call in the background', () => {
  it('returns a task id at once, and its result reaches the model once, before the next model call', async () => {
    const { tool, open } = longTool();
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      async execute() {
        open[0]?.end('built');
        await settled();
        return 'seen';
      },
    });
    const model = scriptedModel([inBackground(), { toolCalls: [{ name: 'look' }] }, 'It is built.']);
    const session = await createSession(agentOf(model, [tool, look]), { id: 's1', ids: countingIds() });
    const transcript = golden();
    session.subscribe(transcript.observe);
    const result = await session.prompt('Build it.').result;
    expect(result.status).toBe('completed');
    expect(transcript.text()).toMatchInlineSnapshot(`
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
          message_added assistant (tool_use) calls look
          tool_started look {}
          tool_ended look "seen"
          task_updated task_call_1 completed
        turn_ended
        turn_started 2 by continuation
          message_added user (task) "[Background task task_call_1 (build): completed. Its result:]", "built"
          message_added assistant (stop) "It is built."
        turn_ended
      run_ended completed"
    `);
    const last = model.requests.at(-1)?.messages.at(-1);
    expect(last).toMatchObject({ role: 'user', origin: 'task' });
    expect(JSON.stringify(last?.content)).toContain('built');
  });

  it('keeps a run going that would end, when a result is there by then', async () => {
    const { tool, open } = longTool();
    const model = scriptedModel([
      inBackground(),
      async () => {
        open[0]?.end('built');
        await settled();
        return 'I wait.';
      },
      'Done.',
    ]);
    const session = await createSession(agentOf(model, [tool]));
    const { text, turns } = await session.prompt('Build it.').result;
    expect([text, turns]).toEqual(['Done.', 3]);
  });

  it('makes a run wait for it at the end, where the agent wants that', async () => {
    const { tool, open } = longTool();
    const model = scriptedModel([inBackground(), 'I wait.', 'Done.']);
    const session = await createSession(agentOf(model, [tool], { atEnd: 'wait' }));
    const run = session.prompt('Build it.');
    await settled();
    open[0]?.end('built');
    expect((await run.result).text).toBe('Done.');
  });

  it('is told of by the next run when nothing was going on', async () => {
    const { tool, open } = longTool();
    const journal = memoryJournal();
    const model = scriptedModel([inBackground(), 'It is being built.', 'It failed.']);
    const session = await createSession(agentOf(model, [tool]), { id: 's1', journal });
    await session.prompt('Build it.').result;
    open[0]?.fail();
    await settled();
    expect(statusesIn(await logOf(journal, 's1'))).toEqual(['pending', 'running', 'failed']);
    await session.prompt('And?').result;
    expect(deliveriesIn(await logOf(journal, 's1'))).toHaveLength(1);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('no space');
  });

  it('wakes an idle session, where the agent wants that', async () => {
    const { tool, open } = longTool();
    const model = scriptedModel([inBackground(), 'It is being built.', 'It is built.']);
    const session = await createSession(agentOf(model, [tool], { wake: true }));
    await session.prompt('Build it.').result;
    open[0]?.end('built');
    await settled();
    await session.idle();
    expect(session.messages.at(-1)).toMatchObject({ content: [{ type: 'text', text: 'It is built.' }] });
    expect(model.requests).toHaveLength(3);
  });

  it('waits while as many are running as may', async () => {
    const { tool, open } = longTool();
    const journal = memoryJournal();
    const call = { name: 'build', arguments: { run_in_background: true } };
    const model = scriptedModel([{ toolCalls: [call, call] }, 'Both wait.', 'Done.']);
    const session = await createSession(agentOf(model, [tool], { maxRunning: 1 }), { id: 's1', journal });
    await session.prompt('Build both.').result;
    expect(session.tasks.list().map(({ status }) => status)).toEqual(['running', 'pending']);
    open[0]?.end('one');
    await settled();
    expect(session.tasks.list().map(({ status }) => status)).toEqual(['completed', 'running']);
    open[1]?.end('two');
    await settled();
    await session.prompt('And?').result;
    expect(deliveriesIn(await logOf(journal, 's1'))).toHaveLength(2);
  });
});

describe('reading a task', () => {
  it('looks every second unless it says otherwise, until its end, and not when it is aborted', async () => {
    const { tool, open } = longTool();
    const clock = testClock();
    const model = scriptedModel([inBackground(), 'It is being built.']);
    const session = await createSession(agentOf(model, [tool]), { clock });
    await session.prompt('Build it.').result;
    const [task] = session.tasks.list();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { status, content } of session.tasks.poll(task?.taskId ?? '')) {
        seen.push(`${status} ${content.map((block) => (block.type === 'text' ? block.text : '')).join('')}`);
      }
    })();
    await settled();
    open[0]?.context.update('half way');
    await clock.advance(999);
    expect(seen).toEqual(['running ']);
    await clock.advance(1);
    expect(seen).toEqual(['running ', 'running half way']);
    open[0]?.end('built');
    await reading;
    expect(seen.at(-1)).toBe('completed built');

    const abort = new AbortController();
    abort.abort();
    for await (const _ of session.tasks.poll(task?.taskId ?? '', { signal: abort.signal })) expect.unreachable();
  });

  it('tells watchers of what there is to read', async () => {
    const { tool, open } = longTool();
    const session = await createSession(agentOf(scriptedModel([inBackground(), 'Ok.']), [tool]));
    await session.prompt('Build it.').result;
    const heard: unknown[] = [];
    session.subscribe(
      (event) => event.type === 'task_progress' && heard.push([event.toolName, event.content, event.text]),
    );
    open[0]?.context.progress('linking');
    await settled();
    open[0]?.context.update('half way');
    await settled();
    expect(heard).toEqual([
      ['build', [], 'linking'],
      ['build', [{ type: 'text', text: 'half way' }], 'linking'],
    ]);
  });

  it('by the model, counts as being told of the end', async () => {
    const { tool, open } = longTool();
    const journal = memoryJournal();
    const model = scriptedModel([
      inBackground(),
      () => ({ toolCalls: [{ name: 'task_output', arguments: { task_id: taskIdIn(model), wait_ms: 60_000 } }] }),
      'Built.',
    ]);
    const session = await createSession(agentOf(model, [tool]), { id: 's1', journal });
    const run = session.prompt('Build it.');
    await settled();
    open[0]?.end('built');
    await run.result;
    await session.prompt('And?').result.catch(() => {});
    const log = await logOf(journal, 's1');
    expect(deliveriesIn(log)).toEqual([]);
    const read = log.find((event) => event.type === 'tool_ended' && event.toolName === 'task_output');
    expect(JSON.stringify(read)).toContain('built');
    expect(statusesIn(log)).toEqual(['pending', 'running', 'completed']);
  });
});

const taskIdIn = ({ requests }: ScriptedModel): string =>
  /task_[\w-]+/.exec(JSON.stringify(requests.at(-1)?.messages))?.[0] ?? 'none';

describe('ending a task', () => {
  it('by an input that names it, which ends no other, while nobody drives the session', async () => {
    const { tool } = longTool();
    const journal = memoryJournal();
    const model = scriptedModel([{ toolCalls: [...inBackground().toolCalls, ...inBackground().toolCalls] }, 'Begun.']);
    const session = await createSession(agentOf(model, [tool]), { id: 's1', journal });
    await session.prompt('Build both.').result;
    const [first, second] = session.tasks.list();
    await journal.post('s1', { type: 'stop_task', taskId: first?.taskId ?? '', reason: 'Too long.' }, 'k', 0);
    await session.tidyUp();
    expect(await session.tasks.read(first?.taskId ?? '')).toMatchObject({ status: 'killed', message: 'Too long.' });
    expect(await session.tasks.read(second?.taskId ?? '')).toMatchObject({ status: 'running' });
    // There is nothing left to do, and what has ended stays as it is.
    await journal.post('s1', { type: 'stop_task', taskId: first?.taskId ?? '', reason: 'Again.' }, 'k2', 0);
    const { length } = await logOf(journal, 's1');
    await session.tidyUp();
    expect(await logOf(journal, 's1')).toHaveLength(length);
    await session.close();
  });

  it('by the model: it is killed, said once, and listed', async () => {
    const { tool } = longTool();
    const journal = memoryJournal();
    const model = scriptedModel([
      inBackground(),
      () => ({ toolCalls: [{ name: 'task_stop', arguments: { task_id: taskIdIn(model) } }] }),
      { toolCalls: [{ name: 'task_list' }] },
      'Stopped.',
    ]);
    const session = await createSession(agentOf(model, [tool]), { id: 's1', journal });
    await session.prompt('Build it, or not.').result;
    const log = await logOf(journal, 's1');
    expect(statusesIn(log)).toEqual(['pending', 'running', 'killed']);
    expect(deliveriesIn(log)).toEqual([]);
    const list = log.find((event) => event.type === 'tool_ended' && event.toolName === 'task_list');
    expect(JSON.stringify(list)).toMatch(/task_\S+ {2}killed {2}build/);
  });

  it.each(['abort', 'close'] as const)(
    'by the %s of an idle session: nothing is left, and the next run is told',
    async (how) => {
      const { tool, open } = longTool();
      const journal = memoryJournal();
      const model = scriptedModel([inBackground(), 'It is being built.', 'It was killed.']);
      const agent = agentOf(model, [tool]);
      const session = await createSession(agent, { id: 's1', journal });
      await session.prompt('Build it.').result;
      await session[how]();
      expect(open[0]?.context.signal.aborted).toBe(true);
      expect(statusesIn(await logOf(journal, 's1'))).toEqual(['pending', 'running', 'killed']);
      const again = await openSession(agent, 's1', { journal });
      await again.prompt('And?').result;
      expect(deliveriesIn(await logOf(journal, 's1'))).toHaveLength(1);
    },
  );

  it('R2: by the cancellation of its run, and not of another', async () => {
    const { tool, open } = longTool();
    const hang = defineTool({
      name: 'hang',
      description: 'Hangs.',
      execute: (_, { signal }) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(''))),
    });
    const model = scriptedModel([
      inBackground(),
      'First.',
      { toolCalls: [...inBackground().toolCalls, { name: 'hang', arguments: {} }] },
    ]);
    const session = await createSession(agentOf(model, [tool, hang]));
    await session.prompt('Build it.').result;
    const run = session.prompt('Build another.');
    await settled();
    await run.abort();
    expect((await run.result).status).toBe('aborted');
    expect(open.map(({ context }) => context.signal.aborted)).toEqual([false, true]);
    expect(session.tasks.list().map(({ status }) => status)).toEqual(['running', 'killed']);
    await session.close();
    expect(session.tasks.list().map(({ status }) => status)).toEqual(['killed', 'killed']);
  });
});

describe('a task whose process died', () => {
  it('is in a snapshot of its session as it is in the log', async () => {
    const journal = memoryJournal();
    const { tool, open } = longTool();
    const call = { name: 'build', arguments: { run_in_background: true } };
    const model = scriptedModel([{ toolCalls: [call, call] }, 'Both are being built.']);
    const session = await createSession(agentOf(model, [tool]), { id: 's1', journal });
    await session.prompt('Build both.').result;
    open[0]?.end('built');
    await settled();
    const log = await logOf(journal, 's1');
    const state = log.reduce(reduce, initialState('s1'));
    const [last] = log.slice(-1);
    const decoded = last && decodeState('s1', encodeState(state, last));
    expect(decoded?.state).toEqual(state);
    expect([...(state.tasks?.open ?? [])]).toHaveLength(2);
    await session.close();
  });

  it.each([
    { replay: 'never', statuses: ['pending', 'running', 'failed'], told: 'interrupted' },
    { replay: 'safe', statuses: ['pending', 'running', 'pending', 'running', 'completed'], told: 'built again' },
  ] as const)('is answered by its replay policy: $replay', async ({ replay, statuses, told }) => {
    const died = memoryJournal();
    const first = longTool({ replay });
    const before = await createSession(agentOf(scriptedModel([inBackground(), 'It is being built.']), [first.tool]), {
      id: 's1',
      journal: died,
    });
    await before.prompt('Build it.').result;
    const journal = await journalOf(await logOf(died, 's1'));
    const second = longTool({ replay });
    const model = scriptedModel(['Hm.', 'Told.', 'Well.']);
    const after = await openSession(agentOf(model, [second.tool], { atEnd: 'wait' }), 's1', { journal });
    const run = after.prompt('Is it built?');
    await settled();
    second.open[0]?.end('built again');
    await run.result;
    const log = await logOf(journal, 's1');
    expect(statusesIn(log)).toEqual(statuses);
    expect(deliveriesIn(log)).toHaveLength(1);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(told);
    if (replay === 'safe') {
      expect(second.open[0]?.context.idempotencyKey).toBe(first.open[0]?.context.idempotencyKey);
    } else expect(second.open).toEqual([]);
  });

  it('that belongs to the session this one was forked from is not touched, and said to be', async () => {
    const journal = memoryJournal();
    const { tool, open } = longTool();
    const model = scriptedModel([inBackground(), 'It is being built.', 'I see.']);
    const agent = agentOf(model, [tool]);
    const parent = await createSession(agent, { id: 's1', journal });
    await parent.prompt('Build it.').result;
    const at = (await logOf(journal, 's1')).length;
    await journal.create(
      's2',
      { type: 'session_created', at: 0, eventVersion: 1, sessionId: 's2', fork: { sessionId: 's1', seq: at } },
      { sessionId: 's1', seq: at },
    );
    const fork = await openSession(agent, 's2', { journal });
    await fork.prompt('Go on.').result;
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('forked');
    expect([fork.tasks.list()[0]?.status, parent.tasks.list()[0]?.status]).toEqual(['failed', 'running']);
    expect(open[0]?.context.signal.aborted).toBe(false);
    await parent.close();
  });
});

describe('the definition', () => {
  const { tool } = longTool();
  const model = scriptedModel([]);

  it('adds an argument to what may run in the background, and three tools', () => {
    const agent = defineAgent({ model, tools: [tool], background: true });
    expect([...agent.tools.keys()]).toEqual(['build', 'task_output', 'task_list', 'task_stop']);
    expect(agent.tools.get('build')?.inputSchema).toMatchObject({
      properties: { run_in_background: { type: 'boolean' } },
    });
    expect(defineAgent({ model, tools: [tool] }).tools.get('build')).toBe(tool);
  });

  it.each([
    [{ tools: ['unknown'] }, 'no tool named "unknown"'],
    [{ tools: ['pick'] }, 'client tool'],
    [{ maxRunning: 0 }, 'maxRunning'],
    [{ pollIntervalMs: 0 }, 'pollIntervalMs'],
    [{ timeoutMs: -1 }, 'timeoutMs'],
  ] as const)('refuses %o', (background, problem) => {
    const pick = defineTool({ name: 'pick', description: 'Picks.', runs: 'client' });
    expect(() => defineAgent({ model, tools: [tool, pick], background })).toThrow(problem);
  });
});
