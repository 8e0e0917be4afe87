import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import { isJsonObject } from '@treadle/core/json';
import type { JsonObject, Run, Session } from '@treadle/core';

import { TASKS_EXTENSION } from '../client/task-results.ts';
import { answered, formOf } from './agent-runs.ts';
import type { AgentRuns, LoggedRun, RunState } from './agent-runs.ts';

type Sdk = typeof import('@modelcontextprotocol/server');

const POLL_MS = 500;

interface TaskParams {
  readonly input: JsonObject;
  readonly output: JsonObject & { readonly taskId: string };
}

/** The SDK's own schemas know only the tasks of the older protocol. */
const TASK_PARAMS = {
  '~standard': {
    version: 1,
    vendor: 'treadle',
    types: undefined as TaskParams | undefined,
    validate: (value: unknown) => {
      const taskId = isJsonObject(value) ? value['taskId'] : undefined;
      return isJsonObject(value) && typeof taskId === 'string'
        ? { value: { ...value, taskId } }
        : { issues: [{ message: 'taskId must be a text' }] };
    },
  },
} as const;

/** What the client of a request says of itself: with the request, or, by the older protocol, once. */
export function capabilitiesOf(server: McpServer['server'], { mcpReq }: ServerContext): JsonObject {
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  // oxlint-disable-next-line typescript/no-deprecated -- the older protocol tells it once
  const given = envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? server.getClientCapabilities();
  return isJsonObject(given) ? given : {};
}

/** Whether a client follows tasks. */
export function takesTasks({ extensions }: JsonObject): boolean {
  return extensions !== undefined && isJsonObject(extensions) && extensions[TASKS_EXTENSION] !== undefined;
}

/** Begins a run, and returns its task once the log has it: from then on any process answers for it. */
export async function beginTask(session: Session, begin: () => Run): Promise<object> {
  const started = Promise.withResolvers<{ readonly seq: number; readonly at: number }>();
  const stop = session.subscribe((event) => {
    if (event.type === 'run_started') started.resolve(event);
  });
  try {
    begin().result.catch(started.reject);
    const { seq, at } = await started.promise;
    return { resultType: 'task', ...taskOf(`${session.id}#${seq}`, 'working', { startedAt: at, changedAt: at }) };
  } finally {
    stop();
  }
}

const taskOf = (taskId: string, status: string, run: Pick<LoggedRun, 'startedAt' | 'changedAt'>) => ({
  taskId,
  status,
  createdAt: new Date(run.startedAt).toISOString(),
  lastUpdatedAt: new Date(run.changedAt).toISOString(),
  // As long as the session is kept.
  ttlMs: null,
  pollIntervalMs: POLL_MS,
});

/**
 * Answers for runs as tasks. The id of a task is where its run begins: a session, and an event of its log. The questions of a
 * run are those of the task. A run that a crash cut off goes on when its task is asked for.
 *
 * @param shown what a client gets of a run that has ended
 */
export function offerTasks(
  server: McpServer['server'],
  runs: AgentRuns,
  sdk: Sdk,
  shown: (state: RunState) => object,
): void {
  const found = async (taskId: string, context: ServerContext): Promise<LoggedRun & { readonly id: string }> => {
    if (!takesTasks(capabilitiesOf(server, context))) {
      const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
    }
    const [, id = '', seq = ''] = /^(.+)#(\d{1,15})$/.exec(taskId) ?? [];
    const run = seq === '' ? null : await runs.logged(id, Number(seq));
    if (!run) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `There is no task ${taskId}.`);
    return { id, ...run };
  };
  server.setRequestHandler('tasks/get', { params: TASK_PARAMS }, async ({ taskId }, context) => {
    const { id, ...run } = await found(taskId, context);
    const session = await runs.session(id);
    const { result } = run;
    if (result?.status === 'aborted') return taskOf(taskId, 'cancelled', run);
    if (result) return { ...taskOf(taskId, 'completed', run), result: shown(runs.result(session, result)) };
    const asked = session.pending.flatMap((call) =>
      call.approvalId === undefined ? [] : [[call.approvalId, { method: 'elicitation/create', params: formOf(call) }]],
    );
    if (asked.length > 0) {
      return { ...taskOf(taskId, 'input_required', run), inputRequests: Object.fromEntries(asked) as JsonObject };
    }
    // Another process may be at it after all: then this does nothing.
    if (!session.activeRun && session.canResume) session.resume().result.catch(() => {});
    return taskOf(taskId, 'working', run);
  });
  server.setRequestHandler('tasks/update', { params: TASK_PARAMS }, async ({ taskId }, context) => {
    const { id } = await found(taskId, context);
    // The SDK takes them out of the parameters of every request.
    const inputResponses: unknown = context.mcpReq.inputResponses;
    if (!isJsonObject(inputResponses)) {
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'inputResponses must be an object.');
    }
    // In the background: the run goes on for as long as it takes.
    void answerAll(await runs.session(id), inputResponses).catch(() => {});
    return {};
  });
  server.setRequestHandler('tasks/cancel', { params: TASK_PARAMS }, async ({ taskId }, context) => {
    const { id, result } = await found(taskId, context);
    if (!result) await (await runs.session(id)).abort('The MCP client cancelled it.');
    return {};
  });
}

/** Gives a run its answers, one after the other. What was answered elsewhere meanwhile is passed over. */
async function answerAll(session: Session, answers: JsonObject): Promise<void> {
  for (const [approvalId, answer] of Object.entries(answers)) {
    const question = session.pending.find((call) => call.approvalId === approvalId);
    if (question) await answered(session, question, answer).result;
  }
}
