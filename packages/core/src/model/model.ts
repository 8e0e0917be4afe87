import type { ModelFiles } from './files.ts';
import type { JsonObject, JsonSchema, JsonValue } from '../json.ts';
import type { AssistantContent, ToolCallBlock } from '../messages/content.ts';
import type { ModelMessage } from '../messages/message.ts';
import type { ModelWarning } from './check-usage.ts';
import type { Thinking } from './thinking.ts';
import type { StopReason, Usage } from './usage.ts';

export * from './check-usage.ts';
export { type Thinking, type ThinkingLevel, thinkingTokens } from './thinking.ts';
export * from './usage.ts';

/** A tool as a model is told of it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments: always `type: "object"`. */
  readonly inputSchema: JsonSchema;
}

/** A tool the provider executes itself, in the provider's own shape, passed through. */
export interface ProviderToolDefinition {
  readonly name: string;
  readonly provider: string;
  readonly definition: JsonObject;
}

/**
 * Where a provider is asked to keep what it has read, so that the next call costs less. `auto` places the marks where
 * they pay; `off` sends none; otherwise each part says for itself (`messages`: up to the second-to-last message). With
 * `ttl` alone the marks are those of `auto`: `1h` costs more to write, and pays where calls are more than five minutes
 * apart. Providers that cache by themselves ignore it.
 */
export type CacheHints = 'auto' | 'off' | CacheParts;

/** Which parts of a request are to be kept, and for how long. */
export interface CacheParts {
  readonly system?: boolean;
  readonly tools?: boolean;
  readonly messages?: boolean;
  /** Default `5m`. */
  readonly ttl?: '5m' | '1h';
}

/** The form the reply must have: any JSON object, or JSON that fits a schema. */
export type ResponseFormat =
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly name: string; readonly schema: JsonSchema; readonly description?: string };

/** One model call. Arrays are append-only between the calls of a run and must not be changed by a model. */
export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
  /** Tools that the model finds with `search_tools` and that its wire adds in place. Only for a model with `deferredTools`. */
  readonly deferredTools?: readonly ToolDefinition[];
  readonly providerTools?: readonly ProviderToolDefinition[];
  /** `none` declares the tools and forbids their use, which keeps a provider's prompt cache. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string };
  /** Output tokens at most. */
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly thinking?: Thinking;
  /** Default `auto`. */
  readonly cache?: CacheHints;
  readonly responseFormat?: ResponseFormat;
  /** The container of an earlier response of this provider. */
  readonly containerId?: string;
  /** Merged into the body as it is, last. */
  readonly providerOptions?: JsonObject;
  /** The session, for caches keyed by conversation. */
  readonly sessionId?: string;
}

/** The kinds of model failure, as data. See `docs/models.md` for which are retried. */
export type ModelErrorKind = 'rate_limited' | 'network' | 'auth' | 'api' | 'context_overflow' | 'cancelled' | 'other';

/** A failed model call, as data. `message` and `excerpt` are redacted. */
export interface ModelError {
  readonly kind: ModelErrorKind;
  readonly message: string;
  /** Whether trying again may help. */
  readonly retryable: boolean;
  /** HTTP status, when there was one. */
  readonly status?: number;
  /** The provider's own code or type, such as `overloaded_error`. */
  readonly code?: string;
  readonly requestId?: string;
  /** Milliseconds the provider asked to wait. */
  readonly retryAfterMs?: number;
  /** The beginning of the response body. */
  readonly excerpt?: string;
}

/**
 * What a model streams. Every block has an `index` of its own, in the order of the message; deltas of different blocks
 * may interleave. `block_end` carries the finished block; a block without a `block_end` was cut off.
 * A stream ends with exactly one `finish` or one `error`. A second `start` says that the provider began its message
 * again: what came before it is void, and indexes count from 0 again.
 */
export type ModelEvent =
  | { readonly type: 'start'; readonly model?: string; readonly responseId?: string; readonly containerId?: string }
  | { readonly type: 'text_delta'; readonly index: number; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly index: number; readonly text: string }
  | { readonly type: 'tool_call_start'; readonly index: number; readonly providerCallId: string; readonly name: string }
  | { readonly type: 'tool_arguments_delta'; readonly index: number; readonly text: string }
  | { readonly type: 'block_end'; readonly index: number; readonly block: ModelBlock }
  | {
      readonly type: 'finish';
      readonly stopReason: Exclude<StopReason, 'error' | 'aborted'>;
      readonly rawStopReason?: string;
      readonly usage: Usage;
      /** The provider's usage object as received, last value of each field. */
      readonly rawUsage?: JsonValue;
      /** What doesn't look right about the reply. */
      readonly warnings?: readonly ModelWarning[];
      readonly containerId?: string;
      /** What the provider sent and nobody here knows, by its type: events passed over, parts kept as they are. */
      readonly unknownTypes?: Readonly<Record<string, number>>;
    }
  | { readonly type: 'error'; readonly error: ModelError; readonly usage?: Usage };

/** A finished tool call as the wire gave it: the loop parses `argumentsText` and adds an id of its own. */
export interface ModelToolCall {
  readonly type: 'tool_call';
  readonly providerCallId: string;
  readonly name: string;
  readonly argumentsText: string;
  /** Set by who could not read the call: it is answered with `problemMessage`, and `argumentsText` is what was written. */
  readonly problem?: NonNullable<ToolCallBlock['problem']>;
  readonly problemMessage?: string;
  readonly opaque?: JsonObject;
}

/** A finished block of a stream. */
export type ModelBlock = Exclude<AssistantContent, { readonly type: 'tool_call' }> | ModelToolCall;

/** An iterator of what a model streams. One consumer, which takes one event at a time. */
export interface ModelEventIterator extends AsyncIterator<ModelEvent> {
  /**
   * Takes the next event if it has come already; undefined when `next` must be awaited. Optional: what arrives in one
   * chunk can be hundreds of events, and awaiting each of them costs more than reading it.
   */
  ready?(): ModelEvent | undefined;
}

/**
 * What a model streams: any `AsyncIterable` of its events, or one whose iterator has `ready` besides. A stream is one call
 * of the model and is read once: a second iterator must not call the model again.
 */
export interface ModelStream {
  [Symbol.asyncIterator](): ModelEventIterator;
}

/**
 * The model port. `stream` never throws after its first event: failures are `error` events. The signal aborts the
 * request; the stream then ends with an `error` of kind `cancelled`, or simply ends. `modelContract` of
 * `@treadle/testing` checks an implementation.
 */
export interface Model {
  /** Stable lowercase name of the provider, such as `anthropic`. Opaque blocks return only to the same one. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly id: string;
  /** Its name for people, such as `Claude Sonnet 5.5`: for the log. */
  readonly name?: string;
  /** The wire protocol that it speaks, and where: for the log. No credentials. */
  readonly api?: string;
  readonly baseUrl?: string;
  /** Context window in tokens, when known: prompt and reply together. */
  readonly contextWindow?: number;
  /** Tokens of a prompt at most, where that is less than the window. */
  readonly maxInput?: number;
  /** A prompt of more tokens than this costs more by the token. Compaction keeps the prompt below it. */
  readonly priceStep?: number;
  /** Tokens of a reply at most, when known: what a call can cost depends on it. */
  readonly outputLimit?: number;
  /** Whether the provider itself keeps a `responseFormat` with a schema: also while there are tools, or only without. */
  readonly structuredOutput?: 'always' | 'without_tools';
  /** False when the model knows no tool calls. */
  readonly toolCalling?: boolean;
  /** True when its wire adds the definitions of tools to a prompt in place, as `search_tools` finds them. */
  readonly deferredTools?: boolean;
  stream(request: ModelRequest, signal: AbortSignal): ModelStream;
  /** US dollars for this usage, or null when the price or a count is unknown. */
  cost?(usage: Usage): number | null;
  /** The files that its provider keeps; absent where they can't be read. */
  readonly files?: ModelFiles;
}
