import {
  TreadleError,
  type Agent,
  type DurableEvent,
  type JsonObject,
  type Limits,
  type OfferedTool,
  type UserInput,
} from '@treadle/core';
import type { LimitsData, SessionInput } from '@treadle/core/events';
import type { SessionState } from '@treadle/core/kernel';
import { userMessage, userMessages, type MessageInput } from '@treadle/core/session';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { takeOffered } from './offered-tools.ts';
import { post, type Accepted, type Ask } from './post.ts';
import { agentIdOf } from './sessions.ts';
import { hasOpenTasks } from './tasks.ts';

export interface RunRequest {
  readonly input?: UserInput | readonly MessageInput[];
  /** Goes on with the conversation as it is, instead of a prompt. */
  readonly continue?: boolean;
  readonly metadata?: JsonObject;
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
  { metadata, limits }: Pick<RunRequest, 'metadata' | 'limits'>,
): { readonly metadata?: JsonObject; readonly limits?: LimitsData } {
  const lower = lowered(agent, limits);
  return { ...(metadata === undefined ? {} : { metadata }), ...(lower === null ? {} : { limits: lower }) };
}

/** What a fork has cut off is closed before anything else, and is in nobody's way. */
const isOpen = ({ run }: SessionState): boolean => run !== null && !run.isForked;

const runActive = (): TreadleError =>
  new TreadleError(
    'run_active',
    'A run of this session is open. Steer it, follow up, answer what it waits for, or cancel it.',
  );

/** Starts a run. */
export async function startRun(parts: ServerParts, ask: Ask, request: RunRequest): Promise<Accepted> {
  const { input } = request;
  const agent = await agentOf(parts, ask.sessionId);
  if ((input === undefined) === (request.continue !== true)) {
    throw new RequestError('bad_request', 'Give either `input`, or `continue: true`.');
  }
  const clientTools = takeOffered(parts, agent, request.clientTools);
  const extra = { ...runExtra(agent, request), ...(clientTools.length === 0 ? {} : { clientTools }) };
  const asked: SessionInput =
    input === undefined
      ? { type: 'continue', continuation: { kind: 'default' }, ...extra }
      : { type: 'prompt', messages: userMessages(input), ...extra };
  return post(parts, ask, asked, (state) =>
    isOpen(state) ? runActive() : input === undefined ? refuseContinue(state) : null,
  );
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

function lowered(agent: Agent, limits: Partial<Limits> | undefined): LimitsData | null {
  if (limits === undefined) return null;
  const own = new Map<string, number>(Object.entries(agent.limits));
  for (const [name, value] of Object.entries(limits)) {
    const most = own.get(name);
    if (most === undefined) throw new RequestError('bad_request', `There is no limit \`${name}\`.`);
    if (value > most) throw new RequestError('bad_request', `limits.${name} may be ${most} at most.`);
  }
  return limits;
}

export const steer = (parts: ServerParts, ask: Ask, input: UserInput): Promise<Accepted> =>
  post(parts, ask, { type: 'steering', message: userMessage(input) });

export const followUp = (parts: ServerParts, ask: Ask, input: UserInput): Promise<Accepted> =>
  post(parts, ask, { type: 'follow_up', message: userMessage(input) });

/** Ends the open run, prompts that wait, and what runs in the background. Where nothing is open it does nothing. */
export async function cancel(parts: ServerParts, ask: Ask, reason: string | undefined): Promise<Accepted | null> {
  const { run, inbox, tasks } = await parts.states.of(ask.sessionId);
  if (run === null && inbox.length === 0 && !hasOpenTasks(tasks)) return null;
  return post(parts, ask, { type: 'cancel', ...(reason === undefined ? {} : { reason }) });
}

/** What came of an input that starts a run. */
export type Start =
  | { readonly status: 'started' | 'ended'; readonly runId: string; readonly seq: number }
  | { readonly status: 'rejected'; readonly reason: string }
  | { readonly status: 'waiting' };

/** Waits, for a while, for the run that an input starts. */
export async function startOf(parts: ServerParts, sessionId: string, inputSeq: number): Promise<Start> {
  let from = inputSeq + 1;
  let wake = (): void => {};
  let isLate = false;
  const unwatch = parts.journal.watch(sessionId, () => wake());
  const cancelTimer = parts.clock.after(parts.limits.startMs, () => {
    isLate = true;
    wake();
  });
  try {
    for (;;) {
      // Before reading, so that nothing is written unseen in between.
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      for await (const event of parts.journal.read(sessionId, from)) {
        from = event.seq + 1;
        const start = startIn(event, inputSeq);
        if (start) return start;
      }
      if (isLate) return { status: 'waiting' };
      await news;
    }
  } finally {
    unwatch();
    cancelTimer();
  }
}

function startIn(event: DurableEvent, inputSeq: number): Start | null {
  if (event.type === 'input_rejected' && event.inputSeq === inputSeq)
    return { status: 'rejected', reason: event.reason };
  if (event.type === 'run_started' && event.inputSeq === inputSeq) {
    return { status: 'started', runId: event.runId, seq: event.seq };
  }
  if (event.type === 'run_ended' && event.inputSeq === inputSeq) {
    return { status: 'ended', runId: event.runId, seq: event.seq };
  }
  return null;
}
