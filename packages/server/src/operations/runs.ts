import {
  TreadleError,
  type Agent,
  type JsonObject,
  type Limits,
  type OfferedTool,
  type UserInput,
} from '@treadle/core';
import type { LimitsData, SessionInput } from '@treadle/core/events';
import type { SessionState } from '@treadle/core/kernel';
import { withModel } from '@treadle/core/features';
import { userMessages, type MessageInput } from '@treadle/core/session';
import { checkOffered } from '@treadle/core/tools';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { post, type Accepted, type Caller } from './post.ts';
import { agentIdOf } from './sessions.ts';
import { hasOpenTasks } from './tasks.ts';

/** A run to be started. */
export interface RunRequest {
  /** A text, blocks of content, or messages. */
  readonly input?: UserInput | readonly MessageInput[];
  /** Goes on with the conversation as it is, instead of a prompt. */
  readonly continue?: boolean;
  readonly metadata?: JsonObject;
  /** One of the models of the agent's `routing`, by name. */
  readonly model?: string;
  /** Tools that this run's client runs, where the server takes them. */
  readonly clientTools?: readonly OfferedTool[];
  /** May be lower than the agent's, not higher. */
  readonly limits?: Partial<Limits>;
}

/** The agent of a session. @throws TreadleError `agent_not_found` */
export async function agentOf(parts: ServerParts, sessionId: string): Promise<Agent> {
  const agentId = await agentIdOf(parts, sessionId);
  const agent = agentId === undefined ? parts.defaultAgent : parts.agents.get(agentId);
  if (agent) return agent;
  throw new TreadleError('agent_not_found', `The agent of this session, ${String(agentId)}, is not on this server.`);
}

/** What is said of a run besides its prompt. @throws RequestError `bad_request` for limits above the agent's. */
export function runExtra(
  agent: Agent,
  { metadata, model, limits }: Pick<RunRequest, 'metadata' | 'model' | 'limits'>,
): { readonly metadata?: JsonObject; readonly limits?: LimitsData } {
  const own = new Map<string, number>(Object.entries(agent.limits));
  for (const [name, value] of Object.entries(limits ?? {})) {
    const most = own.get(name);
    if (most === undefined) throw new RequestError('bad_request', `There is no limit \`${name}\`.`);
    if (value > most) throw new RequestError('bad_request', `limits.${name} may be ${most} at most.`);
  }
  const data = withModel(agent.routing, model, metadata);
  return { ...(data && { metadata: data }), ...(limits && { limits }) };
}

/** Starts a run. @throws TreadleError `run_active`, `nothing_to_continue`, `ends_with_assistant` */
export async function startRun(caller: Caller, sessionId: string, request: RunRequest): Promise<Accepted> {
  const { input } = request;
  const agent = await agentOf(caller.parts, sessionId);
  if ((input === undefined) === (request.continue !== true)) {
    throw new RequestError('bad_request', 'Give either `input`, or `continue: true`.');
  }
  const clientTools = takeOffered(caller.parts, agent, request.clientTools);
  const extra = { ...runExtra(agent, request), ...(clientTools.length > 0 && { clientTools }) };
  const asked: SessionInput =
    input === undefined
      ? { type: 'continue', continuation: { kind: 'default' }, ...extra }
      : { type: 'prompt', messages: userMessages(input), ...extra };
  return post(
    caller,
    sessionId,
    asked,
    (state) => refuseBesideRun(state) ?? (input === undefined ? refuseContinue(state) : null),
  );
}

/** Why a run can't begin now. */
export function refuseBesideRun({ run }: SessionState): TreadleError | null {
  // A run that a fork has cut off is closed before anything else, and is in nobody's way.
  if (!run || run.isForked) return null;
  return new TreadleError(
    'run_active',
    'A run of this session is open. Steer it, follow up, answer what it waits for, or cancel it.',
  );
}

/** Ends the open run, the prompts that wait and background tasks. Null where nothing is open. */
export async function cancelOpen(
  caller: Caller,
  sessionId: string,
  { reason }: { readonly reason?: string },
): Promise<Accepted | null> {
  const { run, inbox, tasks } = await caller.parts.states.of(sessionId);
  if (run === null && inbox.length === 0 && !hasOpenTasks(tasks)) return null;
  return post(caller, sessionId, { type: 'cancel', ...(reason !== undefined && { reason }) });
}

/**
 * The tools that a run is given of those which its client offers: none where the server takes none, and none in the place of
 * a tool of the agent's own.
 *
 * @throws RequestError `bad_request`, `too_large`; TreadleError `invalid_definition`.
 */
export function takeOffered(
  { offeredTools }: ServerParts,
  agent: Agent,
  offered: readonly OfferedTool[] = [],
): readonly OfferedTool[] {
  if (!offeredTools || offered.length === 0) return [];
  const { maxTools, maxBytes, accept } = offeredTools;
  if (offered.length > maxTools)
    throw new RequestError('bad_request', `A run may be offered ${maxTools} tools, and these are ${offered.length}.`);
  if (Buffer.byteLength(JSON.stringify(offered)) > maxBytes)
    throw new RequestError('too_large', `The tools that are offered to a run may have ${maxBytes} bytes together.`);
  return checkOffered(offered.filter((tool) => !agent.tools.has(tool.name) && accept(tool, agent)));
}

/** Why a run can't begin without a prompt. */
export function refuseContinue({ view, run }: SessionState): TreadleError | null {
  // Results of the calls that a fork has cut off are still to come.
  if (run?.isForked) return null;
  const last = view.findLast(({ role }) => role !== 'extension');
  if (!last) return new TreadleError('nothing_to_continue', 'The history is empty. Give an `input`.');
  if (last.role !== 'assistant') return null;
  return new TreadleError('ends_with_assistant', "The history ends with the assistant's message. Give an `input`.");
}

/** Waits, for a while, for the run that an input starts. Without a `runId` it has not begun. @throws TreadleError `run_active` */
export async function startOf(
  { journal, clock, limits }: ServerParts,
  sessionId: string,
  inputSeq: number,
): Promise<{ readonly runId?: string }> {
  let from = inputSeq + 1;
  let wake = (): void => {};
  let isLate = false;
  const unwatch = journal.watch(sessionId, () => wake());
  const cancelTimer = clock.after(limits.startMs, () => {
    isLate = true;
    wake();
  });
  try {
    for (;;) {
      // Before reading, so that nothing is written unseen in between.
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      for await (const event of journal.read(sessionId, from)) {
        from = event.seq + 1;
        if (!('inputSeq' in event) || event.inputSeq !== inputSeq) continue;
        if (event.type === 'input_rejected') throw new TreadleError('run_active', event.reason);
        if (event.type === 'run_started' || event.type === 'run_ended') return { runId: event.runId };
      }
      if (isLate) return {};
      await news;
    }
  } finally {
    unwatch();
    cancelTimer();
  }
}
