import type { PreviousSession } from './about-sessions.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { FileCheckpointedEvent, FilesRewoundEvent } from './files.ts';
import type { FilesGeneratedEvent } from './generated-files.ts';
import type { FileBlock, ToolResultContent } from '../messages/content.ts';
import type { Message } from '../messages/message.ts';
import type { ModelError, StopReason, Usage } from '../model/model.ts';
import type { PermissionUpdate } from '../permissions/updates.ts';
import type { LimitName, LimitsData } from '../limits/limits.ts';
import type { BranchesEnded, BranchesStarted } from './branches.ts';
import type { TaskProgress, TaskUpdated } from './tasks.ts';
import type { NoProgressPattern } from '../limits/guard.ts';
import type { TaskEnd } from '../tasks/control.ts';
import type { ReplayPolicy } from '../tools/tool.ts';
import type { ApprovalExtras, Continuation, SessionInput } from './inputs.ts';

export type {
  ApprovalExtras,
  ClientToolResult,
  Continuation,
  InputMessage,
  QueueKind,
  SessionInput,
} from './inputs.ts';

export type { PreviousSession, TitleOrigin } from './about-sessions.ts';

/** Version of the event union. A log written by a higher one is refused, untouched. */
export const EVENT_VERSION = 1;

/** What made a turn begin. */
export type TurnTrigger = 'user' | 'subAgent' | 'continuation' | 'branch';

/** The configuration a run started with, as data. */
export interface ConfigSnapshot {
  readonly provider: string;
  readonly model: string;
  readonly configId: string;
  readonly thinking?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly contextWindow?: number;
  readonly tools: readonly string[];
  readonly limits: JsonObject;
  /** Present when nobody looks whether the run gets anywhere. */
  readonly noProgress?: false;
}

/** Why a run ended. Everything but `completed` is not a success. */
export type RunEnd =
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
  | 'no_progress'
  | 'context_limit'
  /** The reply still didn't fit the schema when the retries were spent. */
  | 'invalid_output'
  | 'check_failed';

interface InRun {
  readonly runId: string;
}
interface InTurn extends InRun {
  /** From 0 in each run. */
  readonly turnIndex: number;
}

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
      readonly closing?: { readonly end: RunEnd; readonly message: string };
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
  | (InTurn & {
      readonly type: 'tool_call_rejected';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly reason:
        | 'unknown_tool'
        /** The reply called no tool where one was wanted. It names no tool and belongs to no call. */
        | 'no_call'
        | 'invalid_json'
        | 'invalid_xml'
        /** The call doesn't say which tool it is for. */
        | 'missing_field'
        | 'not_an_object'
        | 'cut_off'
        | 'invalid_arguments'
        | 'in_doubt'
        | 'cancelled'
        /** The run's tool calls are used up. */
        | 'limit'
        /** A hook said no. */
        | 'hook'
        /** The permissions, or a person, said no. */
        | 'denied'
        /** No more sub-agents may be started: so deep, or in this run. */
        | 'sub_agent_limit'
        /** Nobody answered in time. */
        | 'expired';
      readonly content: readonly ToolResultContent[];
    })
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
  | (InTurn & {
      readonly type: 'tool_started';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
      readonly idempotencyKey: string;
      readonly replay: ReplayPolicy;
      readonly runs: 'server' | 'client';
      readonly attempt: number;
      /** It never ran: steering came first, and its end follows at once. */
      readonly skipped?: true;
      /** The session of the sub-agent that the call starts, or goes on with. */
      readonly childSessionId?: string;
      /** Of a client's call: a result that is posted at this time or later counts for nothing. */
      readonly expiresAt?: number;
    })
  | (InTurn & {
      readonly type: 'tool_ended';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly content: readonly ToolResultContent[];
      readonly isError: boolean;
      /** Never sent to a model. */
      readonly details?: JsonValue;
      readonly files?: readonly FileBlock[];
      readonly durationMs: number;
      readonly skipped?: true;
      /** The run a sub-agent's call started. */
      readonly childRunId?: string;
      /** US dollars that a sub-agent and its own ones spent of what is limited: they count against the run's `maxCost`. */
      readonly childSpent?: number;
      /** The input that brought a client tool's result. */
      readonly inputSeq?: number;
    })
  /** The call's sub-agent waits for somebody: the call goes on once it was answered. */
  | (InTurn & {
      readonly type: 'tool_paused';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly childSessionId: string;
      readonly childRunId?: string;
      /** What is waited for there, and below. Empty when another process is at work on it. */
      readonly pending: readonly PendingCall[];
    })
  | (InTurn & {
      readonly type: 'approval_requested';
      readonly at: number;
      readonly approvalId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
      readonly question: string;
      /** The rule that wants it to be asked for, if one does. */
      readonly rule?: string;
      /** Updates that would let calls like this one run from now on. */
      readonly suggestions?: readonly PermissionUpdate[];
      /** An answer that is posted at this time or later counts for nothing, and the call is not run. */
      readonly expiresAt?: number;
    })
  | (InRun &
      ApprovalExtras & {
        readonly type: 'approval_answered';
        readonly at: number;
        readonly approvalId: string;
        readonly decision: 'approve' | 'deny';
        readonly message?: string;
        readonly inputSeq: number;
      })
  | (InRun & {
      readonly type: 'run_paused';
      readonly at: number;
      /** `sub_agent`: another process is at work on a sub-agent. */
      readonly reason: 'client_tools' | 'approval' | 'sub_agent';
      readonly pending: readonly PendingCall[];
    })
  /** The view was replaced by a smaller one. The history is what it was. */
  | {
      readonly type: 'compacted';
      readonly at: number;
      /** Absent, with `turnIndex`, when no run was open. */
      readonly runId?: string;
      readonly turnIndex?: number;
      readonly trigger: CompactionTrigger;
      /** The strategies that did it, and their phases in order. */
      readonly strategy: string;
      readonly phases: readonly string[];
      /** The new view, in order. */
      readonly view: readonly ViewPart[];
      /** Tokens of a request with the view, system prompt and tools included. */
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      /** What writing summaries took. Absent when no model was asked. */
      readonly usage?: Usage;
      readonly cost?: number | null;
      /** The input that asked for it. */
      readonly inputSeq?: number;
    }
  /** The view stays as it is: it could not be made smaller. */
  | {
      readonly type: 'compaction_failed';
      readonly at: number;
      readonly runId?: string;
      readonly turnIndex?: number;
      readonly trigger: CompactionTrigger;
      /** `interrupted`: nobody waits for it any more; the run ends for its own reason. */
      readonly reason: 'no_progress' | 'interrupted';
      readonly message: string;
      readonly usage?: Usage;
      readonly cost?: number | null;
      readonly inputSeq?: number;
    }
  /** What a model call that had money set aside for it cost in the end. */
  | (InTurn & {
      readonly type: 'budget_settled';
      readonly at: number;
      /** The reservation: the `key` of the decision that made it. */
      readonly key: string;
      /** US dollars. */
      readonly reserved: number;
      readonly cost: number;
      /**
       * Where the cost is from: the usage the provider reported; what was streamed before it was stopped; all that was
       * reserved, for nobody knows; or nothing, for the call was not made or the provider turned it away.
       */
      readonly basis: 'usage' | 'streamed' | 'worst_case' | 'none';
    })
  | (InTurn & { readonly type: 'turn_ended'; readonly at: number; readonly usage: Usage; readonly cost: number | null })
  | BranchesStarted
  | BranchesEnded
  | TaskUpdated
  | (InRun & {
      readonly type: 'run_ended';
      readonly at: number;
      readonly end: RunEnd;
      /** The last model stop reason, or why there is none. */
      readonly stopReason: StopReason | null;
      readonly error?: ModelError;
      /** The call of a terminal tool that ended it. */
      readonly terminalCallId?: string;
      /** The agent that drives the session from here on, and what it is shown of the conversation. Absent: all of it. */
      readonly handoff?: { readonly agentId: string; readonly view?: readonly ViewPart[] };
      /** In words, when `end` is not `completed`. */
      readonly message?: string;
      readonly usage: Usage;
      readonly cost: number | null;
      readonly turns: number;
      /** The value of a run with structured output. */
      readonly output?: JsonValue;
      /** Present when the run never started: the input it would have answered. */
      readonly inputSeq?: number;
    });

/** What made a compaction happen: the size of the view, somebody's wish, or a provider that found the request too long. */
export type CompactionTrigger = 'auto' | 'manual' | 'overflow';

/** A piece of a new view: messages of the view before, by their places there, or a message that is new or was shortened. */
export type ViewPart =
  | { readonly type: 'kept'; readonly from: number; readonly count: number }
  | { readonly type: 'message'; readonly message: Message };

/** What the runtime tells a model of its own accord. */
export type Notice =
  /** A limit comes near. */
  | { readonly type: 'limit_warning'; readonly limit: LimitName }
  /** A limit was reached. */
  | { readonly type: 'limit'; readonly limit: LimitName }
  /** The run gets nowhere; `stopped` when that ended it. */
  | { readonly type: 'no_progress'; readonly pattern: NoProgressPattern; readonly stopped: boolean }
  /** The reply was cut off by its length, and is to go on. */
  | { readonly type: 'cut_off' }
  /** A background task has ended. */
  | { readonly type: 'task'; readonly taskId: string; readonly status: TaskEnd };

/** Who or what decided. */
export type DecisionKind =
  'hook' | 'permission' | 'memory' | 'check' | 'filter' | 'context' | 'budget' | 'routing' | 'judge';

/** A call the run waits for: a client tool to run, or an approval to give. */
export interface PendingCall {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly approvalId?: string;
  /** The session of the sub-agent whose call it is. Absent: it is of this session. */
  readonly sessionId?: string;
  /** When it is too late for an answer, in milliseconds since 1970. Resume the run then. */
  readonly expiresAt?: number;
}

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
  return 'seq' in event;
}
