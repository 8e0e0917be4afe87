import type { ApprovalExtras, Continuation, PendingCall, SessionInput, SpawnedBy } from '../events/events.ts';
import type { PermissionUpdate } from '../events/permission-updates.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ToolCallBlock } from '../messages/content.ts';
import type { ViewAnchor } from '../messages/anchor.ts';
import type { AssistantMessage, Message, ToolResultMessage } from '../messages/message.ts';
import type { ModelError, StopReason, Usage } from '../model/model.ts';
import { hasFinalText } from '../messages/final-text.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import type { FileRead, ReplayPolicy, ToolAnswer } from '../tools/tool.ts';
import type { RunSlices, SessionSlices } from './folds.ts';

/** An input that nothing has consumed yet. */
export interface InboxEntry {
  readonly seq: number;
  readonly at: number;
  readonly input: SessionInput;
  /** Set when it was cancelled before anything was made of it. */
  cancelled: { readonly reason: string | null } | null;
}

/** One tool call of the open turn. */
export interface CallState {
  readonly callId: string;
  readonly name: string;
  /** As they stand after hooks; the message keeps what the model wrote. */
  arguments: JsonObject;
  readonly problem: ToolCallBlock['problem'];
  status: 'requested' | 'started' | 'ended';
  /** The drive that started it last. */
  epoch: number;
  attempt: number;
  runs: 'server' | 'client';
  /** What its `tool_started` said; `never` before. */
  replay: ReplayPolicy;
  /** Set while, and after, a person is asked whether the call may run, or a call in doubt may run again. */
  approvalId: string | null;
  /** What the last of these questions was about, and how many there were. */
  askedArguments: JsonObject | null;
  question: string;
  suggestions?: readonly PermissionUpdate[];
  asked: number;
  decision: 'approve' | 'reject' | null;
  /** What the person said with it. */
  decisionMessage: string | null;
  answer: ApprovalExtras | null;
  /** Present from the moment the call asked a person something until it runs again. */
  asking?: Pick<ToolAnswer, 'key' | 'state'>;
  /** What its questions were answered with, oldest first. */
  answers?: readonly ToolAnswer[];
  result: ToolResultMessage | null;
  /** Present once it has read or written files. They count with its result, when the turn ends. */
  reads?: readonly FileRead[];
  /** The session of its sub-agent, once it was started. */
  childSessionId: string | null;
  /** Set while its sub-agent waits for somebody. */
  paused: PausedCall | null;
  /** True when it never ran and the model is not to blame: people said something else, or its calls were used up. */
  overruled: boolean;
  /** When it is too late for the answer it waits for, a person's or a client's; null for never. */
  expiresAt: number | null;
  /** True when it had been started where the session was forked: what came of it, the parent knows. */
  isForked: boolean;
}

/** What a call's sub-agent waits for. */
export interface PausedCall {
  readonly pending: readonly PendingCall[];
  /** Something has changed there since: the call is to look. */
  woken: boolean;
}

/** The open turn: one model call and the calls it asked for. */
export interface TurnState {
  readonly index: number;
  readonly attempt: number;
  /** Which of the agent's models is asked, and which attempt this is for it. */
  readonly modelIndex: number;
  readonly modelAttempt: number;
  /** The drive whose model call this is. */
  epoch: number;
  message: AssistantMessage | null;
  failure: {
    readonly error: ModelError;
    readonly retry: { readonly at: number; readonly modelIndex: number } | null;
  } | null;
  calls: CallState[];
  /** The view was compacted, or should have been, before this turn's call. */
  compacted: boolean;
  /** A request of this turn was too long, and the view was compacted for it: that happens once. */
  overflowed: boolean;
  /** How many of them have ended. */
  ended: number;
}

/** How the last finished turn came out: what the decision about the next one needs. */
export interface TurnOutcome {
  readonly stopReason: StopReason | null;
  /** The model asked for tools and must be told their results. */
  readonly hadCalls: boolean;
  /** The reply says something. */
  readonly hasText: boolean;
  /** The calls that succeeded: one of a stop tool among them ends the run. */
  readonly succeeded: readonly SucceededCall[];
}

/** A call that succeeded, with its arguments as they stood after hooks. */
export interface SucceededCall {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
}

/** The open run. */
export interface RunState extends RunSlices {
  readonly runId: string;
  readonly continuation: Continuation;
  readonly startedBy: 'user' | 'subAgent';
  /** What the caller said of it. */
  readonly metadata: JsonObject | null;
  /** Present where its client offers tools of its own. */
  clientTools?: readonly OfferedTool[];
  /** Sequence number of its `run_started`. */
  readonly startedSeq: number;
  /** The input that started it, and how many of that input's messages are in the history. */
  readonly inputSeq: number;
  promptAdded: number;
  /** Milliseconds drives were at work on it, up to `lastAt`. */
  activeMs: number;
  lastAt: number;
  /** Which of the agent's models the next turn asks: the last one that was tried. */
  modelIndex: number;
  /** Model calls begun, attempts at the same turn counted once. */
  turns: number;
  usage: Usage;
  /** Null once any part of it is unknown. */
  cost: number | null;
  /** Calls that started sub-agents. */
  children: number;
  /** The model's last message, whatever came of it. */
  lastMessage: AssistantMessage | null;
  turn: TurnState | null;
  /** Null before the first turn has ended. */
  last: TurnOutcome | null;
  cancel: { readonly reason: string | null } | null;
  /** Set when a decision was to end it: why. */
  stop: { readonly reason: string } | null;
  /** True between `run_paused` and the next drive. */
  paused: boolean;
  /** True when the session was forked amid it: it goes on in the parent, and here it is about to be closed. */
  isForked: boolean;
}

/** What a drive knows of its session, folded from the log. One owner at a time; `reduce` changes it in place. */
export interface SessionState extends SessionSlices {
  readonly sessionId: string;
  /** The last event folded in; 0 for none. */
  seq: number;
  /** The version of the newest events in the log. */
  eventVersion: number;
  epoch: number;
  /** The conversation as models see it, extension messages included, oldest first. */
  view: Message[];
  /** Present once a message needed a blob to be sent: from then on requests are looked through for them. */
  needsBlobs?: true;
  /** Present once a result was too long for the view: from then on the model has `recall`. */
  wasCut?: true;
  /** How much of the view has been counted by a provider. */
  anchor: ViewAnchor;
  inbox: InboxEntry[];
  run: RunState | null;
  /** How many runs each configuration has had. */
  readonly ordinals: Map<string, number>;
  /** What was decided, by key: a turn's until it ends, the others until their run ends. */
  readonly decisions: Map<string, Decision>;
  lastRunId: string | null;
  /** The agent that drives the session since one handed it over; null for the one it was opened with. */
  drivenBy: string | null;
  /** What started the session, when it is a sub-agent's. */
  spawnedBy: SpawnedBy | null;
  /** The provider's container of the newest reply that had one. */
  container: { readonly provider: string; readonly id: string } | null;
}

/** An answer in the log. */
export interface Decision {
  readonly answer: JsonValue;
  readonly turnIndex: number | undefined;
}

const STARTS_RUN: ReadonlySet<string> = new Set(['prompt', 'continue', 'branch']);

/** What waits in the inbox to become a run, oldest first. */
export const waitingRuns = ({ inbox, run }: SessionState): InboxEntry[] =>
  inbox.filter(({ seq, input }) => STARTS_RUN.has(input.type) && seq !== run?.inputSeq);

/** How a turn comes out, once all its calls have ended. */
export function turnOutcome({ calls, message }: TurnState): TurnOutcome {
  let hadCalls = false;
  let succeeded: SucceededCall[] | null = null;
  for (const { callId, name, arguments: args, result } of calls) {
    if (!result) continue;
    hadCalls = true;
    if (result.isError) continue;
    const call: SucceededCall = { callId, toolName: name, arguments: args };
    if (succeeded) succeeded.push(call);
    else succeeded = [call];
  }
  return {
    stopReason: message?.stopReason ?? null,
    hadCalls,
    hasText: hasFinalText(message),
    succeeded: succeeded ?? NONE_SUCCEEDED,
  };
}

const NONE_SUCCEEDED: readonly SucceededCall[] = [];
