import type { TaskEnded } from './tasks.ts';
import type { TitleOrigin } from './about-sessions.ts';
import type { JsonObject } from '../json.ts';
import type { ToolResultContent, UserContent } from '../messages/content.ts';
import type { ExtensionMessage, Message } from '../messages/message.ts';
import type { PermissionUpdate } from './permission-updates.ts';
import type { LimitsData } from './limits.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';

/** How a run relates to what was before it in its session. */
export type Continuation =
  | { readonly kind: 'initial' }
  | { readonly kind: 'default' }
  /** `of`: the run that is done again, or otherwise. It is the parent where no run came before. */
  | { readonly kind: 'rerun'; readonly tag: string; readonly of?: string }
  | { readonly kind: 'branch'; readonly tag: string; readonly of?: string };

/** By which request an answer came, so that the same request again is told from another one's. */
interface OfRequest {
  readonly requestKey?: string;
}

/** What a person says. */
interface OfPerson {
  /** Who says it, for those who read along, such as `anna at another terminal`. Absent: where the session is driven. */
  readonly by?: string;
}

/** What anyone may put into a session's inbox. */
export type SessionInput =
  | ({
      readonly type: 'prompt';
      readonly messages: readonly InputMessage[];
      readonly continuation?: Continuation;
      /** Who calls; decides the trigger of the first turn. Default `user`. */
      readonly startedBy?: 'user' | 'subAgent';
      /** The run of another session whose call asks for it. */
      readonly parentRunId?: string;
      readonly metadata?: JsonObject;
      /** Limits of this run that differ from the agent's. */
      readonly limits?: LimitsData;
      /** Tools that this run's client runs, besides those of the agent. */
      readonly clientTools?: readonly OfferedTool[];
      /** True waits for the open run to end. Default: a prompt that comes during a run is rejected. */
      readonly queued?: true;
    } & OfPerson)
  | {
      readonly type: 'continue';
      readonly continuation: Continuation;
      readonly metadata?: JsonObject;
      readonly limits?: LimitsData;
      readonly clientTools?: readonly OfferedTool[];
    }
  | ({ readonly type: 'steering'; readonly message: InputMessage } & OfPerson)
  | ({ readonly type: 'follow_up'; readonly message: InputMessage } & OfPerson)
  /** Takes back what is queued, of one kind or of both. */
  | { readonly type: 'clear_queue'; readonly kind?: QueueKind }
  /** Ends the run that this input started, or is to start; without `inputSeq` the open run and all prompts that wait. */
  | ({ readonly type: 'cancel'; readonly reason?: string; readonly inputSeq?: number } & OfPerson)
  /** Ends one background task, and nothing else. */
  | { readonly type: 'stop_task'; readonly taskId: string; readonly reason?: string }
  | ({
      readonly type: 'client_tool_results';
      readonly results: readonly ClientToolResult[];
      /** True where calls that are left out go on waiting. */
      readonly partial?: true;
    } & OfRequest &
      OfPerson)
  | ({
      readonly type: 'approval_answer';
      readonly approvalId: string;
      readonly decision: 'approve' | 'reject';
      readonly message?: string;
    } & ApprovalExtras &
      OfRequest &
      OfPerson)
  | TaskEnded
  | BranchesInput
  /** Makes the view smaller: at once, or before the open run's next model call. */
  | { readonly type: 'compact'; readonly instructions?: string }
  /** Changes what the session may do, at once. */
  | { readonly type: 'permission_updates'; readonly updates: readonly PermissionUpdate[] }
  /** Replaces the conversation: an empty list is a reset. */
  | { readonly type: 'import'; readonly messages: readonly Message[] }
  /** Puts data of the application's own into the history. No model sees it. */
  | { readonly type: 'extension'; readonly message: ExtensionMessage }
  /** Replaces the state that a client and the tools share: see `ToolContext.state`. */
  | { readonly type: 'set_state'; readonly state: JsonObject }
  /** Names the session. */
  | ({ readonly type: 'rename'; readonly title: string } & TitleOrigin)
  /** Changes the session's tags: those to remove are removed first. */
  | { readonly type: 'tag'; readonly add?: readonly string[]; readonly remove?: readonly string[] }
  /** A sub-agent that a call waits for was answered, went on or ended, in its own session: its call goes on with it. */
  | { readonly type: 'child_updated'; readonly sessionId: string };

/** What an answer to a question of permission may say besides yes or no. */
export interface ApprovalExtras {
  /** Arguments to run the call with instead. They are checked against the schema and the rules again. */
  readonly updatedInput?: JsonObject;
  /** What is to hold from now on. */
  readonly updatedPermissions?: readonly PermissionUpdate[];
  /** With `deny`: ends the run. */
  readonly interrupt?: boolean;
}

/** A message that waits for a run: injected before the next model call, or when the run would stop. */
export type QueueKind = 'steering' | 'follow_up';

/** A user message on its way in. */
export interface InputMessage {
  readonly content: readonly UserContent[];
  /** True keeps it in the view whatever a compaction removes. */
  readonly pinned?: true;
}

/** The result of a client tool, for a call of `session.pending`. Content without `isError` is a success. */
export interface ClientToolResult {
  readonly callId: string;
  readonly content: string | readonly ToolResultContent[];
  readonly isError?: boolean;
}

/** Input: several runs side by side, of which one is adopted. */
export interface BranchesInput {
  readonly type: 'branch';
  /** What each branch is told; empty when the history is gone on with as it is. */
  readonly messages: readonly InputMessage[];
  /** In order; the segment of its agent is the middle part of a branch's run id. */
  readonly branches: readonly { readonly configId: string; readonly configSegment: string }[];
  /** The name of the strategy that chooses. */
  readonly strategy: string;
  readonly metadata?: JsonObject;
  /** Tells `branchesBy` what the branches are, in any process. */
  readonly data?: JsonObject;
}
