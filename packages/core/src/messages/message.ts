import type { JsonValue } from '../json.ts';
import type { ModelWarning } from '../model/check-usage.ts';
import type { StopReason, Usage } from '../model/usage.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import type { AssistantContent, ToolResultContent, UserContent } from './content.ts';

/** Where a user message came from. A person or a program said the first four; the runtime wrote the others. */
export type UserMessageOrigin =
  | 'prompt'
  | 'steering'
  | 'follow_up'
  | 'import'
  | 'reminder'
  | 'limit'
  | 'hook'
  | 'check'
  | 'memory'
  | 'instructions'
  | 'task'
  | 'compaction';

/** What a `compaction` message stands for: the messages that were here. */
export interface RemovedMessages {
  /** The id of the first message, and of the last one, in the order of the history. */
  readonly from: string;
  readonly to: string;
  readonly count: number;
  /** True when a model wrote down what they said. */
  readonly summary: boolean;
}

/** A message to the model: a prompt, or a text of the runtime. `origin` tells which. */
export interface UserMessage {
  readonly role: 'user';
  readonly id: string;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly at: number;
  readonly origin: UserMessageOrigin;
  readonly content: readonly UserContent[];
  /** True keeps it in the view whatever a compaction removes. */
  readonly pinned?: boolean;
  /** Set on messages of origin `compaction`. */
  readonly removed?: RemovedMessages;
}

/** A reply of the model, with the tokens that it used and its cost in US dollars. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly id: string;
  readonly at: number;
  /** Who made it: opaque parts return only to the same provider. */
  readonly provider: string;
  readonly model: string;
  readonly content: readonly AssistantContent[];
  readonly stopReason: StopReason;
  /** The provider's own word for why it stopped. */
  readonly rawStopReason?: string;
  readonly usage: Usage;
  /** US dollars, or null when the price is unknown. */
  readonly cost: number | null;
  /** Set when `stopReason` is `error`: what went wrong, redacted. */
  readonly errorMessage?: string;
  /** The provider's container, to be sent again with the next request. */
  readonly containerId?: string;
  /** The provider's id of this response. */
  readonly responseId?: string;
  /** What doesn't look right about it, such as token counts that can't be true. */
  readonly warnings?: readonly ModelWarning[];
  /** How often the provider sent something of a type that isn't known here. */
  readonly unknownTypes?: Readonly<Record<string, number>>;
}

/** The result of one tool call. */
export interface ToolResultMessage {
  readonly role: 'tool';
  readonly id: string;
  readonly at: number;
  readonly callId: string;
  readonly toolName: string;
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  /** Tools that a search has found, for a wire that adds them in place. Only in requests. See `Model.deferredTools`. */
  readonly foundTools?: readonly OfferedTool[];
}

/** Data of the application's own inside the history. It never reaches a model. */
export interface ExtensionMessage {
  readonly role: 'extension';
  readonly id: string;
  readonly at: number;
  /** The application's word for what this is, such as `ui_update`. */
  readonly kind: string;
  readonly data: JsonValue;
}

/** What a model is sent. */
export type ModelMessage = UserMessage | AssistantMessage | ToolResultMessage;

/** What a history holds. */
export type Message = ModelMessage | ExtensionMessage;

const ADDED: ReadonlySet<UserMessageOrigin> = new Set(['reminder', 'hook', 'check', 'memory', 'instructions', 'task']);

/** True for what is shown as the conversation; false for what the runtime tells a model beside it. */
export const isConversation = (message: Message): boolean => message.role !== 'user' || !ADDED.has(message.origin);

/** Whether a model sees a message. Extension messages are for the application only. */
export const isForModel = (message: Message): message is ModelMessage => message.role !== 'extension';
