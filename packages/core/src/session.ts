import type { Agent } from './agent.ts';
import type { Blobs } from './blobs/blobs.ts';
import { blobKeeper, type BlobOptions } from './blobs/keeper.ts';
import { inputMovedOut } from './blobs/move-out.ts';
import {
  EVENT_VERSION,
  type ClientToolResult,
  type Continuation,
  type LiveEvent,
  type PendingCall,
  type PreviousSession,
  type QueueKind,
  type SessionInput,
} from './events/events.ts';
import { isStream, userMessage, userMessages, type PromptInput, type UserInput } from './input.ts';
import type { Journal } from './journal/journal.ts';
import { memoryJournal } from './journal/memory.ts';
import { checkTags, checkTitle } from './journal/session-facts.ts';
import { TreadleError } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { Limits } from './limits/limits.ts';
import { createHub, type Observer, type Watcher } from './loop/hub.ts';
import { openState } from './loop/snapshot-keeper.ts';
import { checkMessages } from './messages/check.ts';
import { conversationOf } from './messages/conversation.ts';
import type { Message } from './messages/message.ts';
import type { PermissionUpdate } from './permissions/updates.ts';
import { systemClock, type Clock } from './ports/clock.ts';
import type { OfferedTool } from './tools/offered-tool.ts';
import { randomIds, type Ids } from './ports/ids.ts';
import type { Run } from './run.ts';
import { answerApproval, type ApprovalAnswer } from './session-answers.ts';
import { compactSession, type CompactedEvent } from './session-compact.ts';
import { drivingAgent } from './subagents/handoff.ts';
import { childRunner, tellParent } from './session-children.ts';
import { clearQueue, queued, type QueuedMessage } from './session-queue.ts';
import { pendingCalls, submitToolResults } from './session-results.ts';
import { canGoOn, createExpiry } from './session-expiry.ts';
import * as runs from './session-runs.ts';
import { createTitler } from './session-title.ts';
import { promptStream } from './session-stream.ts';
import { abortTasks, closeTasks, tasksOf } from './session-tasks.ts';
import type { TaskControl } from './tasks/control.ts';

export interface SessionOptions {
  /** Where the log is kept. Default: this process's memory. */
  readonly journal?: Journal;
  /** The agents that the session may be handed over to, by `handoffTool`. */
  readonly agents?: readonly Agent[];
  /** Where what is too big for a log is kept: `docs/files.md`. Default: nowhere, and everything is in the log. */
  readonly blobs?: Blobs | BlobOptions;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** Numbers from 0 to 1, for the spread of retries. Default: the platform's. */
  readonly random?: () => number;
  /** Who drives, shown to the next process that wants the session. */
  readonly owner?: string;
  /**
   * Go on with the run by itself when the time is over to answer what it waits for. False leaves that to whoever calls
   * `resume()`. Default true.
   */
  readonly goOnAtExpiry?: boolean;
  /** Hears of observers that threw. Default: a warning on the console. */
  readonly onObserverError?: (error: unknown) => void;
}

export interface CreateSessionOptions extends SessionOptions {
  /** Default: a new random id. */
  readonly id?: string;
  readonly metadata?: JsonObject;
  /** At most 200 characters on one line. */
  readonly title?: string;
  /** At most 32, of at most 64 characters each. */
  readonly tags?: readonly string[];
  /** The session it takes the place of; `openLatest` says so when it begins a new one. */
  readonly previous?: PreviousSession;
}

export interface RunOptions {
  /** Data of the caller's, kept in `run_started`. */
  readonly metadata?: JsonObject;
  /**
   * Limits of this run that differ from the agent's. Counts begin anew with each run, so a run that ended at a limit goes
   * on with `continue()`, with more room or the same.
   */
  readonly limits?: Partial<Limits>;
  /**
   * Tools that run where the answers of this run go, besides the agent's client tools: a model may call them in this run and
   * no other. One that has the name of a tool of the agent's is left out.
   */
  readonly clientTools?: readonly OfferedTool[];
}

/** One log, and the runs on it. */
export interface Session {
  readonly id: string;
  /** What it is called, by somebody or by a model; null while nobody has named it. */
  readonly title: string | null;
  /** The one that drives it: that it was opened with, or that it was handed over to. */
  readonly agent: Agent;
  /** The conversation as models see it, oldest first. */
  readonly messages: readonly Message[];
  /** The run this process is driving. */
  readonly activeRun: Run | null;
  /** The calls that a client is to run or a person to approve, before the open run goes on. */
  readonly pending: readonly PendingCall[];
  /** True when the log has something to resume: a run that is paused or was cut off, or a prompt nobody has answered. */
  readonly hasOpenRun: boolean;
  /** What runs in the background. */
  readonly tasks: TaskControl;
  /**
   * True when there is something to do that nobody has to answer first: what `resume` would work on. False for a run that
   * waits for a client's results or a person's answer.
   */
  readonly canGoOn: boolean;
  /**
   * Starts a run. A run whose process died is ended first, as aborted; prompts that nobody has answered come first.
   *
   * @throws TreadleError `run_active` during a run or while one is paused; `empty_prompt`.
   */
  prompt(input: PromptInput, options?: RunOptions & { readonly continuation?: Continuation }): Run;
  /**
   * Starts a run on the history as it is, to try again or go on.
   *
   * @throws TreadleError `run_active`, `nothing_to_continue`, `ends_with_assistant`.
   */
  continue(options?: RunOptions & { readonly continuation?: Continuation }): Run;
  /**
   * Goes on with a run that was cut off or paused, or with a prompt whose process died before its run began.
   *
   * @throws TreadleError `nothing_to_continue` when no run is open, `run_active` when it is being driven here.
   */
  resume(): Run;
  /**
   * Does what is to be done without a run: ends background tasks that are to stop, and closes what a fork has cut off. Does
   * nothing while a run is driven here, which does it by itself, or when there is nothing of the kind.
   */
  tidyUp(): Promise<void>;
  /** Takes in what other processes have written since: `messages`, `hasOpenRun` and what is waited for follow the log. */
  refresh(): Promise<void>;
  /** Queues a message for the model's next call, or for the next run when there is none. Acknowledged once it is in the log. */
  steer(input: UserInput): Promise<void>;
  /** Queues a message for when the run would end. Acknowledged once it is in the log. */
  followUp(input: UserInput): Promise<void>;
  /** The messages that wait to be delivered, oldest first, as the log has them now. */
  queued(): Promise<QueuedMessage[]>;
  /**
   * Takes back the messages that wait, of one kind or of both, and returns them. Acknowledged once it is in the log; what
   * is delivered by then stays delivered.
   */
  clearQueue(kind?: QueueKind): Promise<QueuedMessage[]>;
  /**
   * Gives a paused run the results of its client tools: exactly those it waits for.
   *
   * @throws TreadleError `not_awaiting` when none is waited for; `results_missing`, `results_unknown` and
   * `results_duplicate` when the ids are others than those of `pending`; `conflict` when a call has a result already, or
   * its time is over.
   */
  submitToolResults(results: readonly ClientToolResult[]): Run;
  /**
   * Answers a question that a run asks (`approval_requested` and `run_paused` name its `approvalId`). The first answer
   * counts, whichever process brings it. A text is told to the model with a no.
   *
   * @throws TreadleError `conflict` when the question is not open: it was answered, its time is over, its run has ended, or
   * it is another session's. What another process has written since is found out by the run, whose result rejects so.
   */
  answerApproval(approvalId: string, decision: 'approve' | 'deny', said?: string | ApprovalAnswer): Run;
  /**
   * Changes what this session may do from the next call on: rules, the mode, folders. Acknowledged once it is in the log.
   *
   * @throws TreadleError `invalid_definition` for an update that can't be used.
   */
  updatePermissions(updates: readonly PermissionUpdate[]): Promise<void>;
  /**
   * Ends the open run, and prompts that wait, as aborted, and kills what runs in the background. Acknowledged once it is in the log, in whatever process the
   * session is driven; without anything open it does nothing.
   */
  abort(reason?: string): Promise<void>;
  /** Forgets the conversation. The log keeps what happened. */
  reset(): Promise<void>;
  /**
   * Makes the view smaller: at once when no run is open, else before the run's next model call. With `instructions` a
   * summary pays attention to them. Nothing is lost: the log keeps what happened.
   *
   * @throws TreadleError `not_compacted` when nothing could be removed, or a hook said no; `run_active` when a run is
   * paused or its process died.
   */
  compact(options?: { readonly instructions?: string }): Promise<CompactedEvent>;
  /** The conversation without what the runtime told the model. */
  exportMessages(): Message[];
  /** Replaces the conversation, with messages from `exportMessages` or written by hand. */
  importMessages(messages: unknown): Promise<void>;
  /** Every event of this session's runs in this process. Returns a function that ends it. */
  subscribe(observer: Observer): () => void;
  /**
   * The message that is being streamed here, from its beginning, as live events; empty when there is none. Who subscribes
   * and reads this in the same tick misses nothing of it, and is told nothing twice.
   */
  openMessage(): LiveEvent[];
  /** Resolves when no run is being driven here. */
  idle(): Promise<void>;
  /** Resolves when nothing goes on beside the runs: when the session has the title that a model was asked for. */
  settled(): Promise<void>;
  /** Waits until it is idle, ends the asking for a title, kills what runs in the background, then tells `session_end` hooks why it ends (default `other`). The log is left as it is. */
  close(reason?: string): Promise<void>;
}

/**
 * Starts a new session.
 *
 * @throws TreadleError `session_exists` when the id is taken.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { offlineModel } from '@treadle/models/offline';
 *
 * const session = await createSession(defineAgent({ model: offlineModel() }));
 * const { finalAnswer } = await session.prompt('What can you do?').result;
 * console.log(finalAnswer.length > 0); // true
 * ```
 */
export async function createSession(agent: Agent, options: CreateSessionOptions = {}): Promise<Session> {
  const { clock = systemClock, ids = randomIds, journal = memoryJournal() } = options;
  const sessionId = options.id ?? ids.create('session');
  await journal.create(sessionId, {
    type: 'session_created',
    at: clock.now(),
    eventVersion: EVENT_VERSION,
    sessionId,
    agentId: agent.id,
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
    ...(options.title === undefined ? {} : { title: checkTitle(options.title) }),
    ...(options.tags === undefined ? {} : { tags: checkTags(options.tags) }),
    ...(options.previous === undefined ? {} : { previous: options.previous }),
  });
  return loadSession(agent, sessionId, { ...options, journal }, 'startup');
}

/**
 * Opens a session that exists, in this or any other process.
 *
 * @throws TreadleError `session_not_found`, `journal_too_new`, `journal_corrupt`.
 */
export function openSession(
  agent: Agent,
  sessionId: string,
  options: SessionOptions & { readonly journal: Journal },
): Promise<Session> {
  return loadSession(agent, sessionId, options, 'resume');
}

async function loadSession(
  agent: Agent,
  sessionId: string,
  options: SessionOptions & { readonly journal: Journal },
  opened: runs.SessionParts['opened'],
): Promise<Session> {
  return sessionOf(await loadParts(agent, sessionId, options, opened, null));
}

/** A session's parts, as its log has them now. With a watcher it is the sub-agent of a session in this process. */
async function loadParts(
  agent: Agent,
  sessionId: string,
  options: SessionOptions & { readonly journal: Journal },
  opened: runs.SessionParts['opened'],
  watcher: Watcher | null,
): Promise<runs.SessionParts> {
  const { journal, clock = systemClock, ids = randomIds, owner = 'this process' } = options;
  const blobs = blobKeeper(options.blobs);
  const write = (input: SessionInput, key = ids.create('input')) => journal.post(sessionId, input, key, clock.now());
  const parts: runs.SessionParts = {
    get agent() {
      return drivingAgent(agent, options.agents ?? [], parts.state.drivenBy);
    },
    journal,
    clock,
    ids,
    owner,
    random: options.random ?? Math.random,
    ...(await openState(journal, sessionId)),
    hub: createHub(options.onObserverError ?? warn, watcher),
    blobs,
    post: blobs ? async (input, key) => write(await inputMovedOut(blobs, input), key) : write,
    active: null,
    queue: Promise.resolve(),
    answered: new Set(),
    opened,
    tasks: null,
    branches: null,
    closed: false,
    get childRunner() {
      return childRunner(parts, (child, childId, above) => loadParts(child, childId, options, 'startup', above));
    },
    children: null,
    money: null,
    waiting: null,
    afterDrive: watcher ? null : () => tellParent(parts),
    titler: null,
    expiry: null,
  };
  if (!watcher) {
    parts.titler = createTitler(parts, () => runs.refresh(parts));
    parts.expiry = options.goOnAtExpiry === false ? null : createExpiry(parts);
    parts.expiry?.arm();
  }
  if (parts.agent.background) tasksOf(parts);
  return parts;
}

function warn(error: unknown): void {
  // The one place core speaks: an observer's failure must not be silent, and must not reach the loop.
  // oxlint-disable-next-line no-console
  console.warn('A Treadle observer failed:', error);
}

const partsOfSession = new WeakMap<Session, runs.SessionParts>();

/** What a session is made of, for the other files of the front door. */
export function partsOf(session: Session): runs.SessionParts {
  const parts = partsOfSession.get(session);
  if (parts) return parts;
  throw new TreadleError('invalid_definition', 'This session was not made by createSession or openSession.');
}

function sessionOf(parts: runs.SessionParts): Session {
  const { state, hub, post } = parts;
  const session: Session = {
    id: state.sessionId,
    get title() {
      return state.title;
    },
    get agent() {
      return parts.agent;
    },
    get messages() {
      return state.view.slice();
    },
    get activeRun() {
      return parts.active?.control.run ?? null;
    },
    get pending() {
      return pendingCalls(parts);
    },
    get hasOpenRun() {
      return runs.hasWork(parts);
    },
    get tasks() {
      return tasksOf(parts).control;
    },
    get canGoOn() {
      return canGoOn(parts);
    },
    prompt(input, options = {}) {
      return isStream(input) ? promptStream(parts, input, options) : runs.prompt(parts, userMessages(input), options);
    },
    continue: ({ continuation, ...options } = {}) =>
      runs.continueRun(parts, continuation ?? { kind: 'default' }, options),
    resume: () => runs.resume(parts),
    tidyUp: () => runs.tidyUp(parts),
    refresh: () => runs.refresh(parts),
    async steer(input) {
      await post({ type: 'steering', message: userMessage(input) });
    },
    async followUp(input) {
      await post({ type: 'follow_up', message: userMessage(input) });
    },
    queued: () => queued(parts),
    clearQueue: (kind) => clearQueue(parts, kind),
    submitToolResults: (results) => submitToolResults(parts, results),
    answerApproval: (approvalId, decision, said = {}) =>
      answerApproval(parts, approvalId, decision, typeof said === 'string' ? { message: said } : said),
    updatePermissions: (updates) => runs.updatePermissions(parts, updates),
    async abort(reason) {
      await runs.abort(parts, reason);
      await abortTasks(parts, reason);
    },
    reset: () => runs.reset(parts),
    async close(reason = 'other') {
      await closeTasks(parts);
      await runs.close(parts, reason);
    },
    compact: ({ instructions } = {}) => compactSession(parts, instructions),
    exportMessages: () => structuredClone(conversationOf(state.view)),
    async importMessages(messages) {
      const fill = { at: parts.clock.now(), id: () => parts.ids.create('msg') };
      await runs.replaceMessages(parts, checkMessages(messages, fill));
    },
    subscribe: (observer) => hub.subscribe(observer),
    openMessage: () => hub.openMessage(),
    async idle() {
      while (parts.active) await parts.active.ended;
    },
    settled: () => parts.titler?.settled() ?? Promise.resolve(),
  };
  partsOfSession.set(session, parts);
  return session;
}
