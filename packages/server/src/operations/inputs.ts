import {
  pendingCalls,
  resultsProblem,
  TreadleError,
  userMessage,
  userMessages,
  type Agent,
  type ClientToolResult,
  type DurableEvent,
  type JsonObject,
  type Limits,
  type LimitsData,
  type MessageInput,
  type PendingCall,
  type PermissionUpdate,
  type SessionInput,
  type SessionState,
  type UserInput,
} from '@treadle/core';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { agentIdOf } from './sessions.ts';

/** An input that is in the log. */
export interface Accepted {
  /** Its event. */
  readonly inputSeq: number;
  /** True when the same request, by its idempotency key, was there before. */
  readonly duplicate: boolean;
}

/** Events, from the last one backwards, in which a key is looked for that was used before. */
const KEY_WINDOW = 2000;

/** Who asks, and the key under which the same request counts once. */
export interface Ask {
  readonly sessionId: string;
  readonly key: string;
}

/**
 * Puts an input into a session's inbox, once per key, and has the session driven. `refuse` says why the session can't take it
 * now; a request that is repeated is not refused for what it did itself.
 */
async function post(
  parts: ServerParts,
  { sessionId, key }: Ask,
  input: SessionInput,
  refuse: (state: SessionState) => TreadleError | null = () => null,
): Promise<Accepted> {
  const state = await parts.states.of(sessionId);
  const refused = refuse(state);
  const { seq } = state;
  if (refused) {
    const before = await findInput(parts, sessionId, key, seq);
    if (!before) throw refused;
    return repeated(before, input);
  }
  if (parts.isDraining())
    throw new RequestError('draining', 'The server is about to stop. Try again, elsewhere or later.');
  const outcome = await parts.journal.post(sessionId, input, key, parts.clock.now());
  if (outcome.duplicate) {
    for await (const event of parts.journal.read(sessionId, outcome.seq)) {
      if (event.type === 'input_received') return repeated(event, input);
      break;
    }
  }
  await parts.dispatcher.dispatch(sessionId);
  return { inputSeq: outcome.seq, duplicate: outcome.duplicate };
}

type InputReceived = Extract<DurableEvent, { type: 'input_received' }>;

function repeated(event: InputReceived, input: SessionInput): Accepted {
  if (JSON.stringify(event.input) !== JSON.stringify(input)) {
    throw new RequestError('idempotency_mismatch', 'This idempotency key was used for another request. Use a new one.');
  }
  return { inputSeq: event.seq, duplicate: true };
}

async function findInput(
  { journal }: ServerParts,
  sessionId: string,
  key: string,
  seq: number,
): Promise<InputReceived | null> {
  for await (const event of journal.read(sessionId, Math.max(1, seq - KEY_WINDOW))) {
    if (event.type === 'input_received' && event.key === key) return event;
  }
  return null;
}

export interface RunRequest {
  readonly input?: UserInput | readonly MessageInput[];
  /** Goes on with the conversation as it is, instead of a prompt. */
  readonly continue?: boolean;
  readonly metadata?: JsonObject;
  /** May be lower than the agent's, not higher. */
  readonly limits?: Partial<Limits>;
}

const runActive = (): TreadleError =>
  new TreadleError(
    'run_active',
    'A run of this session is open. Steer it, follow up, answer what it waits for, or cancel it.',
  );

/** Starts a run. */
export async function startRun(parts: ServerParts, ask: Ask, request: RunRequest): Promise<Accepted> {
  const { metadata, input } = request;
  const agentId = await agentIdOf(parts, ask.sessionId);
  const agent = agentId === undefined ? parts.defaultAgent : parts.agents.get(agentId);
  if (!agent)
    throw new TreadleError('agent_not_found', `The agent of this session, ${String(agentId)}, is not on this server.`);
  if ((input === undefined) === (request.continue !== true)) {
    throw new RequestError('bad_request', 'Give either `input`, or `continue: true`.');
  }
  const limits = lowered(agent, request.limits);
  const extra = { ...(metadata === undefined ? {} : { metadata }), ...(limits === null ? {} : { limits }) };
  const asked: SessionInput =
    input === undefined
      ? { type: 'continue', continuation: { kind: 'default' }, ...extra }
      : { type: 'prompt', messages: userMessages(input), ...extra };
  return post(parts, ask, asked, (state) =>
    state.run ? runActive() : input === undefined ? refuseContinue(state) : null,
  );
}

function refuseContinue({ view }: SessionState): TreadleError | null {
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

/** Ends the open run, and prompts that wait. Where nothing is open it does nothing. */
export async function cancel(parts: ServerParts, ask: Ask, reason: string | undefined): Promise<Accepted | null> {
  const { run, inbox } = await parts.states.of(ask.sessionId);
  if (run === null && inbox.length === 0) return null;
  return post(parts, ask, { type: 'cancel', ...(reason === undefined ? {} : { reason }) });
}

/** The results of all client tools that the open run, or a sub-agent of it, waits for. */
export async function submitToolResults(
  parts: ServerParts,
  ask: Ask,
  results: readonly ClientToolResult[],
): Promise<Accepted> {
  const waiting = await waitingFor(parts, ask.sessionId);
  const of = waiting.find(({ approvalId, callId }) => approvalId === undefined && callId === results[0]?.callId);
  const input: SessionInput = { type: 'client_tool_results', results };
  return postBelow(parts, ask, of?.sessionId, input, (state) => {
    const now = parts.clock.now();
    const open = pendingCalls(state).filter(
      ({ approvalId, expiresAt = Infinity }) => approvalId === undefined && expiresAt > now,
    );
    const problem = resultsProblem(
      open.filter(({ sessionId }) => sessionId === of?.sessionId),
      results,
    );
    return problem && new TreadleError(problem.code, problem.message, { details: { callIds: problem.callIds } });
  });
}

const waitingFor = async ({ states }: ServerParts, sessionId: string): Promise<readonly PendingCall[]> =>
  pendingCalls(await states.of(sessionId));

/**
 * Puts an answer where it is waited for. What a sub-agent waits for goes into its own log; then the session that was asked is
 * told, so that whoever drives it has the sub-agent go on.
 */
async function postBelow(
  parts: ServerParts,
  ask: Ask,
  child: string | undefined,
  input: SessionInput,
  refuse: (state: SessionState) => TreadleError | null,
): Promise<Accepted> {
  if (child === undefined) return post(parts, ask, input, refuse);
  const state = await parts.states.of(ask.sessionId);
  const refused = refuse(state);
  if (refused) throw refused;
  const under = state.run?.turn?.calls.find(({ paused }) =>
    paused?.pending.some(({ sessionId }) => sessionId === child),
  );
  await parts.journal.post(child, input, ask.key, parts.clock.now());
  return post(parts, ask, { type: 'child_updated', sessionId: under?.childSessionId ?? child });
}

export interface ApprovalRequest {
  readonly decision: 'approve' | 'deny';
  /** Told to the model with a no. */
  readonly message?: string;
  /** Other arguments for the call; they are checked again. */
  readonly updatedInput?: JsonObject;
  /** Lets calls like this one run from now on, for this session: what the question suggests. */
  readonly remember?: boolean;
  /** With a no: ends the run. */
  readonly interrupt?: boolean;
}

/** A person's answer to a question of permission. The first one counts. */
export async function answerApproval(
  parts: ServerParts,
  ask: Ask,
  approvalId: string,
  { decision, message, updatedInput, remember, interrupt }: ApprovalRequest,
): Promise<Accepted> {
  const updates = remember === true ? await suggestions(parts, ask.sessionId, approvalId) : [];
  const input: SessionInput = {
    type: 'approval_answer',
    approvalId,
    decision,
    ...(message === undefined ? {} : { message }),
    ...(updatedInput === undefined ? {} : { updatedInput }),
    ...(updates.length === 0 ? {} : { updatedPermissions: updates }),
    ...(interrupt === true ? { interrupt } : {}),
  };
  const asked = (await waitingFor(parts, ask.sessionId)).find((call) => call.approvalId === approvalId);
  return postBelow(parts, ask, asked?.sessionId, input, (state) => {
    const open = pendingCalls(state).find((call) => call.approvalId === approvalId);
    if (!open) return new TreadleError('not_awaiting', `No question ${approvalId} is open.`);
    if ((open.expiresAt ?? Infinity) > parts.clock.now()) return null;
    return new TreadleError('conflict', `The time to answer the question ${approvalId} is over.`);
  });
}

/** Only what the question itself suggests, and only for this session: a client grants nothing of its own invention. */
async function suggestions(
  parts: ServerParts,
  sessionId: string,
  approvalId: string,
): Promise<readonly PermissionUpdate[]> {
  const { run } = await parts.states.of(sessionId);
  if (!run) return [];
  for await (const event of parts.journal.read(sessionId, run.startedSeq)) {
    if (event.type !== 'approval_requested' || event.approvalId !== approvalId) continue;
    return (event.suggestions ?? []).map((update) => ({ ...update, destination: 'session' }));
  }
  return [];
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
