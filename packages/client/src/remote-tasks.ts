import type { TaskFacts, TaskHandle, TaskOutcome, TaskOutput, TaskRunner } from '@treadle/core/ports';
import type { Client } from './client.ts';
import { ClientError } from './error.ts';
import type { FollowOptions, RunOutcome } from './run.ts';

/** Options of a task runner whose tasks run on a server. */
export interface RemoteTasksOptions extends Pick<FollowOptions, 'tools' | 'approve'> {
  /** Which of the server's agents does a task; null has `otherwise` do it. */
  readonly agentFor: (task: TaskFacts) => string | null;
  /** What the agent is told. Default: the argument `prompt` of the call. */
  readonly promptFor?: (task: TaskFacts) => string;
  /** Does what no agent of the server does, such as `inProcessTasks()`. */
  readonly otherwise: TaskRunner;
}

/**
 * Has background tasks done by the agents of a Treadle server: each in a session of its own there, named after its call, so
 * that a process that comes back goes on waiting for the same one. What the agent asks for is answered by `tools` and
 * `approve`; without them its task fails, and says which session waits. What it costs is the server's to bound: `details`
 * of the result has it.
 *
 * @example
 * ```ts
 * import { createClient, remoteTasks } from '@treadle/client';
 * import { asTool, createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { inProcessTasks } from '@treadle/core/features';
 * import { serve } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const reader = defineAgent({ id: 'reader', model: scriptedModel(['The notes are about tides.']) });
 * const serving = await serve({ agents: [reader], journal: memoryJournal() });
 * const client = createClient({ url: serving.url, token: serving.token ?? '' });
 *
 * const call = { name: 'reader', arguments: { prompt: 'What is in my notes?', run_in_background: true } };
 * const agent = defineAgent({
 *   model: scriptedModel([{ toolCalls: [call] }, 'It is being read.', 'Tides.']),
 *   tools: [asTool(reader, { description: 'Reads.' })],
 *   background: {
 *     tools: ['reader'],
 *     atEnd: 'wait',
 *     runner: () => remoteTasks(client, { agentFor: ({ toolName }) => toolName, otherwise: inProcessTasks() }),
 *   },
 * });
 * const session = await createSession(agent);
 * console.log((await session.prompt('What are my notes about?').result).text); // Tides.
 * await serving.close();
 * ```
 */
export function remoteTasks(client: Client, options: RemoteTasksOptions): TaskRunner {
  const { agentFor, otherwise } = options;
  return {
    start(request) {
      const agent = agentFor(request);
      return agent === null ? otherwise.start(request) : follow(client, options, request, agent);
    },
    async attach(facts) {
      const agent = agentFor(facts);
      if (agent === null) return otherwise.attach(facts);
      try {
        await client.session(await sessionIdOf(facts)).read();
      } catch (error) {
        if (error instanceof ClientError && error.code === 'session_not_found') return null;
        throw error;
      }
      return follow(client, options, facts, agent);
    },
  };
}

/** The same for every attempt at the task, and of no other one: what isn't a letter, a digit or "-" is written as its code. */
async function sessionIdOf({ idempotencyKey }: TaskFacts): Promise<string> {
  const code = (sign: string): string => `_${(sign.codePointAt(0) ?? 0).toString(16)}_`;
  const id = `task-${idempotencyKey.replaceAll(/[^A-Za-z0-9-]/gu, code)}`;
  if (id.length <= MAX_ID_LENGTH) return id;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(idempotencyKey)));
  return `${id.slice(0, 60)}.${[...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Characters of a session's id, as servers take them. */
const MAX_ID_LENGTH = 128;

const promptOf = ({ arguments: { prompt }, toolName }: TaskFacts): string =>
  typeof prompt === 'string' ? prompt : `Do what ${toolName} is for.`;

/** Starts the run, or finds it: the server counts a prompt once, by its key. */
function follow(
  client: Client,
  { promptFor = promptOf, tools, approve }: RemoteTasksOptions,
  facts: TaskFacts,
  agent: string,
): TaskHandle {
  const named = sessionIdOf(facts);
  const watchers = new Set<() => void>();
  let output: TaskOutput = { content: [] };
  let stopped: string | null = null;

  // A server that can't be reached goes on; the loop gives the task up after a moment.
  const cancel = (reason: string): Promise<void> =>
    named.then((id) => client.session(id).cancel(reason)).catch(() => {});

  async function run(): Promise<TaskOutcome> {
    const sessionId = await named;
    output = { ...output, progress: `In session ${sessionId} of the server.` };
    await client.createSession({ id: sessionId, agent }).catch((error: unknown) => {
      if (!(error instanceof ClientError) || error.code !== 'session_exists') throw error;
    });
    if (stopped !== null) return { status: 'killed', message: stopped, content: [] };
    const outcome = await client.session(sessionId).run(promptFor(facts), {
      key: facts.idempotencyKey,
      ...(tools ? { tools } : {}),
      ...(approve ? { approve } : {}),
      onEvent(event) {
        // It was stopped before its prompt had arrived.
        if (event.type === 'run_started' && stopped !== null) void cancel(stopped);
        if (event.type !== 'message_added' || event.message.role !== 'assistant') return;
        const content = event.message.content.flatMap((block) =>
          block.type === 'text' ? [{ type: 'text' as const, text: block.text }] : [],
        );
        if (content.length === 0) return;
        output = { ...output, content };
        for (const watcher of watchers) watcher();
      },
    });
    return outcomeOf(outcome, sessionId, stopped);
  }

  return {
    ended: run().catch((error: unknown): TaskOutcome => {
      const message = error instanceof Error ? error.message : String(error);
      return { status: stopped === null ? 'failed' : 'killed', message, content: [] };
    }),
    read: () => output,
    stop(reason) {
      if (stopped !== null) return;
      stopped = reason;
      void cancel(reason);
    },
    watch(changed) {
      const own = (): void => changed();
      watchers.add(own);
      return () => watchers.delete(own);
    },
  };
}

function outcomeOf(
  { status, text, runId, pending, cost }: RunOutcome,
  sessionId: string,
  stopped: string | null,
): TaskOutcome {
  const content = text.trim() === '' ? [] : [{ type: 'text' as const, text }];
  const details = { sessionId, runId, status, cost };
  if (stopped !== null) return { status: 'killed', message: stopped, content, details };
  if (status === 'completed' && content.length > 0) return { status: 'completed', content, details };
  const asked = pending.map(({ toolName }) => toolName).join(', ');
  const waits = `Session ${sessionId} of the server waits for somebody: ${asked}.`;
  const failed = status === 'completed' ? 'It ended without an answer.' : `It did not finish: ${status}.`;
  return { status: 'failed', message: status === 'paused' ? waits : failed, content, details };
}
