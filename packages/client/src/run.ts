import type {
  ClientToolResult,
  JsonObject,
  OfferedTool,
  PendingCall,
  RunStatus,
  ToolResultContent,
  TreadleEvent,
} from '@treadle/core';
import { ClientError } from './error.ts';
import type { Http } from './http.ts';
import { streamSession, type Snapshot } from './stream.ts';

/** What a client's tool gives back: a text, blocks, or any other value, which becomes JSON. What it throws is told to the model. */
export type ClientTool = (args: JsonObject, call: PendingCall) => unknown;

/** A person's answer to a question of permission. */
export interface Approval {
  readonly decision: 'approve' | 'reject';
  /** Told to the model with a no. */
  readonly message?: string;
  /** Other arguments for the call. */
  readonly updatedInput?: JsonObject;
  /** Lets calls like this one run from now on, in this session. */
  readonly remember?: boolean;
  /** With a no: ends the run. */
  readonly interrupt?: boolean;
}

/** How a run is followed. */
export interface FollowOptions {
  /** The tools that run here, by their names. */
  readonly tools?: Readonly<Record<string, ClientTool>>;
  /** Asked whether a call may run. Without it, such a run stays paused. */
  readonly approve?: (call: PendingCall) => Approval | Promise<Approval>;
  /** Told of every event of the run, in order. */
  readonly onEvent?: (event: TreadleEvent | Snapshot) => void;
  /** Stops following the run. It goes on all the same: `cancel` ends it. */
  readonly signal?: AbortSignal;
}

/** Options of a run that a client starts and follows. */
export interface RunOptions extends FollowOptions {
  readonly metadata?: JsonObject;
  /** The name of one of the models of the agent's `routing`, or `default`, for this run. */
  readonly model?: string;
  /** Tools that the agent doesn't have, and this run does, where the server takes them: those of `tools` answer them. */
  readonly clientTools?: readonly OfferedTool[];
  /** The key under which the server counts this prompt once. Default: a new one. */
  readonly key?: string;
}

/** What a run came to. */
export interface RunOutcome {
  readonly runId: string;
  /** `paused`: it waits for what there is no function for here. */
  readonly status: RunStatus | 'paused';
  /** The text of its last reply. */
  readonly text: string;
  /** What it waits for, when it is paused. */
  readonly pending: readonly PendingCall[];
  /** US dollars; null when unknown, or not over. */
  readonly cost: number | null;
}

/** Follows the run that an input starts, answers what it asks for, and resolves at its end. */
export async function followRun(
  http: Http,
  sessionId: string,
  inputSeq: number,
  options: FollowOptions,
): Promise<RunOutcome> {
  const { signal } = options;
  let runId = '';
  let text = '';
  const answered = new Set<string>();
  const after = String(inputSeq - 1);
  for await (const { event } of streamSession(http, sessionId, { after, ...(signal ? { signal } : {}) })) {
    options.onEvent?.(event);
    if (event.type === 'input_rejected' && event.inputSeq === inputSeq)
      throw new ClientError(409, 'run_active', event.reason);
    if ((event.type === 'run_started' || event.type === 'run_ended') && event.inputSeq === inputSeq)
      ({ runId } = event);
    if (!('runId' in event) || event.runId !== runId || runId === '') continue;
    if (event.type === 'message_added' && event.message.role === 'assistant') {
      text = event.message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    } else if (event.type === 'run_ended') return { runId, status: event.status, text, pending: [], cost: event.cost };
    else if (event.type === 'run_paused') {
      const rest = await answer(http, sessionId, event.pending, { ...options, answered });
      if (rest.length > 0) return { runId, status: 'paused', text, pending: rest, cost: null };
    }
  }
  throw new ClientError(0, 'cancelled', 'The run was left before its end. It goes on all the same.');
}

/**
 * Answers what there are functions for, and gives back the rest. A run may pause again before an answer has reached the
 * sub-agent that waits for it: what was answered is not asked again.
 */
async function answer(
  http: Http,
  sessionId: string,
  pending: readonly PendingCall[],
  { tools = {}, approve, signal, answered }: FollowOptions & { readonly answered: Set<string> },
): Promise<readonly PendingCall[]> {
  const at = `/v1/sessions/${encodeURIComponent(sessionId)}`;
  const open = pending.filter((call) => !answered.has(nameOf(call)));
  const calls = open.filter(({ approvalId }) => approvalId === undefined);
  // Each session, the run's own and those of its sub-agents, takes the results of all its calls at once.
  const ready = [...Map.groupBy(calls, ({ sessionId: of }) => of).values()]
    .filter((group) => group.every(({ toolName }) => Object.hasOwn(tools, toolName)))
    .flat();
  if (ready.length > 0) {
    const results = await Promise.all(ready.map((call) => resultOf(tools[call.toolName], call)));
    // The same calls have the same key: a second tab, or this one after a break, answers nothing twice.
    const key = `results:${ready.map(({ callId }) => callId).join(',')}`.slice(0, 200);
    await posted(http.json('POST', `${at}/tool-results`, { body: { results }, key, signal }));
    for (const call of ready) answered.add(nameOf(call));
  }
  for (const call of open) {
    if (call.approvalId === undefined || !approve) continue;
    const body = await approve(call);
    const path = `${at}/approvals/${encodeURIComponent(call.approvalId)}`;
    await posted(http.json('POST', path, { body, key: `approval:${call.approvalId}`, signal }));
    answered.add(nameOf(call));
  }
  return open.filter((call) => !answered.has(nameOf(call)));
}

const nameOf = ({ approvalId, callId, sessionId = '' }: PendingCall): string => `${sessionId}/${approvalId ?? callId}`;

/** Whoever answered first counts: then there is nothing left to do. */
async function posted(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof ClientError) || (error.status !== 409 && error.status !== 422)) throw error;
  }
}

/** The result of a client tool. */
export type ToolResult = ClientToolResult;

async function resultOf(tool: ClientTool | undefined, call: PendingCall): Promise<ToolResult> {
  const { callId } = call;
  try {
    const value = await tool?.(call.arguments, call);
    return { callId, content: contentOf(value) };
  } catch (error) {
    return { callId, content: error instanceof Error ? error.message : String(error), isError: true };
  }
}

function contentOf(value: unknown): ToolResult['content'] {
  if (typeof value === 'string') return value;
  const isBlocks = Array.isArray(value) && value.length > 0 && value.every((item: unknown) => hasType(item));
  if (isBlocks) return value as readonly ToolResultContent[];
  return value === undefined ? 'Done.' : JSON.stringify(value);
}

const hasType = (item: unknown): boolean => typeof item === 'object' && item !== null && 'type' in item;
