import type { JsonObject, JsonValue } from '@treadle/core';

// The part of the AI SDK's language-model interface that is used here, versions 3 and 4. Types of our own: whoever uses no
// AI SDK needs none.

/** By provider: what a part must carry back to it. */
export type ProviderData = Readonly<Record<string, JsonObject>>;

interface Carries {
  readonly providerOptions?: ProviderData;
}

/** Version 4 says which of them it is; version 3 has the value itself. */
export type FileData =
  | string
  | Uint8Array
  | URL
  | { readonly type: 'data'; readonly data: string | Uint8Array }
  | { readonly type: 'url'; readonly url: URL }
  | { readonly type: 'reference'; readonly reference: Readonly<Record<string, string>> }
  | { readonly type: 'text'; readonly text: string };

export interface TextPart extends Carries {
  readonly type: 'text';
  readonly text: string;
}
export interface FilePart extends Carries {
  readonly type: 'file';
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: FileData;
}
export interface ReasoningPart extends Carries {
  readonly type: 'reasoning';
  readonly text: string;
}
export interface CallPart extends Carries {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerExecuted?: boolean;
}
export type ResultOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: JsonValue }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly Readonly<Record<string, unknown>>[] };
export interface ResultPart extends Carries {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ResultOutput;
}
export interface OtherPart extends Carries {
  readonly type: 'custom' | 'reasoning-file' | 'tool-approval-response';
}

export type AssistantPart = TextPart | FilePart | ReasoningPart | CallPart | ResultPart | OtherPart;

export type PromptMessage = Carries &
  (
    | { readonly role: 'system'; readonly content: string }
    | { readonly role: 'user'; readonly content: readonly (TextPart | FilePart)[] }
    | { readonly role: 'assistant'; readonly content: readonly AssistantPart[] }
    | { readonly role: 'tool'; readonly content: readonly (ResultPart | OtherPart)[] }
  );

export type SdkTool =
  | { readonly type: 'function'; readonly name: string; readonly description?: string; readonly inputSchema: object }
  | { readonly type: 'provider'; readonly id: `${string}.${string}`; readonly name: string; readonly args: JsonObject };

/** How much a model is asked to think; version 4 only. */
export type SdkReasoning = 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface CallOptions {
  readonly prompt: readonly PromptMessage[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly responseFormat?:
    | { readonly type: 'text' }
    | { readonly type: 'json'; readonly schema?: object; readonly name?: string; readonly description?: string };
  readonly tools?: readonly SdkTool[];
  readonly toolChoice?:
    { readonly type: 'auto' | 'none' | 'required' } | { readonly type: 'tool'; readonly toolName: string };
  readonly reasoning?: SdkReasoning;
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: ProviderData;
}

export interface SdkUsage {
  readonly inputTokens?: Readonly<Record<'total' | 'noCache' | 'cacheRead' | 'cacheWrite', number | undefined>>;
  readonly outputTokens?: Readonly<Record<'total' | 'text' | 'reasoning', number | undefined>>;
  readonly raw?: JsonObject;
}

export type UnifiedReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other';

interface Described {
  readonly providerMetadata?: ProviderData;
}

/** A part of a stream. A provider may send others, which are counted and passed over. */
export type StreamPart =
  | (Described & {
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end';
      readonly id: string;
    })
  | (Described & { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string })
  | (Described & {
      readonly type: 'tool-input-start';
      readonly id: string;
      readonly toolName: string;
      readonly providerExecuted?: boolean;
    })
  | (Described & { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string })
  | (Described & { readonly type: 'tool-input-end'; readonly id: string })
  | (Described & {
      readonly type: 'tool-call';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
      readonly providerExecuted?: boolean;
    })
  | (Described & {
      readonly type: 'tool-result';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly result: JsonValue;
      readonly isError?: boolean;
      readonly preliminary?: boolean;
    })
  | (Described & { readonly type: 'file'; readonly mediaType: string; readonly data: FileData })
  | (Described & { readonly type: 'custom'; readonly kind: string })
  | (Described & { readonly type: 'reasoning-file' | 'source' | 'tool-approval-request' | 'ping' | 'raw' })
  | { readonly type: 'stream-start'; readonly warnings: readonly Readonly<Record<string, unknown>>[] }
  | { readonly type: 'response-metadata'; readonly id?: string; readonly modelId?: string; readonly timestamp?: Date }
  | (Described & {
      readonly type: 'finish';
      readonly usage: SdkUsage;
      readonly finishReason: { readonly unified: UnifiedReason; readonly raw: string | undefined };
    })
  | { readonly type: 'error'; readonly error: unknown };

/** A language model of the AI SDK, such as `createCohere()('command-a')`. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream }>;
}
