import type {
  CallToolResult,
  Client,
  InputRequests,
  InputResponses,
  RequestOptions,
} from '@modelcontextprotocol/client';
import { isJsonObject } from '@treadle/core/json';
import type { Clock, JsonObject } from '@treadle/core';

import { McpProblem } from '../client/problem.ts';

/** The SDK sends such requests only with a schema of their results; the parts that are used are checked here. */
const ANY_OBJECT = {
  '~standard': {
    version: 1,
    vendor: 'treadle',
    validate: (value: unknown) => (isJsonObject(value) ? { value } : { issues: [{ message: 'must be an object' }] }),
  },
} as const;

/** Milliseconds that a server is to keep a task and its result. */
const TTL_MS = 24 * 60 * 60 * 1000;
const DEFAULT_POLL_MS = 1000;
const SHORTEST_POLL_MS = 100;
const LONGEST_POLL_MS = 30_000;
const OPEN: ReadonlySet<unknown> = new Set(['working', 'submitted', 'input_required']);

/** What goes with a call that a server runs as a task. */
export interface TaskParts {
  readonly clock: Clock;
  readonly options: RequestOptions & { readonly signal?: AbortSignal };
}

/**
 * Calls a tool that a server of the older protocol runs as a task only: it is looked at until it has ended, and cancelled
 * when the call is.
 */
export async function callAsTask(
  client: Client,
  params: { readonly name: string; readonly arguments: JsonObject },
  { clock, options }: TaskParts,
): Promise<CallToolResult> {
  const send = (method: string, more: JsonObject, how: RequestOptions = options): Promise<JsonObject> =>
    client.request({ method, params: more }, ANY_OBJECT, how) as Promise<JsonObject>;
  const created = await send('tools/call', { ...params, task: { ttl: TTL_MS } });
  const { task } = created;
  // A server may answer at once all the same.
  if (task === undefined || !isJsonObject(task)) return created as unknown as CallToolResult;
  const { taskId } = task;
  if (typeof taskId !== 'string') throw new McpProblem('bad_answer', 'The server began a task and gave it no id.');
  try {
    for (let now: JsonObject = task; OPEN.has(now['status']); now = await send('tasks/get', { taskId })) {
      const { status, statusMessage, pollInterval } = now;
      const message = typeof statusMessage === 'string' ? statusMessage : JSON.stringify(status);
      options.onprogress?.({ progress: 0, message });
      // The server puts its questions into the answer to this request, which comes when the task has ended.
      if (status === 'input_required') break;
      await pause(clock, typeof pollInterval === 'number' ? pollInterval : DEFAULT_POLL_MS, options.signal);
    }
    return (await send('tasks/result', { taskId })) as unknown as CallToolResult;
  } catch (error) {
    if (options.signal?.aborted) void send('tasks/cancel', { taskId }, { timeout: 5000 }).catch(() => {});
    throw error;
  }
}

/** How a task of the newer protocol came out, or what it wants to know first. */
export type TaskOutcome =
  { readonly result: CallToolResult } | { readonly inputRequests: InputRequests; readonly taskId: string };

/**
 * Looks at a task of the newer protocol until it has ended, or asks for something that it wasn't told yet. It is cancelled when
 * the call is.
 *
 * @param told the answers to give it first, by the ids of its questions
 * @throws McpProblem when it fails.
 */
export async function followTask(
  client: Client,
  taskId: string,
  told: InputResponses,
  { clock, options }: TaskParts,
): Promise<TaskOutcome> {
  const send = (method: string, more: JsonObject = {}, how: RequestOptions = options): Promise<JsonObject> =>
    client.request({ method, params: { taskId, ...more } }, ANY_OBJECT, how) as Promise<JsonObject>;
  try {
    if (Object.keys(told).length > 0) await send('tasks/update', { inputResponses: told as unknown as JsonObject });
    for (;;) {
      const { status, statusMessage, pollIntervalMs, result, error, inputRequests } = await send('tasks/get');
      if (status === 'completed' && result !== undefined) return { result: result as unknown as CallToolResult };
      if (status === 'input_required' && inputRequests !== undefined && isJsonObject(inputRequests)) {
        // What was answered may be shown a while longer.
        const open = Object.keys(inputRequests).some((id) => !Object.hasOwn(told, id));
        if (open) return { inputRequests: inputRequests as unknown as InputRequests, taskId };
      } else if (!OPEN.has(status)) {
        const why = error !== undefined && isJsonObject(error) ? error['message'] : statusMessage;
        const words = typeof why === 'string' ? why : 'it says no more';
        throw new McpProblem('refused', `The server's task ended as ${JSON.stringify(status)}: ${words}`);
      }
      const message = typeof statusMessage === 'string' ? statusMessage : JSON.stringify(status);
      options.onprogress?.({ progress: 0, message });
      await pause(clock, typeof pollIntervalMs === 'number' ? pollIntervalMs : DEFAULT_POLL_MS, options.signal);
    }
  } catch (error) {
    if (options.signal?.aborted) void send('tasks/cancel', {}, { timeout: 5000 }).catch(() => {});
    throw error;
  }
}

/** Waits for as long as a server wishes, within reason. */
function pause(clock: Clock, wished: number, signal: AbortSignal | undefined): Promise<void> {
  const ms = Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, wished));
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(new McpProblem('cancelled', 'The task was cancelled.'));
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
