import type { BranchRef } from '../../events/branches.ts';
import type {
  ConfigSnapshot,
  Continuation,
  DurableEvent,
  PendingCall,
  RunStatus,
  SessionInput,
  TreadleEvent,
} from '../../events/events.ts';
import type { Draft } from '../../draft.ts';
import type { JsonObject } from '../../json.ts';
import type { Message } from '../../messages/message.ts';
import type { Usage } from '../../model/usage.ts';
import { runMessagesFold, type RunMessagesFold } from '../run-messages.ts';
import { addSpending, NOTHING_SPENT, spendingOf, type Spending } from '../spending.ts';

/** How a session came to be. `at`: milliseconds since 1970. */
export type SessionFormation =
  /** Somebody created it. */
  | { readonly kind: 'explicit'; readonly at: number }
  /** The events begin with a run: nobody has seen how the session was created. */
  | { readonly kind: 'first_run'; readonly at: number }
  /** The agent had been idle for longer than this when it began. */
  | { readonly kind: 'inactivity'; readonly at: number; readonly thresholdMs: number };

/**
 * Where a run stands. `pending`: somebody is being asked whether it may start. `completed`: it ended by itself, well or
 * not: `endStatus` says how. `rejected`: an input was refused. `aborted`: it was cancelled, or nobody goes on with it.
 */
export type RunRecordStatus = 'pending' | 'running' | 'completed' | 'rejected' | 'aborted';

/** A run that a tool call started in another session. */
export interface ChildRunRef {
  readonly callId: string;
  readonly toolName: string;
  readonly childRunId: string;
  /** Null where the log doesn't say, until `linkSessions` has seen the session that has it. */
  readonly childSessionId: string | null;
}

/** The call that started a session, in another one. */
export interface SpawnRef {
  readonly parentSessionId: string;
  readonly parentRunId: string;
  readonly callId: string;
  readonly toolName: string;
}

/** Runs that were started side by side, of which one was selected. */
export interface ParallelGroup {
  /** In the order of their configurations. */
  readonly branches: readonly BranchRef[];
  /** This and the next two are null until it is decided. */
  readonly selectedSessionId: string | null;
  readonly selectedIndex: number | null;
  readonly evaluationUsage: Usage | null;
  /** True only on runs of the branch that was selected. */
  readonly isSelected: boolean;
}

/** One run of a session. */
export interface RunRecord {
  readonly runId: string;
  /** The session it began in: in a fork, the parent's for what was before it. */
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly parentRunId: string | null;
  /** Null while it isn't known: before the run starts. */
  readonly continuation: Continuation | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly status: RunRecordStatus;
  /** How it ended: only `completed` is a success. Null before. */
  readonly endStatus: RunStatus | null;
  /** Why an input was refused, when that ended it. */
  readonly rejection: string | null;
  /** What it waits for, while it is paused. */
  readonly waitsFor: readonly PendingCall[];
  /** Null for a run that never started. */
  readonly config: ConfigSnapshot | null;
  /** All that were added, oldest first, with what the runtime told the model; `isConversation` tells them apart. */
  readonly messages: readonly Message[];
  /** The sum of what is known. */
  readonly usage: Usage;
  /** US dollars; null when any part is unknown. */
  readonly cost: number | null;
  readonly metadata: JsonObject | null;
  /** All of the run, oldest first. Deltas only when asked for. */
  readonly events: readonly TreadleEvent[];
  /** Runs of this session that continue this one. */
  readonly childRunIds: readonly string[];
  /** Runs that its tool calls started in other sessions. */
  readonly childRuns: readonly ChildRunRef[];
  readonly parallelGroup: ParallelGroup | null;
}

/** A session and its runs, in the order in which they began. */
export interface SessionTree {
  /** Empty when the events don't say. */
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  readonly formation: SessionFormation;
  readonly metadata: JsonObject | null;
  /** The session it was forked from, and the last event they share. */
  readonly fork: { readonly sessionId: string; readonly seq: number } | null;
  /** Null for a session that no call started. */
  readonly parentSpawn: SpawnRef | null;
  readonly runs: readonly RunRecord[];
}

/** Options of {@link sessionTree}. */
export interface SessionTreeOptions {
  /** Keep `message_delta` events too, where there are any. A log has none. Default false. */
  readonly deltas?: boolean;
  /** True when nobody goes on with what is open: such runs are then `aborted`. Default false. */
  readonly isOver?: boolean;
  /**
   * When the agent was active before this session, where its creation doesn't say: one that began later than that and the
   * threshold is of inactivity.
   */
  readonly inactivity?: { readonly lastActiveAt: number; readonly thresholdMs: number };
}

/** Folds events into a session's tree. */
export interface SessionTreeFold {
  take(event: TreadleEvent): void;
  /** As it is now; what comes later doesn't change it. */
  tree(): SessionTree;
}

/**
 * A session as a tree of runs. Takes a log from its beginning, or the events that an observer has heard.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { rootRuns, sessionTree } from '@treadle/core/projections';
 * import { logOf, scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
 * await session.prompt('Hi').result;
 *
 * const tree = sessionTree(await logOf(journal, session.id));
 * console.log(rootRuns(tree).map(({ status, messages }) => `${status} ${messages.length}`)); // [ 'completed 2' ]
 * ```
 */
export function sessionTree(events: Iterable<TreadleEvent>, options: SessionTreeOptions = {}): SessionTree {
  const fold = sessionTreeFold(options);
  for (const event of events) fold.take(event);
  return fold.tree();
}

/** A run while it is being folded. */
interface RunDraft extends Draft<
  Pick<
    RunRecord,
    'agentId' | 'parentRunId' | 'continuation' | 'startedAt' | 'waitsFor' | 'config' | 'metadata' | 'parallelGroup'
  >
> {
  readonly runId: string;
  readonly sessionId: string;
  hasStarted: boolean;
  ended: Extract<DurableEvent, { type: 'run_ended' }> | null;
  readonly messages: RunMessagesFold;
  spending: Spending;
  readonly events: TreadleEvent[];
  readonly childRunIds: string[];
  readonly childRuns: ChildRunRef[];
  /** Sessions that calls have started, by call. */
  readonly childSessions: Map<string, string>;
}

type AskedRun = Extract<SessionInput, { readonly type: 'prompt' | 'continue' }>;

/** Starts the fold of a session's tree. */
export function sessionTreeFold(options: SessionTreeOptions = {}): SessionTreeFold {
  const runs = new Map<string, RunDraft>();
  /** What asked for a run that hasn't started. */
  const asked = new Map<number, AskedRun>();
  let created: Extract<DurableEvent, { type: 'session_created' }> | null = null;
  let agentId: string | null = null;
  let [firstAt, lastAt] = [0, 0];
  let [hasEvents, openRunId] = [false, null as string | null];

  /** The run of an event, also when it is the first that is heard of it. */
  function draftOf(runId: string, at: number): RunDraft {
    const known = runs.get(runId);
    if (known) return known;
    const draft = newDraft(runId, created?.sessionId ?? '', agentId, at);
    runs.set(runId, draft);
    return draft;
  }

  function takeDurable(event: DurableEvent): void {
    if (!hasEvents) firstAt = event.at;
    hasEvents = true;
    lastAt = Math.max(lastAt, event.at);
    if (event.type === 'session_created') {
      created = event;
      agentId = event.agentId ?? agentId;
    } else if (event.type === 'input_received') {
      if (event.input.type === 'prompt' || event.input.type === 'continue') asked.set(event.seq, event.input);
    } else if (event.type === 'drive_started') {
      const open = openRunId === null ? undefined : runs.get(openRunId);
      if (open) open.waitsFor = [];
    }
    if (!('runId' in event) || event.runId === undefined) return;
    const draft = draftOf(event.runId, event.at);
    foldEvent(draft, event);
    if (event.type === 'run_started') {
      agentId ??= event.agentId;
      openRunId = event.runId;
      asked.delete(event.inputSeq);
      if (event.parentRunId !== undefined) runs.get(event.parentRunId)?.childRunIds.push(event.runId);
    } else if (event.type === 'run_ended') {
      openRunId = null;
      const input = event.inputSeq === undefined ? undefined : asked.get(event.inputSeq);
      if (input) foldRefused(draft, input);
    }
  }

  return {
    take(event) {
      if ('seq' in event) takeDurable(event);
      const kept = keptEvent(event, options.deltas === true);
      if (kept && 'runId' in kept && kept.runId !== undefined) runs.get(kept.runId)?.events.push(kept);
    },
    tree: () => ({
      sessionId: created?.sessionId ?? '',
      agentId,
      createdAt: created?.at ?? firstAt,
      lastActiveAt: lastAt,
      formation: formationOf(created?.at ?? null, firstAt, created?.previous ?? options.inactivity),
      metadata: created?.metadata ?? null,
      fork: created?.fork ?? null,
      parentSpawn: spawnRefOf(created),
      runs: [...runs.values()].map((draft) => recordOf(draft, options.isOver === true)),
    }),
  };
}

function spawnRefOf(created: Extract<DurableEvent, { type: 'session_created' }> | null): SpawnRef | null {
  if (!created?.spawnedBy) return null;
  const { sessionId: parentSessionId, runId: parentRunId, callId, toolName } = created.spawnedBy;
  return { parentSessionId, parentRunId, callId, toolName };
}

function newDraft(runId: string, sessionId: string, agentId: string | null, at: number): RunDraft {
  return {
    runId,
    sessionId,
    agentId,
    parentRunId: null,
    continuation: null,
    startedAt: at,
    hasStarted: false,
    ended: null,
    waitsFor: [],
    config: null,
    messages: runMessagesFold(),
    spending: NOTHING_SPENT,
    metadata: null,
    events: [],
    childRunIds: [],
    childRuns: [],
    childSessions: new Map(),
    parallelGroup: null,
  };
}

function foldEvent(draft: RunDraft, event: DurableEvent): void {
  draft.messages.take(event);
  const spent = spendingOf(event);
  if (spent) draft.spending = addSpending(draft.spending, spent);
  draft.waitsFor = event.type === 'run_paused' ? event.pending : [];
  if (event.type === 'run_started') {
    draft.hasStarted = true;
    draft.agentId = event.agentId;
    draft.parentRunId = event.parentRunId ?? null;
    draft.continuation = event.continuation;
    draft.startedAt = event.at;
    draft.config = event.config;
    draft.metadata = event.metadata ?? null;
  } else if (event.type === 'tool_started' && event.childSessionId !== undefined) {
    draft.childSessions.set(event.callId, event.childSessionId);
  } else if (event.type === 'tool_ended' && event.childRunId !== undefined) {
    const { callId, toolName, childRunId } = event;
    const childSessionId = draft.childSessions.get(callId) ?? null;
    draft.childRuns.push({ callId, toolName, childRunId, childSessionId });
  } else if (event.type === 'branches_started') {
    const { branches } = event;
    const open = { selectedSessionId: null, selectedIndex: null, evaluationUsage: null, isSelected: false };
    draft.parallelGroup = { branches, ...open };
  } else if (event.type === 'branches_ended' && draft.parallelGroup) {
    const { selectedSessionId, selectedIndex, evaluationUsage } = event;
    draft.parallelGroup = { ...draft.parallelGroup, selectedSessionId, selectedIndex, evaluationUsage };
  } else if (event.type === 'run_ended') draft.ended = event;
}

/** A run that never started has what was asked for. */
function foldRefused(draft: RunDraft, { continuation, metadata }: AskedRun): void {
  draft.continuation = continuation ?? { kind: 'initial' };
  draft.metadata = metadata ?? null;
}

function keptEvent(event: TreadleEvent, deltas: boolean): TreadleEvent | null {
  if (event.type !== 'message_delta') return event;
  if (!deltas) return null;
  // It grows in place, and would not be what it was.
  const { partial: _, ...delta } = event;
  return delta;
}

function formationOf(
  createdAt: number | null,
  firstAt: number,
  inactivity: SessionTreeOptions['inactivity'],
): SessionFormation {
  const at = createdAt ?? firstAt;
  if (inactivity && at - inactivity.lastActiveAt > inactivity.thresholdMs) {
    return { kind: 'inactivity', at, thresholdMs: inactivity.thresholdMs };
  }
  return { kind: createdAt === null ? 'first_run' : 'explicit', at };
}

function recordOf(draft: RunDraft, isOver: boolean): RunRecord {
  const {
    messages,
    spending,
    ended,
    hasStarted: _,
    childSessions: __,
    events,
    childRunIds,
    childRuns,
    ...facts
  } = draft;
  const status = statusOf(draft, isOver);
  return {
    ...facts,
    endedAt: ended?.at ?? null,
    status,
    endStatus: ended?.status ?? null,
    rejection: status === 'rejected' ? (ended?.message ?? '') : null,
    messages: messages.messages(),
    usage: spending.usage,
    cost: spending.cost,
    events: [...events],
    childRunIds: [...childRunIds],
    childRuns: [...childRuns],
  };
}

function statusOf({ ended, hasStarted }: RunDraft, isOver: boolean): RunRecordStatus {
  if (ended?.status === 'rejected') return 'rejected';
  if (ended?.status === 'aborted') return 'aborted';
  if (ended) return 'completed';
  if (isOver) return 'aborted';
  return hasStarted ? 'running' : 'pending';
}
