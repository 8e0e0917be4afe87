import { TreadleError, type UserInput } from '@treadle/core';
import { rewindFold, type RewindPoint } from '@treadle/core/projections';
import type { Continuation, SessionInput } from '@treadle/core/events';
import { branchOf, replaySession, rerunOf, type ForkedRun, type ReplayReport } from '@treadle/core/history';
import { createHash } from 'node:crypto';
import { errorField } from '../log.ts';
import type { ServerParts } from '../parts.ts';
import { post, mismatch, refuseDraining, type Accepted, type Caller } from './post.ts';
import { agentOf, refuseContinue, runExtra } from './runs.ts';
import type { AgainRequest, ReplayRequest, RewindRequest } from './schemas.ts';
import { forkSession, ownId, type CreatedSession } from './sessions.ts';

/** A run in a session of its own. */
export interface Again extends Accepted {
  readonly sessionId: string;
}

/** Does a run again, in a fork from before it. */
export const rerun = (caller: Caller, parent: string, request: AgainRequest): Promise<Again> =>
  again(caller, parent, request, ({ journal, clock }) => rerunOf(journal, parent, { ...request, clock }));

/** Takes another path, in a fork. */
export const branch = (
  caller: Caller,
  parent: string,
  request: AgainRequest & { readonly input?: UserInput },
): Promise<Again> =>
  again(caller, parent, request, ({ journal, clock }) => {
    const { instead, seq, input, tag } = request;
    return branchOf(journal, parent, {
      clock,
      ...(instead !== undefined && { instead }),
      ...(seq !== undefined && { at: seq }),
      ...(input !== undefined && { prompt: input }),
      ...(tag !== undefined && { tag }),
    });
  });

async function again(
  caller: Caller,
  parent: string,
  { id, title, tags, ...request }: AgainRequest,
  read: (parts: ServerParts) => Promise<ForkedRun>,
): Promise<Again> {
  const { parts } = caller;
  const extra = runExtra(await agentOf(parts, parent), request);
  const { at, messages, continuation } = await read(parts);
  const { sessionId, existed } = await forkSession(caller, parent, {
    ...(id !== undefined && { id }),
    ...(title !== undefined && { title }),
    ...(tags && { tags }),
    ...(at !== undefined && { seq: at }),
  });
  // The same attempt has the same name, though the clock has gone on.
  const named = existed ? await continuationIn(caller, sessionId) : null;
  const how = { continuation: named ?? continuation, ...extra };
  const input: SessionInput = messages ? { type: 'prompt', messages, ...how } : { type: 'continue', ...how };
  // A session that was just forked from a run's end has nothing to say without a prompt.
  const done = await post(caller, sessionId, input, (state) => (messages ? null : refuseContinue(state)));
  return { sessionId, ...done };
}

async function continuationIn({ parts, inputKey }: Caller, sessionId: string): Promise<Continuation | undefined> {
  for await (const event of parts.journal.read(sessionId, 1)) {
    if (event.type === 'input_received' && event.key === inputKey)
      return 'continuation' in event.input ? event.input.continuation : undefined;
  }
  return undefined;
}

/** Takes the conversation back, in a fork: to before a message of the user's. Files are not the server's to change. */
export async function rewind(
  caller: Caller,
  parent: string,
  { to, ...facts }: RewindRequest,
): Promise<CreatedSession & { readonly to: RewindPoint }> {
  const fold = rewindFold();
  for await (const event of caller.parts.journal.read(parent, 1)) fold.take(event);
  const points = fold.points();
  const point = points.findLast(({ number, messageId }) => to === undefined || to === number || to === messageId);
  if (!point) {
    const which = to === undefined ? 'no message' : `no message ${JSON.stringify(to)}`;
    throw new TreadleError(
      'nothing_to_continue',
      `The conversation has ${which} of a user to go back to. Its messages have the numbers 1 to ${points.length}.`,
    );
  }
  return { ...(await forkSession(caller, parent, { ...facts, seq: point.inputSeq - 1 })), to: point };
}

/** A replay under its key. */
interface KnownReplay {
  /** What was asked for, hashed. */
  readonly asked: string;
  /** The request that plays it. */
  readonly by: string;
  /** Null until it is over. */
  readonly report: ReplayReport | null;
}

/** Milliseconds after which a replay is played by another request: its process has died, or hangs. */
const LEASE_MS = 10_000;
/** Milliseconds for which a report is kept. */
const KEPT_MS = 600_000;
/** Milliseconds between looks for the report of a replay that another request plays. */
const LOOK_MS = 100;

/** Plays a session again in this process. The same request again, by its key, at whatever server waits for the same replay. */
export async function replay(caller: Caller, sessionId: string, request: ReplayRequest): Promise<ReplayReport> {
  const { parts, key, inputKey } = caller;
  refuseDraining(parts);
  if (key === null) return startReplay(caller, sessionId, request);
  const { replays, clock, ids } = parts;
  const asked = createHash('sha256')
    .update(JSON.stringify([sessionId, request]))
    .digest('hex');
  const own: KnownReplay = { asked, by: ids.create('replay'), report: null };
  for (;;) {
    const known = await replays.update<KnownReplay>(`replay:${inputKey}`, (before) =>
      before === null ? { value: own, forMs: LEASE_MS } : null,
    );
    if (known?.asked !== asked) throw mismatch();
    if (known.report !== null) return known.report;
    if (known.by === own.by) return playOwn(caller, own, () => startReplay(caller, sessionId, request));
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve));
    refuseDraining(parts);
  }
}

/** Plays a replay for all who ask for it. One that fails is forgotten. */
async function playOwn(
  { parts: { replays, clock, log }, inputKey }: Caller,
  own: KnownReplay,
  play: () => Promise<ReplayReport>,
): Promise<ReplayReport> {
  const name = `replay:${inputKey}`;
  const untold = (error: unknown): void => log('error', 'replay_not_kept', { error: errorField(error) });
  let isOver = false;
  const renewLater = (): void => {
    if (!isOver) clock.after(LEASE_MS / 3, () => void renew(), { background: true });
  };
  async function renew(): Promise<void> {
    if (isOver) return;
    await replays
      .update<KnownReplay>(name, (before) =>
        before?.by === own.by && before.report === null ? { value: own, forMs: LEASE_MS } : null,
      )
      .catch(untold);
    renewLater();
  }
  renewLater();
  let report: ReplayReport | null = null;
  try {
    report = await play();
    return report;
  } finally {
    isOver = true;
    const [value, forMs] = [{ ...own, report }, report === null ? 0 : KEPT_MS];
    await replays
      .update<KnownReplay>(name, (before) => (before === null || before.by === own.by ? { value, forMs } : null))
      .catch(untold);
  }
}

async function startReplay(caller: Caller, sessionId: string, request: ReplayRequest): Promise<ReplayReport> {
  const { journal, clock, ids, blobs, agents } = caller.parts;
  return replaySession(await agentOf(caller.parts, sessionId), sessionId, {
    ...request,
    journal,
    clock,
    // The fork is a session that its token may see.
    ids: { create: (prefix) => (prefix === 'session' ? ownId({ ...caller, key: null }) : ids.create(prefix)) },
    ...(blobs && { blobs }),
    agents: [...agents.values()],
  });
}
