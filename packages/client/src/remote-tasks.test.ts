import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Agent,
  type DurableEvent,
  type Journal,
  type Session,
} from '@treadle/core';
import { inProcessTasks } from '@treadle/core/features';
import { serve } from '@treadle/server';
import { journalOf, logOf, scriptedModel, type ScriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient, remoteTasks, type Client, type RemoteTasksOptions } from './index.ts';

type Script = Parameters<typeof scriptedModel>[0];

const erase = defineTool({ name: 'erase', description: 'Erases.', approval: 'always', execute: () => 'erased' });

/** A server with an agent that reads, and a client of it. */
async function reading(script: Script) {
  const model: ScriptedModel = scriptedModel(script);
  const reader = defineAgent({ id: 'reader', model, tools: [erase] });
  const serving = await serve({ agents: [reader], journal: memoryJournal() });
  onTestFinished(async () => {
    await serving.close(0);
  });
  const client: Client = createClient({ url: serving.url, token: serving.token ?? '' });
  return { client, model };
}

const GO: Turn = {
  toolCalls: [{ name: 'reader', arguments: { prompt: 'What is in my notes?', run_in_background: true } }],
};

const bossOf = (client: Client, script: Script, more: Partial<RemoteTasksOptions> = {}): Agent => {
  const here = defineAgent({ id: 'reader', model: scriptedModel([]) });
  const agentFor = ({ toolName }: { readonly toolName: string }): string | null =>
    toolName === 'reader' ? 'reader' : null;
  const slow = defineTool({ name: 'slow', description: 'Works.', background: true, execute: () => 'done here' });
  return defineAgent({
    model: scriptedModel(script),
    tools: [asTool(here, { description: 'Reads.' }), slow],
    background: {
      tools: 'all',
      atEnd: 'wait',
      runner: () => remoteTasks(client, { agentFor, otherwise: inProcessTasks(), ...more }),
    },
  });
};

const endsIn = (log: readonly DurableEvent[]) =>
  log.flatMap((event) =>
    event.type === 'input_received' && event.input.type === 'task_ended'
      ? [{ status: event.input.status, message: event.input.message, content: event.input.content }]
      : [],
  );

const deliveriesIn = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) =>
    event.type === 'message_added' && event.notice?.type === 'task' ? [JSON.stringify(event.message)] : [],
  );

const played = async (
  agent: Agent,
): Promise<{ readonly journal: Journal; readonly session: Session; readonly log: DurableEvent[] }> => {
  const journal = memoryJournal();
  const session = await createSession(agent, { id: 's', journal });
  await session.prompt('Go.').result;
  return { journal, session, log: await logOf(journal, 's') };
};

describe('a task that an agent of a server does', () => {
  it('has a session of its own there, and its answer is told here once', async () => {
    const { client, model } = await reading(['They are about tides.']);
    const { log } = await played(bossOf(client, [GO, 'It is being read.', 'Tides.']));
    expect(deliveriesIn(log)).toEqual([expect.stringContaining('They are about tides.')]);
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1]);
    const { sessions } = await client.listSessions();
    expect(sessions.map(({ sessionId, firstPrompt }) => [sessionId, firstPrompt])).toEqual([
      [expect.stringMatching(/^task-s_2f_/), 'What is in my notes?'],
    ]);
  });

  it('fails with its run, and says how', async () => {
    const { client } = await reading([{ error: { kind: 'auth', message: 'No key.', retryable: false } }]);
    const { log } = await played(bossOf(client, [GO, 'It is being read.', 'Not read.']));
    expect(endsIn(log)).toMatchObject([{ status: 'failed', message: 'It did not finish: model_error.' }]);
  });

  it('fails when it waits for somebody, unless there is somebody here who answers', async () => {
    const asks: Script = [{ toolCalls: [{ name: 'erase' }] }, 'Erased.'];
    const alone = await reading(asks);
    const { log } = await played(bossOf(alone.client, [GO, 'It is being read.', 'Not read.']));
    expect(endsIn(log)[0]?.message).toMatch(/^Session task-s_2f_\S+ of the server waits for somebody: erase\.$/);
    const { client } = await reading(asks);
    const approve = () => ({ decision: 'approve' as const });
    const answered = await played(bossOf(client, [GO, 'It is being read.', 'Read.'], { approve }));
    expect(endsIn(answered.log)).toMatchObject([{ status: 'completed', content: [{ text: 'Erased.' }] }]);
  });

  it('is cancelled there when it is stopped here', async () => {
    const begun = Promise.withResolvers<void>();
    const { client } = await reading([
      () => {
        begun.resolve();
        return new Promise<Turn>(() => {});
      },
    ]);
    const journal = memoryJournal();
    const session = await createSession(bossOf(client, [GO, 'It is being read.', 'Stopped.']), { id: 's', journal });
    const run = session.prompt('Go.');
    await begun.promise;
    await session.tasks.stop(session.tasks.list()[0]?.taskId ?? '', 'Never mind.');
    expect((await run.result).text).toBe('Stopped.');
    expect(endsIn(await logOf(journal, 's'))).toMatchObject([{ status: 'killed', message: 'Never mind.' }]);
    const there = client.session((await client.listSessions()).sessions[0]?.sessionId ?? '');
    const { events } = await there.events();
    expect(events.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
  });

  it('is waited for by the next process, which starts no second one', async () => {
    const answer = Promise.withResolvers<Turn>();
    const { client, model } = await reading([() => answer.promise]);
    const journal = memoryJournal();
    // A long id, as a sub-agent's sub-agent has one.
    const id = 'long'.repeat(40);
    const first = await createSession(bossOf(client, [GO]), { id, journal });
    const working = new Promise<void>((resolve) => {
      first.subscribe((event) => event.type === 'task_updated' && event.status === 'running' && resolve());
    });
    // The process is as good as dead once the task runs: its own model never answers.
    const dead = first.prompt('Go.');
    dead.result.catch(() => {});
    await working;
    await untilThere(client);
    const log = await logOf(journal, id);
    const left = await journalOf(log.filter(({ seq }) => seq <= runningAt(log)));
    const second = await openSession(bossOf(client, ['Waiting.', 'Tides.']), id, { journal: left });
    const run = second.resume();
    answer.resolve({ text: 'They are about tides.' });
    expect((await run.result).text).toBe('Tides.');
    expect(deliveriesIn(await logOf(left, id))).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
    expect((await client.listSessions()).sessions).toHaveLength(1);
    await first.close();
  });

  it('is done here when no agent there is for it', async () => {
    const { client } = await reading([]);
    const slow: Turn = { toolCalls: [{ name: 'slow', arguments: { run_in_background: true } }] };
    const { log } = await played(bossOf(client, [slow, 'It is being done.', 'Done.']));
    expect(endsIn(log)).toMatchObject([{ status: 'completed', content: [{ text: 'done here' }] }]);
    expect((await client.listSessions()).sessions).toEqual([]);
  });
});

const runningAt = (log: readonly DurableEvent[]): number =>
  log.find((event) => event.type === 'task_updated' && event.status === 'running')?.seq ?? 0;

/** The server has the session, and its prompt. */
async function untilThere(client: Client): Promise<void> {
  for (;;) {
    const { sessions } = await client.listSessions();
    const [session] = sessions;
    if (session && (await client.session(session.sessionId).read()).status === 'running') return;
  }
}
