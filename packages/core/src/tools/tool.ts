import type { BlobContent, Blobs } from '../ports/blobs.ts';
import type { ArgumentsIssue, Validator } from '../ports/validator.ts';
import type { JsonObject, JsonSchema, JsonValue } from '../json.ts';
import type { FileBlock, ToolResultContent } from '../messages/content.ts';
import type { ToolAccess } from './access.ts';
import type { Message } from '../messages/message.ts';
import type { TaskControl } from './task-control.ts';

/**
 * What may happen to a call that an earlier process started and didn't end. `safe`: it runs again, under the same
 * idempotency key. `never`: it is answered with an error that says its effect is unknown. `ask`: a person decides.
 */
export type ReplayPolicy = 'safe' | 'never' | 'ask';

/** A tool's output: text, blocks, or a result with details for programs and user interfaces. */
export type ToolOutput = string | readonly ToolResultContent[] | ToolResult;

/**
 * What a tool may return. A {@link ToolOutput} is taken as it is, a {@link ToolStream} is read, nothing is a success
 * without content, and any other value is shown to the model as JSON.
 */
export type ToolReturn = ToolOutput | ToolStream | object | number | bigint | boolean | null | undefined | void;

/**
 * Text that a tool streams, as strings or as UTF-8: an async generator, for example. However long it is, memory holds no
 * more of it than a model may read.
 */
export type ToolStream = AsyncIterable<string | Uint8Array>;

/** What a call of a tool comes to, when a tool returns more than a value. */
export interface ToolResult {
  readonly content: string | readonly ToolResultContent[];
  /** True when the call failed in a way the model should read and react to. */
  readonly isError?: boolean;
  /** Structured facts for programs, such as an exit code. Never sent to a model. */
  readonly details?: JsonValue;
  /** Files the call produced, reported in the run's result. */
  readonly files?: readonly FileBlock[];
  /** What the call read or wrote. See `ToolContext.lastRead`. */
  readonly reads?: readonly FileRead[];
  /** Keys of the shared state to set; other keys keep their values. See `ToolContext.state`. */
  readonly state?: JsonObject;
  /**
   * The call isn't over: a person has to answer this first. The run pauses, and once the question is answered, `execute` is
   * called again with the answer in `context.answers`, in whatever process. `content` is the result where nobody can be
   * asked: in the background.
   */
  readonly ask?: ToolQuestion;
}

/** A question that a call puts to a person before it can go on. It is answered like a question of permission. */
export interface ToolQuestion {
  /** Tells the questions of a call apart. The same question has the same key in every attempt. */
  readonly key: string;
  /** In words, for the person. */
  readonly question: string;
  /** What it is about, as data: the arguments of the pending call. Default: those of the call. */
  readonly arguments?: JsonObject;
  /** What the next attempt needs to go on. Kept in the log with the question. */
  readonly state?: JsonValue;
}

/** What a person said to a question of a call. */
export interface ToolAnswer {
  readonly key: string;
  readonly decision: 'approve' | 'reject';
  readonly message?: string;
  /** The `updatedInput` of the answer: what the person filled in. */
  readonly input?: JsonObject;
  /** The state that came with the question. */
  readonly state?: JsonValue;
}

/** The content of a file that a call read or wrote. Kept in the log, so that a later call can tell whether it is still so. */
export interface FileRead {
  /** Names the file to the tools that share it: the built-in ones take its real path below their root, with `/`. */
  readonly path: string;
  /** A hash of the whole content, whatever part of it the model was shown. */
  readonly hash: string;
  /** True when the call wrote this content. */
  readonly written?: true;
}

/** A change that a tool is about to make to a file. */
export interface FileIntent {
  /** The real path of the folder that the tool is confined to. */
  readonly root: string;
  /** The file's real path below it, with `/`. */
  readonly path: string;
  /** Gives what the file holds, from its beginning each time; null when there is no file. */
  readonly before: (() => BlobContent) | null;
  /** The id, as of a blob, of what it is to hold. */
  readonly after: string;
}

/** What a running tool is given. `Context` is the type of what the application hands to its tools. */
export interface ToolContext<Context = unknown> {
  /** The `context` that the session was created or opened with; undefined without one. Kept in no log. */
  readonly context: Context;
  readonly sessionId: string;
  readonly runId: string;
  readonly callId: string;
  readonly toolName: string;
  /** The same for every attempt at this call, in any process. Pass it on to services that know such keys. */
  readonly idempotencyKey: string;
  /** True when the call may run only in the sandbox that its `access` promised: see `ToolAccess.confined`. */
  readonly confined?: boolean;
  /** The answers to what this call has asked so far, oldest first; absent before the first. See `ToolResult.ask`. */
  readonly answers?: readonly ToolAnswer[];
  /**
   * The state that the session's client and its tools share, such as that of an AG-UI page. Absent until one of them has set
   * it. A tool sets keys by the `state` of its result.
   */
  readonly state?: JsonObject;
  /** The run's metadata, as `prompt` was given it. */
  readonly metadata?: JsonObject;
  /** Aborted by cancellation, by the tool's timeout and by the run's time limit. */
  readonly signal: AbortSignal;
  /**
   * The messages of this session that a handle names, as they happened, whatever was removed from the view since: a
   * message's id, a call's id for its result, or two ids with `..` between them. Empty when there are none.
   */
  readonly readHistory?: (handle: string) => Promise<readonly Message[]>;
  /**
   * Tokens of the result that the model will see, counted as four bytes each; the middle of a longer one is cut out. A tool
   * that can page does better to return a page of this size. Absent where nothing is cut.
   */
  readonly maxResultTokens?: number;
  /** Whether the session's rules deny every call of a tool, whatever its arguments. */
  readonly isDenied?: (toolName: string) => boolean;
  /** The background tasks of this session. Absent where nothing runs in the background. */
  readonly tasks?: TaskControl;
  /** The background task that this call is; absent on a call that its run waits for. */
  readonly taskId?: string;
  /** The session's blobs. Absent where it keeps none. */
  readonly blobs?: Blobs;
  /**
   * Keeps what a file holds, so that a rewind can bring it back. Call it right before the file is changed: once it
   * resolves, that is durable; when it rejects, leave the file alone. Absent where the session keeps no blobs.
   */
  readonly checkpoint?: (intent: FileIntent) => Promise<void>;
  /**
   * The hash of a file's content as the model last read or wrote it in this session; null when it never did, or when that
   * result is no longer in its view. A result counts from the model's next reply on, and what a call wrote counts at once.
   */
  lastRead(path: string): string | null;
  /** Streams a partial result. The final result replaces it; a model never sees it. */
  update(partial: ToolOutput): void;
  /** Says in words what is going on, for a person. */
  progress(text: string): void;
}

/**
 * Checks a tool call's arguments. Returns the value for `execute`, or what is wrong and where. `validator` is the agent's;
 * a check by JSON Schema uses it, and a check that wraps another one passes it on.
 */
export type ArgumentsCheck = (
  args: JsonObject,
  validator?: Validator | null,
) => ArgumentsOutcome | Promise<ArgumentsOutcome>;

/** The checked arguments of a call, or why they were refused. */
export type ArgumentsOutcome =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Patterns of the schema that were not checked. */
      readonly unchecked?: readonly string[];
    }
  | { readonly ok: false; readonly issues: readonly ArgumentsIssue[] };

/** Who takes a session over, and what that agent is shown of the conversation. */
export interface Handoff {
  readonly agentId: string;
  /** Returns those of the messages that are shown, in their order. Default: all. */
  readonly filter?: (messages: readonly Message[]) => readonly Message[] | Promise<readonly Message[]>;
}

/** What the type checker knows of a tool. */
export interface ToolTypes {
  readonly name: string;
  /** The arguments as the log has them. */
  readonly input: unknown;
  /** The `details` of its results. */
  readonly details: unknown;
  /** What it wants as `context` of the session. */
  readonly context: unknown;
  /** The types of the agent that it hands over to. */
  readonly handsTo: unknown;
}

/** A tool. Made by `defineTool`; adapters (MCP, OpenAPI) may build it directly. */
export interface Tool<Types extends ToolTypes = ToolTypes> {
  /** Exists for the type checker only. */
  readonly '~types'?: Types;
  readonly name: Types['name'];
  /** For people; the name when none is given. */
  readonly label: string;
  readonly description: string;
  /** JSON Schema of the arguments, `type: "object"`, as the model is told. */
  readonly inputSchema: JsonSchema;
  /** `server`: `execute` runs here. `client`: the connected client runs it and posts the result. */
  readonly runs: 'server' | 'client';
  readonly replay: ReplayPolicy;
  /** True when the tool changes nothing anywhere. */
  readonly readOnly: boolean;
  /** `sequential` calls never overlap another call of their turn. */
  readonly execution: 'parallel' | 'sequential';
  /** A call of a stop tool ends the run, after its turn's results are recorded. */
  readonly endsRun: boolean;
  /** True when its calls may run in the background wherever the agent has background tasks. */
  readonly background?: boolean;
  /**
   * Whether the definition may be kept out of the prompt when there are too many: `true` before that of others, `false` never.
   * See `AgentDefinition.toolSearch`.
   */
  readonly deferLoading?: boolean;
  /** Milliseconds after which a call is aborted; the agent's `toolTimeoutMs` when absent. */
  readonly timeoutMs?: number;
  readonly check: ArgumentsCheck;
  /**
   * Says what a call with these arguments touches; `args` is what `check` returned. Nothing may be changed by asking. When
   * it throws, nothing is known of the call, and a person is asked.
   */
  readonly access?: (args: unknown) => ToolAccess | Promise<ToolAccess>;
  /** Whether a call has to be approved where no rule allows it: always, or when the function says so. */
  readonly approval?: 'always' | ((args: unknown) => boolean | Promise<boolean>);
  /**
   * The tool is an agent: which one a call is for, and what it is told. The loop runs it, in a session of its own. See
   * `asTool`.
   */
  readonly delegates?: (args: unknown) => object;
  /** Names of the tools that the agents behind it know. Rules and hooks of the agent that has this tool hold for them too. */
  readonly toolsBehind?: ReadonlySet<string>;
  /** The tool hands the session over to another agent: see `handoffTool`. */
  readonly handsOff?: Handoff;
  /** `args` is what `check` returned. Absent on client tools, and where an agent runs instead. */
  readonly execute?: (args: unknown, context: ToolContext) => Promise<ToolReturn> | ToolReturn;
}
