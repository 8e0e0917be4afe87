import type { ContextOptions } from '../features/compaction/options.ts';
import type { Hook } from '../features/hooks/hook.ts';
import type { JsonObject } from '../json.ts';
import type { BudgetDefinition } from '../features/budget/options.ts';
import type { LoopDetection } from '../features/limits/loop-detection.ts';
import type { Limits } from '../events/limits.ts';
import type { Memory, MemoryOptions } from '../features/memory/memory.ts';
import type {
  CacheHints,
  Model,
  ModelErrorKind,
  ProviderToolDefinition,
  ResponseFormat,
  Thinking,
} from '../model/model.ts';
import type { RetryPolicy } from '../model/retry.ts';
import type { RoutingOptions } from '../features/routing/routing.ts';
import type { RequireToolCall } from '../features/output/no-call.ts';
import type { OutputGuardrail, NamedOutputGuardrail } from '../features/guardrails/output.ts';
import type { InputGuardrail, NamedInputGuardrail } from '../features/guardrails/input.ts';
import type { OutputOptions } from '../features/output/structured.ts';
import type { TurnContextOptions, TurnContextProvider } from '../features/turn-context/turn-context.ts';
import type { PermissionOptions } from '../features/permissions/permissions.ts';
import type { BackgroundOptions } from '../features/background/background.ts';
import type { SubAgentLimits } from '../features/subagents/limits.ts';
import type { ToolSearchOptions } from '../features/tool-search/options.ts';
import type { TitleOptions } from '../features/titles/options.ts';
import type { ToolParameters } from '../tools/define/define-types.ts';
import type { Tool, ToolContext } from '../tools/tool.ts';
import type { Validator } from '../ports/validator.ts';

/** How the calls of one turn run. Results keep the order of the calls whatever the mode. */
export type ToolExecution =
  /** All at once, at most `concurrency` (default 64) at a time. */
  | { readonly mode: 'parallel'; readonly concurrency?: number }
  | { readonly mode: 'sequential' }
  /** `size` at a time; the next batch starts when the last has ended. */
  | { readonly mode: 'batched'; readonly size: number };

/** How a queue is emptied: the oldest message, so that each gets an answer of its own, or all at once. */
export type QueueMode = 'one_at_a_time' | 'all';

/** An object in a tool's place. The type checker takes none, and its message shows what to write. */
interface PlainTool {
  readonly 'Write: tools: [defineTool({ name, description, inputSchema, execute })]': never;
  readonly approval?: 'always' | ((args: WriteDefineTool) => unknown);
  readonly execute?: (args: WriteDefineTool, context: ToolContext) => unknown;
  readonly [key: string]: unknown;
}

/** The type of untyped arguments of a {@link PlainTool}, so that every message about them shows what to write. */
type WriteDefineTool = 'Write: defineTool({ name, description, inputSchema, execute })';

/** Objects by the names of the tools, as in the AI SDK. */
export type NamedPlainTools = Readonly<Record<string, PlainTool>>;

/**
 * What `defineAgent` takes. Most agents need a model, instructions and tools. The other fields are in groups:
 * `ModelSettings`, `ToolSettings`, `ConversationSettings` and `RunSettings`.
 */
export interface AgentDefinition<
  Tools extends readonly Tool[] | NamedPlainTools = readonly Tool[],
  Schema extends ToolParameters = ToolParameters,
>
  extends ModelSettings, ToolSettings, ConversationSettings, RunSettings {
  /** Stable name of the agent. Default `agent`. */
  readonly id?: string;
  readonly model: Model;
  /** The system prompt; or a function that says it for each turn, within `turnContext.timeoutMs`. */
  readonly instructions?: string | TurnContextProvider;
  readonly tools?: Tools;
  /** The value a run is to come to, checked: `output` of its result. */
  readonly output?: OutputOptions<Schema>;
  /** What runs without asking, what asks, and what is denied. Default: the mode `default`, without rules. */
  readonly permissions?: PermissionOptions;
  /** Your functions at the moments of the loop, made by `defineHook`. */
  readonly hooks?: readonly Hook[];
  readonly limits?: Partial<Limits>;
}

/** How models are asked, and which one is next when one fails. */
export interface ModelSettings {
  /** Output tokens per model call. */
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  /** How much the model thinks. What a model refuses of it is in `docs/models.md`. Default: the model's own. */
  readonly thinking?: Thinking;
  /** Hints for the provider's prompt cache. Default `auto`. */
  readonly cache?: CacheHints;
  /** The form of every reply. The loop passes it on; what a provider makes of it is in `docs/models.md`. */
  readonly responseFormat?: ResponseFormat;
  /** Merged into each request's body. */
  readonly providerOptions?: JsonObject;
  readonly providerTools?: readonly ProviderToolDefinition[];
  /** How often a text that the output limit cut off is asked to go on. Default 3. */
  readonly maxContinuations?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** Models to go on with, in this order, when the one before can't be reached or refuses to serve. */
  readonly fallbacks?: readonly Model[];
  /** The failures that move on to the next model, once retrying is over. Default: all but `cancelled` and `context_overflow`. */
  readonly fallbackOn?: readonly ModelErrorKind[];
  /** Which model each turn asks, where that isn't always the same. See `docs/routing.md`. */
  readonly routing?: RoutingOptions;
}

/** How calls of tools run, and how much of their results models read. */
export interface ToolSettings {
  readonly toolExecution?: ToolExecution;
  /**
   * Checks tool arguments and structured output against their JSON Schemas, such as `re2Validator` of `@treadle/tools`.
   * Default: core's own, which skips patterns; a warning `pattern_unchecked` says so.
   */
  readonly validator?: Validator;
  /** Milliseconds for a call of a tool that has no timeout of its own. Default: none. */
  readonly toolTimeoutMs?: number;
  /** How often a running tool's elapsed time is reported, in milliseconds. Default 10,000. */
  readonly toolProgressMs?: number;
  /** Characters of text that the log keeps of a tool result; the middle of longer ones is cut out. Default 2,000,000. */
  readonly maxToolResultLength?: number;
  /**
   * Tokens, by estimate, that one tool result may bring into the view. The rest is read with `recall`. Never more than a
   * quarter of the model's window, and half of it for all results of a turn. Default 50,000.
   */
  readonly maxToolResultTokens?: number;
  /** Adds `task_completion`, `ask_question` and `converse`, by which a model ends a run itself. Default false. */
  readonly stopTools?: boolean;
  /**
   * When definitions of tools are kept out of the prompt, to be found with `search_tools`. Default: beyond a tenth of the
   * model's window, and 20,000 tokens. False: never. See `docs/tool-search.md`.
   */
  readonly toolSearch?: ToolSearchOptions | false;
  /** What a reply without a tool call is. Default: the answer. */
  readonly requireToolCall?: RequireToolCall;
  /**
   * Names of tools that permission rules and matchers of hooks may be about, besides the agent's own, the built-in ones and
   * those that begin with `mcp__`: such as those that clients offer. All other names are mistakes.
   */
  readonly knownTools?: readonly string[];
}

/** What models are told besides the prompts, and how the conversation stays within the context window. */
export interface ConversationSettings {
  /**
   * What the project's own files say about working in it, such as `readProjectInstructions` of `@treadle/tools` finds. Told
   * before the prompt, as a message of origin `instructions`, and again only when it has changed.
   */
  readonly projectInstructions?: string;
  /** What is remembered from run to run, such as `sqliteMemory` of `@treadle/store`. */
  readonly memory?: Memory | MemoryOptions;
  /**
   * How the conversation is kept within the model's context window. Default: by summaries, when nine tenths are full.
   * False: a session that fills its window ends with `context_limit`. See `docs/context.md`.
   */
  readonly context?: ContextOptions | false;
  /** Who says what the model should know before each turn: the plan, and what was found. */
  readonly turnContext?: TurnContextOptions;
  /** How many queued messages go to the model at a time. Default `one_at_a_time`. */
  readonly steeringMode?: QueueMode;
  readonly followUpMode?: QueueMode;
  /**
   * Has a model name each session, once, beside its runs: after the first run that completes, unless it has a title. Costs a
   * short call. Default false. See `docs/sessions.md`.
   */
  readonly title?: boolean | TitleOptions;
}

/** What watches over runs, ends them, and runs beside them. */
export interface RunSettings {
  /** How money is looked after, where `limits.maxCost` or a shared ledger bounds it. */
  readonly budget?: BudgetDefinition;
  /** One more call, without tools, when turns, tool turns or tool calls are used up: true, or what the model is told to say. */
  readonly wrapUp?: boolean | string;
  /** When a run counts as getting nowhere; `false` never looks. */
  readonly loopDetection?: false | Partial<LoopDetection>;
  /** Look at every input before a model does: prompts, steering and follow-ups. Asked in this order. */
  readonly inputGuardrails?: readonly (InputGuardrail | NamedInputGuardrail)[];
  /** Look at the answer before the run ends, in this order. An answer that one refuses goes back to the model. */
  readonly outputGuardrails?: readonly (OutputGuardrail | NamedOutputGuardrail)[];
  /** Lets calls run in the background, and adds `task_output`, `task_list` and `task_stop`. See `docs/background-tasks.md`. */
  readonly background?: true | BackgroundOptions;
  /** How many sub-agents there may be, and how deep. See `docs/sub-agents.md`. */
  readonly subAgents?: Partial<SubAgentLimits>;
  /** The middle part of run ids. Default: made of provider, model and thinking level. */
  readonly configId?: string;
}
