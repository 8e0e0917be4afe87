import type { TreadleError, UserInput } from '@treadle/core';
import type { Continuation, SessionInput } from '@treadle/core/events';
import { branchOf, replaySession, rerunOf, type ForkedRun, type ReplayReport } from '@treadle/core/history';
import type { SessionState } from '@treadle/core/kernel';
import type { Ids } from '@treadle/core/ports';
import type { ServerParts } from '../parts.ts';
import type { Principal } from '../security/tokens.ts';
import { agentOf, refuseContinue, runExtra, type RunRequest } from './inputs.ts';
import { mismatch, post, refuseDraining, type Accepted, type Ask } from './post.ts';
import { forkSession, ownId, type ForkRequest } from './sessions.ts';

interface AgainRequest extends Pick<RunRequest, 'metadata' | 'limits'> {
  /** Of the new session. Default: a new one. */
  readonly id?: string;
  readonly title?: string;
  readonly tags?: readonly string[];
  /** Names the attempt. */
  readonly tag?: string;
}

export interface RerunRequest extends AgainRequest {
  readonly runId?: string;
}

export interface BranchRequest extends AgainRequest {
  readonly instead?: string | true;
  readonly seq?: number;
  readonly input?: UserInput;
}

/** A run in a session of its own. */
export interface Again extends Accepted {
  readonly sessionId: string;
}

/** Does a run again, in a fork from before it. */
export const rerun = (
  parts: ServerParts,
  principal: Principal,
  ask: Ask,
  request: RerunRequest,
  key: string | null,
): Promise<Again> => {
  const { runId, tag } = request;
  const which = {
    clock: parts.clock,
    ...(runId === undefined ? {} : { runId }),
    ...(tag === undefined ? {} : { tag }),
  };
  return again(parts, principal, ask, request, key, () => rerunOf(parts.journal, ask.sessionId, which));
};

/** Takes another path, in a fork. */
export const branch = (
  parts: ServerParts,
  principal: Principal,
  ask: Ask,
  request: BranchRequest,
  key: string | null,
): Promise<Again> => {
  const { instead, seq, input, tag } = request;
  return again(parts, principal, ask, request, key, () =>
    branchOf(parts.journal, ask.sessionId, {
      clock: parts.clock,
      ...(instead === undefined ? {} : { instead }),
      ...(seq === undefined ? {} : { at: seq }),
      ...(input === undefined ? {} : { prompt: input }),
      ...(tag === undefined ? {} : { tag }),
    }),
  );
};

async function again(
  parts: ServerParts,
  principal: Principal,
  ask: Ask,
  { id, title, tags, metadata, limits }: AgainRequest,
  key: string | null,
  read: () => Promise<ForkedRun>,
): Promise<Again> {
  const extra = runExtra(await agentOf(parts, ask.sessionId), {
    ...(metadata === undefined ? {} : { metadata }),
    ...(limits === undefined ? {} : { limits }),
  });
  const { at, messages, continuation } = await read();
  const fork: ForkRequest = {
    ...(id === undefined ? {} : { id }),
    ...(title === undefined ? {} : { title }),
    ...(tags === undefined ? {} : { tags }),
    ...(at === undefined ? {} : { seq: at }),
  };
  const { sessionId, existed } = await forkSession(parts, principal, ask.sessionId, fork, key);
  // The same attempt has the same name, though the clock has gone on.
  const named = existed ? await continuationIn(parts, sessionId, ask.key) : null;
  const how = { continuation: named ?? continuation, ...extra };
  const input: SessionInput = messages ? { type: 'prompt', messages, ...how } : { type: 'continue', ...how };
  return { sessionId, ...(await post(parts, { ...ask, sessionId }, input, refuseOf(input))) };
}

/** A session that was just forked from a run's end has nothing to say without a prompt. */
const refuseOf =
  ({ type }: SessionInput) =>
  (state: SessionState): TreadleError | null =>
    type === 'continue' ? refuseContinue(state) : null;

async function continuationIn(
  { journal }: ServerParts,
  sessionId: string,
  key: string,
): Promise<Continuation | undefined> {
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type !== 'input_received' || event.key !== key) continue;
    return event.input.type === 'prompt' || event.input.type === 'continue' ? event.input.continuation : undefined;
  }
  return undefined;
}

export interface ReplayRequest {
  readonly runId?: string;
  readonly turn?: number;
  readonly model?: 'agent' | 'recorded';
  readonly onMiss?: 'stop' | 'execute';
  readonly keep?: boolean;
}

const MOST_REPLAYS = 100;

/** Plays a session again in this process. The same request again, by its key, waits for the same replay. */
export async function replay(
  parts: ServerParts,
  principal: Principal,
  { sessionId, key }: Ask,
  request: ReplayRequest,
): Promise<ReplayReport> {
  refuseDraining(parts);
  const { replays } = parts;
  const asked = JSON.stringify([sessionId, request]);
  const known = replays.get(key);
  if (known && known.asked !== asked) throw mismatch();
  const report = known?.report ?? startReplay(parts, principal, sessionId, request);
  replays.set(key, { asked, report });
  for (const oldest of replays.keys()) {
    if (replays.size <= MOST_REPLAYS) break;
    replays.delete(oldest);
  }
  return report;
}

async function startReplay(
  parts: ServerParts,
  principal: Principal,
  sessionId: string,
  request: ReplayRequest,
): Promise<ReplayReport> {
  const { journal, clock, ids, blobs } = parts;
  const agent = await agentOf(parts, sessionId);
  // The fork is a session that its token may see.
  const own: Ids = {
    create: (prefix) => (prefix === 'session' ? ownId(parts, principal, undefined, null) : ids.create(prefix)),
  };
  return replaySession(agent, sessionId, {
    ...request,
    journal,
    clock,
    ids: own,
    ...(blobs ? { blobs } : {}),
    agents: [...parts.agents.values()],
  });
}
