import type { BlobRef } from '../ports/blobs.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** Plain text. */
export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  /** Sources the provider attached to this text, in its own shape, replayed to the same provider only. */
  readonly citations?: readonly JsonValue[];
  /** Other opaque fields that must return unchanged, such as an item id or a thought signature. */
  readonly opaque?: JsonObject;
  /** The whole of a text whose middle was cut out, in UTF-8. No model gets it. */
  readonly whole?: BlobRef;
}

/** An image. Exactly one of `data` (base64), `url` or `blob` is set; a model never gets a `blob`, but what is in it. */
export interface ImageBlock {
  readonly type: 'image';
  /** For example `image/png`. */
  readonly mediaType: string;
  readonly data?: string;
  readonly url?: string;
  readonly blob?: BlobRef;
  /** Opaque fields that must return to the provider unchanged, such as a thought signature. */
  readonly opaque?: JsonObject;
}

/** A file: inline (`data`, base64), by URL, as a blob, or by the provider's own id. */
export interface FileBlock {
  readonly type: 'file';
  readonly mediaType: string;
  readonly name?: string;
  readonly data?: string;
  readonly url?: string;
  readonly blob?: BlobRef;
  /** An id that only `provider` understands. */
  readonly fileId?: string;
  readonly provider?: string;
  /** Opaque fields that must return to the provider unchanged, such as a thought signature. */
  readonly opaque?: JsonObject;
}

/** Readable reasoning. `signature` is opaque and kept byte for byte; only the provider that made it gets it back. */
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly text: string;
  readonly signature?: string;
  /** Other opaque fields that must return unchanged, such as an item id or `reasoning_details`. */
  readonly opaque?: JsonObject;
}

/** Reasoning the provider only shows encrypted. `data` is opaque and kept byte for byte. */
export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
  readonly opaque?: JsonObject;
}

/** A tool call that we (or the connected client) are to execute. */
export interface ToolCallBlock {
  readonly type: 'tool_call';
  /** Treadle's own id: unique in the session. */
  readonly callId: string;
  /** The id the provider used, replayed to that provider. It may repeat or be empty. */
  readonly providerCallId?: string;
  readonly name: string;
  /** The parsed arguments; `{}` when the text was empty, broken or cut off. */
  readonly arguments: JsonObject;
  /** The arguments as the model wrote them, kept only when they are not a JSON object. */
  readonly argumentsText?: string;
  /** Why `arguments` is not what the model wrote. Such a call is answered with an error, never executed. */
  readonly problem?: 'invalid_json' | 'invalid_xml' | 'missing_field' | 'not_an_object' | 'too_deep' | 'cut_off';
  /** That error in words, where the one who read the call knows more than the loop. */
  readonly problemMessage?: string;
  /** Opaque fields that must return to the provider unchanged, such as a thought signature. */
  readonly opaque?: JsonObject;
}

/** A call the provider executed itself (web search, code execution). Never executed here. */
export interface ProviderToolCallBlock {
  readonly type: 'provider_tool_call';
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** The provider's block as received, replayed to that provider. */
  readonly raw: JsonObject;
}

/** The result of a call the provider executed itself. */
export interface ProviderToolResultBlock {
  readonly type: 'provider_tool_result';
  readonly callId: string;
  readonly name: string;
  readonly isError: boolean;
  /** The provider's block as received, replayed to that provider. */
  readonly raw: JsonObject;
}

/** A block of a kind this version doesn't know, kept as received and replayed to the same provider. */
export interface ProviderBlock {
  readonly type: 'provider_block';
  readonly kind: string;
  readonly raw: JsonObject;
}

/** A block of a user message. */
export type UserContent = TextBlock | ImageBlock | FileBlock;
/** A block of a tool result. */
export type ToolResultContent = TextBlock | ImageBlock | FileBlock;
/** A block of an assistant message. */
export type AssistantContent =
  | TextBlock
  | FileBlock
  | ImageBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolCallBlock
  | ProviderToolCallBlock
  | ProviderToolResultBlock
  | ProviderBlock;

/** Any block of any message. */
export type ContentBlock = UserContent | AssistantContent;
