import type { Agent } from '../agent/agent.ts';
import type { AgentTypes, ContextOf, EventOf, PendingOf } from '../agent/types.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { BlobOptions } from '../ports/blob-keeper.ts';
import type {
  ClientToolResult,
  Continuation,
  LiveEvent,
  PendingApproval,
  PendingClientTool,
  PendingQuestion,
  PreviousSession,
  QueueKind,
} from '../events/events.ts';
import type { PromptInput, UserInput } from './input.ts';
import type { Journal } from '../journal/journal.ts';
import type { BranchPerformer } from '../kernel/context.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Limits } from '../events/limits.ts';
import type { ExtensionMessage, Message } from '../messages/message.ts';
import type { PermissionUpdate } from '../events/permission-updates.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Run } from './run.ts';
import type { ApprovalAnswer } from './verbs/answers.ts';
import type { SessionStatus } from '../features/approvals/pending.ts';
import type { CompactedEvent } from './verbs/compact.ts';
import type { QueuedMessage } from './verbs/queue.ts';
import type { TaskControl } from '../tools/task-control.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import type { UserAnswer } from '../tools/user-questions.ts';

/** What `openSession` takes besides the agent and the id. `createSession` takes them too. */
export interface SessionOptions {
  /** Where the log is kept. Default: this process's memory. */
  readonly journal?: Journal;
  /** The agents that the session may be handed over to, by `handoffTool`. */
  readonly agents?: readonly Agent[];
  /** Where what is too big for a log is kept: `docs/files.md`. Default: nowhere, and everything is in the log. */
  readonly blobs?: Blobs | BlobOptions;
  /** Handed to `execute` as `context.context`: connections, the user's id. Kept in no log, so give it at every opening. */
  readonly context?: unknown;
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
  readonly resumeOnExpiry?: boolean;
  /** Hears of observers and of a `canUseTool` that failed. Default: a warning on the console. */
  readonly onObserverError?: (error: unknown) => void;
  /**
   * Runs branches that an earlier process began, or that were asked for over HTTP: see `branchesBy`. Default: `runBranches` has to be
   * called again.
   */
  readonly branches?: BranchPerformer;
}

/** Tools that say what `context` they want are given it. */
export type WithContext<Types extends AgentTypes, Options> =
  unknown extends ContextOf<Types> ? Options : Options & { readonly context: ContextOf<Types> };

/** What `createSession` takes besides the agent. */
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

/** How a session is closed. */
export interface CloseOptions {
  /** True aborts the run that is under way. Default: waits for it, however long its tools take. */
  readonly abort?: boolean;
  /** Told to `session_end` hooks, and as the reason of an abort. Default `other`. */
  readonly reason?: string;
}

/** What `prompt` and `continue` take for one run. */
export interface RunOptions {
  /** Data of the caller's, kept in `run_started`. */
  readonly metadata?: JsonObject;
  /** The name of one of the models of the agent's `routing`, or `default`: it is asked in all turns. Kept as `metadata.model`. */
  readonly model?: string;
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
export interface Session<Types extends AgentTypes = AgentTypes> {
  readonly id: string;
  /** What it is called, by somebody or by a model; null while nobody has named it. */
  readonly title: string | null;
  /** The one that drives it: that it was opened with, or that it was handed over to. */
  readonly agent: Agent;
  /** The conversation as models see it, oldest first. */
  readonly messages: readonly Message[];
  /** The run this process is driving. */
  readonly activeRun: Run<Types> | null;
  /** The calls that a client is to run or a person to approve, before the open run goes on. */
  readonly pending: readonly PendingOf<Types>[];
  /**
   * `paused`: the open run waits for a client's results or a person's answers. `running`: it is driven, or it was cut off
   * and `resume()` goes on with it. `idle`: no run is open and no prompt waits for its run.
   */
  readonly status: SessionStatus;
  /** What runs in the background. */
  readonly tasks: TaskControl;
  /**
   * True when there is something to do that nobody has to answer first: what `resume` would work on. False for a run that
   * waits for a client's results or a person's answer.
   */
  readonly canResume: boolean;
  /**
   * Starts a run. A run whose process died is ended first, as aborted; prompts that nobody has answered come first.
   *
   * @throws TreadleError `run_active` during a run or while one is paused; `empty_prompt`; `session_closed`.
   */
  prompt(input: PromptInput, options?: RunOptions & { readonly continuation?: Continuation }): Run<Types>;
  /**
   * Starts a run on the history as it is, to try again or go on.
   *
   * @throws TreadleError `run_active`, `nothing_to_continue`, `ends_with_assistant`.
   */
  continue(options?: RunOptions & { readonly continuation?: Continuation }): Run<Types>;
  /**
   * Goes on with a run that was cut off or paused, or with a prompt whose process died before its run began.
   *
   * @throws TreadleError `nothing_to_continue` when no run is open, `run_active` when it is being driven here.
   */
  resume(): Run<Types>;
  /**
   * Does what is to be done without a run: ends background tasks that are to stop, and closes what a fork has cut off. Does
   * nothing while a run is driven here, which does it by itself, or when there is nothing of the kind.
   */
  tidyUp(): Promise<void>;
  /** Takes in what other processes have written since: `messages`, `status` and what is waited for follow the log. */
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
  addToolOutputs(results: readonly ClientToolResult[]): Run<Types>;
  /**
   * Gives a paused run the result of its client tool: any value that a tool may return. `call` is the member of `pending`, or
   * its `callId`. Where several calls wait, each may be given by itself: the run pauses again, and goes on with the last.
   *
   * @throws TreadleError as `addToolOutputs`.
   */
  addToolOutput(
    call: string | PendingClientTool,
    output: unknown,
    options?: { readonly isError?: boolean },
  ): Run<Types>;
  /**
   * Lets a call run that waits for a person. `approval` is a member of `pending`, or its `approvalId`. The first answer wins,
   * in whatever process it is given.
   *
   * @throws TreadleError `conflict` when the question is not open: it was answered, its time is over, its run has ended, or
   * it is another session's. What another process has written since is found out by the run, whose result rejects so.
   */
  approve(approval: string | PendingApproval | PendingQuestion, answer?: string | ApprovalAnswer): Run<Types>;
  /** Refuses a call that waits for a person. The model is told the message. @throws TreadleError as `approve`. */
  reject(approval: string | PendingApproval | PendingQuestion, answer?: string | ApprovalAnswer): Run<Types>;
  /**
   * Answers what a call asks: by what a person filled in, or by one answer for each question of an `ask_user` call.
   *
   * @throws TreadleError as `approve`, and `invalid_answer` for answers that don't fit the questions.
   */
  answer(question: PendingQuestion | PendingClientTool, answer: JsonObject | readonly UserAnswer[]): Run<Types>;
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
  /**
   * Puts data of the application's own at the end of the history, during a run too. No model sees it, and compactions keep it.
   *
   * @throws TreadleError `invalid_messages` for data that JSON doesn't have.
   * @example
   * ```ts
   * import { createSession, defineAgent } from '@treadle/core';
   * import { scriptedModel } from '@treadle/testing';
   *
   * const session = await createSession(defineAgent({ model: scriptedModel([]) }));
   * await session.addExtension('ui_update', { tab: 2 });
   * console.log(session.messages.length); // 1
   * ```
   */
  addExtension(kind: string, data: JsonValue): Promise<ExtensionMessage>;
  /** Every event of this session's runs in this process. Returns a function that ends it. */
  subscribe(observer: (event: EventOf<Types>) => unknown): () => void;
  /**
   * The message that is being streamed here, from its beginning, as live events; empty when there is none. Who subscribes
   * and reads this in the same tick misses nothing of it, and is told nothing twice.
   */
  openMessage(): LiveEvent[];
  /** Resolves when no run is being driven here. */
  idle(): Promise<void>;
  /**
   * Stops at the next step, so that another process can go on: no model call and no tool is begun any more, and what is under
   * way ends first. Resolves when the session is let go; a run that was driven rejects with `session_yielded`, and its log
   * goes on with the next drive, here or elsewhere.
   */
  yield(): Promise<void>;
  /** Resolves when nothing goes on beside the runs: when the session has the title that a model was asked for. */
  settled(): Promise<void>;
  /**
   * Ends the use of the session here: waits for the run that is under way, or aborts it, ends the asking for a title, kills
   * what runs in the background, and tells `session_end` hooks. The log is left as it is. Afterwards whatever would change
   * the session is refused.
   */
  close(options?: CloseOptions): Promise<void>;
}
