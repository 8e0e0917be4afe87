import type { JsonObject, JsonValue } from '../json.ts';
import type { ToolResultContent } from '../messages/content.ts';
import type { Message } from '../messages/message.ts';
import type { ModelError, StopReason, Usage } from '../model/model.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import type { TaskEnd } from '../tools/task-control.ts';
import type { PreviousSession } from './about-sessions.ts';
import type { BranchesEnded, BranchesStarted, BranchRef } from './branches.ts';
import type { BudgetSettled, CompactionEvent, ViewPart } from './context-events.ts';
import type { FileCheckpointedEvent, FilesRewoundEvent } from './files.ts';
import type { FilesGeneratedEvent } from './generated-files.ts';
import type { Continuation, SessionInput } from './inputs.ts';
import type { LimitName, LimitsData, LoopPattern, SizeLimit } from './limits.ts';
import type { InRun, InTurn } from './places.ts';
import type { TaskProgress, TaskUpdated } from './tasks.ts';
import type { PendingCall, ToolEvent } from './tool-events.ts';

export type {
  ApprovalExtras,
  ClientToolResult,
  Continuation,
  InputMessage,
  QueueKind,
  SessionInput,
} from './inputs.ts';

export type { PreviousSession, TitleOrigin } from './about-sessions.ts';

export type { CompactionTrigger, ViewPart } from './context-events.ts';

export type { PendingApproval, PendingCall, PendingClientTool, PendingQuestion } from './tool-events.ts';

/** What made a turn begin. */
export type TurnTrigger = 'user' | 'subAgent' | 'continuation' | 'branch';

/** The configuration a run started with, as data. */
export interface ConfigSnapshot {
  readonly provider: string;
  readonly model: string;
  readonly configId: string;
  /** The model's name for people, where it has one. */
  readonly name?: string;
  /** The wire protocol of the model, and its address without credentials, where they are known. */
  readonly api?: string;
  readonly baseUrl?: string;
  readonly thinking?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly contextWindow?: number;
  /** All that may be asked, in order, where there are several: `modelIndex` counts in it. */
  readonly models?: readonly { readonly provider: string; readonly model: string }[];
  readonly tools: readonly string[];
  readonly limits: JsonObject;
  /** Present when nobody looks whether the run gets anywhere. */
  readonly loopDetection?: false;
}

/** Why a run ended. Everything but `completed` is not a success. */
export type RunStatus =
  | 'completed'
  /** The model's call failed. */
  | 'model_error'
  | 'aborted'
  | 'turn_limit'
  | 'token_limit'
  | 'time_limit'
  /** The model refused, or its output was filtered. */
  | 'refused'
  /** The output limit cut a reply off. */
  | 'length'
  /** Refused before it began: by an input filter or a hook. It has no `run_started` and no messages. */
  | 'rejected'
  /** A hook, or whoever was asked for permission, ended it. */
  | 'stopped'
  | 'budget_limit'
  | 'tool_turn_limit'
  | 'tool_call_limit'
  /** A reply, a block of its thinking, or the arguments of one of its calls were too long: the stream was stopped. */
  | 'reply_limit'
  | 'thinking_limit'
  | 'arguments_limit'
  | 'loop_detected'
  | 'context_limit'
  /** The reply still didn't fit the schema when the retries were spent. */
  | 'invalid_output'
  | 'guardrail_failed';

/** A durable event before it has a place in a log. */
export type DurableEventBody =
  | FileCheckpointedEvent
  | FilesRewoundEvent
  | FilesGeneratedEvent
  | {
      readonly type: 'session_created';
      readonly at: number;
      readonly eventVersion: number;
      readonly sessionId: string;
      readonly agentId?: string;
      readonly metadata?: JsonObject;
      readonly fork?: { readonly sessionId: string; readonly seq: number };
      readonly title?: string;
      readonly tags?: readonly string[];
      /** The agent's session before this one, which had been idle for longer than the threshold. */
      readonly previous?: PreviousSession;
      /** The call of an agent's tool that started it, in another session. */
      readonly spawnedBy?: SpawnedBy;
      /** The run of the forked session that it is one of the branches of. */
      readonly branchOf?: string;
    }
  | {
      readonly type: 'drive_started';
      readonly at: number;
      readonly epoch: number;
      readonly owner: string;
      /** Present when what this drive writes is of a higher version than the log was until then. */
      readonly eventVersion?: number;
    }
  | { readonly type: 'input_received'; readonly at: number; readonly key: string; readonly input: SessionInput }
  | {
      readonly type: 'input_rejected';
      readonly at: number;
      readonly inputSeq: number;
      readonly reason: string;
      readonly runId?: string;
    }
  | (InRun & {
      readonly type: 'run_started';
      readonly at: number;
      readonly agentId: string;
      readonly parentRunId?: string;
      readonly continuation: Continuation;
      readonly configSegment: string;
      /** N of the run id. */
      readonly ordinal: number;
      readonly config: ConfigSnapshot;
      /** What kind of caller: decides the trigger of the first turn. */
      readonly startedBy: 'user' | 'subAgent';
      readonly metadata?: JsonObject;
      /** Limits of this run that differ from the agent's. */
      readonly limits?: LimitsData;
      /** Tools that this run's client runs, besides those of the agent. */
      readonly clientTools?: readonly OfferedTool[];
      /** The input it answers. */
      readonly inputSeq: number;
    })
  | (InTurn & {
      readonly type: 'turn_started';
      readonly at: number;
      readonly triggeredBy: TurnTrigger;
      /** From 1; counts on across the agent's models. */
      readonly attempt: number;
      /** Which of the agent's models is asked: 0, and absent, is the first. */
      readonly modelIndex?: number;
      /** Present on the one call after a limit, which may call no tools: how the run ends after it. */
      readonly closing?: { readonly status: RunStatus; readonly message: string };
    })
  | (InRun & {
      readonly type: 'message_added';
      readonly at: number;
      readonly message: Message;
      /** The input it came from. */
      readonly inputSeq?: number;
      /** False for what happened but is not sent to a model: a partial reply whose call failed. */
      readonly inView: boolean;
      /** What a message of the runtime's own is about. */
      readonly notice?: Notice;
      /** Present on a reply whose stream was stopped for its size: the limit. It has what had come until then. */
      readonly stoppedAt?: SizeLimit;
      /** The session of the branch that it was adopted from: it was paid for there. */
      readonly fromBranch?: string;
    })
  | (InTurn & {
      readonly type: 'attempt_failed';
      readonly at: number;
      readonly attempt: number;
      readonly error: ModelError;
      /** What comes next: another attempt, after a wait. Absent when the call is given up. */
      readonly retry?: { readonly delayMs: number; readonly modelIndex: number };
      /** What the failed attempt used, where no message tells; unknown when it broke off, absent when it never began. */
      readonly usage?: Usage;
      readonly cost?: number | null;
    })
  /** Deltas of this message that observers have seen are void. */
  | (InTurn & {
      readonly type: 'message_discarded';
      readonly at: number;
      readonly attempt: number;
      readonly reason: 'attempt_failed' | 'interrupted';
    })
  | ToolEvent
  | {
      readonly type: 'decision_made';
      readonly at: number;
      /** Absent when it belongs to the session, not to a run. The run may be one that hasn't started yet. */
      readonly runId?: string;
      readonly kind: DecisionKind;
      /** What was decided: the same question has the same key, and is never asked again. */
      readonly key: string;
      /** Present when the answer is of no use after this turn. */
      readonly turnIndex?: number;
      /** The call it is about. */
      readonly callId?: string;
      readonly decision: JsonValue;
    }
  | (InRun & {
      readonly type: 'run_paused';
      readonly at: number;
      /** `sub_agent`: another process is at work on a sub-agent. */
      readonly reason: 'client_tools' | 'approval' | 'sub_agent';
      readonly pending: readonly PendingCall[];
    })
  | CompactionEvent
  | BudgetSettled
  | (InTurn & {
      readonly type: 'turn_ended';
      readonly at: number;
      readonly usage: Usage;
      readonly cost: number | null;
      /** Present where results were too long for the view: there they were cut to so many tokens. The log has all of them. */
      readonly resultsCut?: { readonly tokens: number; /** The model has `recall`. */ readonly recall: boolean };
    })
  | BranchesStarted
  | BranchesEnded
  | TaskUpdated
  | (InRun & {
      readonly type: 'run_ended';
      readonly at: number;
      readonly status: RunStatus;
      /** The last model stop reason, or why there is none. */
      readonly stopReason: StopReason | null;
      readonly error?: ModelError;
      /** The call of a stop tool that ended it. */
      readonly stopCallId?: string;
      /** The agent that drives the session from here on, and what it is shown of the conversation. Absent: all of it. */
      readonly handoff?: { readonly agentId: string; readonly view?: readonly ViewPart[] };
      /** In words, when `status` is not `completed`. */
      readonly message?: string;
      readonly usage: Usage;
      readonly cost: number | null;
      readonly turns: number;
      /** The value of a run with structured output. */
      readonly output?: JsonValue;
      /** Present when the run never started: the input it would have answered. */
      readonly inputSeq?: number;
    });

/** What the runtime tells a model of its own accord. */
export type Notice =
  /** A limit comes near. */
  | { readonly type: 'limit_warning'; readonly limit: LimitName }
  /** A limit was reached. */
  | { readonly type: 'limit'; readonly limit: LimitName }
  /** The run gets nowhere; `stopped` when that ended it. */
  | { readonly type: 'loop_detected'; readonly pattern: LoopPattern; readonly stopped: boolean }
  /** The reply was cut off by its length, and is to go on. */
  | { readonly type: 'cut_off' }
  /** A background task has ended. */
  | { readonly type: 'task'; readonly taskId: string; readonly status: TaskEnd };

/** Who or what decided. */
export type DecisionKind =
  'hook' | 'permission' | 'memory' | 'check' | 'filter' | 'context' | 'budget' | 'routing' | 'judge';

/** What started a sub-agent's session. */
export interface SpawnedBy {
  readonly sessionId: string;
  readonly runId: string;
  readonly callId: string;
  readonly toolName: string;
}

/** A durable event with its place in the log: `seq` counts from 1 without gaps. */
export type DurableEvent = DurableEventBody & { readonly seq: number };

interface Live extends InTurn {
  /** The last durable event before it. */
  readonly afterSeq: number;
}

/** What only watchers see. Nothing in the loop depends on it. */
export type LiveEvent =
  /** A second one for the same message voids its deltas: the provider began it again. */
  | (Live & {
      readonly type: 'message_started';
      readonly messageId: string;
      readonly attempt: number;
      /** How often the provider has begun it again. Absent for never. */
      readonly restart?: number;
    })
  | (Live & {
      readonly type: 'message_delta';
      readonly messageId: string;
      readonly attempt: number;
      readonly kind: 'text' | 'thinking' | 'tool_arguments';
      /** The block of the message. */
      readonly index: number;
      /** Characters of this block before this delta. */
      readonly offset: number;
      readonly text: string;
      /** On `tool_arguments`: the call's tool. */
      readonly toolName?: string;
      readonly callId?: string;
      /**
       * On `tool_arguments`: the value parsed so far, by reference. It grows in place with each delta, at no cost to
       * those who don't read it; copy what you keep.
       */
      readonly partial?: JsonValue;
    })
  | (Live & {
      readonly type: 'tool_progress';
      readonly callId: string;
      readonly toolName: string;
      readonly text?: string;
      readonly elapsedMs: number;
    })
  | (Live & {
      readonly type: 'tool_update';
      readonly callId: string;
      readonly toolName: string;
      readonly content: readonly ToolResultContent[];
      readonly details?: JsonValue;
    })
  | TaskProgress
  /** What happened in the session of a sub-agent, of whatever depth: in that session's log, where it is durable. */
  | (Live & {
      readonly type: 'child_event';
      /** The call of this session under which it runs. */
      readonly callId: string;
      /** The session it happened in. */
      readonly sessionId: string;
      readonly event: TreadleEvent;
    })
  /** Something happened in a branch of this run, in the branch's own session. */
  | (InRun & {
      readonly type: 'branch_event';
      readonly afterSeq: number;
      readonly branch: BranchRef;
      readonly event: TreadleEvent;
    })
  /** What is going on besides replies and tools, such as `compacting`; null when it is over. */
  | {
      readonly type: 'status';
      readonly afterSeq: number;
      readonly runId?: string;
      readonly turnIndex?: number;
      readonly status: string | null;
    }
  /** Something went wrong that doesn't stop the run: for a person to read. */
  | {
      readonly type: 'warning';
      readonly afterSeq: number;
      readonly runId?: string;
      /** Stable: `hook_failed`, `context_failed`, … */
      readonly code: string;
      readonly message: string;
    };

/** Everything an observer may be told. */
export type TreadleEvent = DurableEvent | LiveEvent;

/** True for events that are in the log. */
export function isDurable(event: TreadleEvent): event is DurableEvent {
  return (event as { readonly seq?: number }).seq !== undefined;
}
