/** What differs between the servers that speak Chat Completions. */
export interface OpenAIChatQuirks {
  /** Path below the base URL. */
  readonly path?: string;
  /** The role that carries the instructions. */
  readonly systemRole?: 'system' | 'developer';
  /** The field that limits output. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options: {"include_usage": true}` is understood. */
  readonly streamUsage?: boolean;
  /** Whether `reasoning_effort` is understood. */
  readonly reasoningEffort?: boolean;
  /** Where the server wants its own reasoning back, if it wants it. `reasoning_details` always goes back. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning' | 'none';
  /** How a call of any tool is demanded. */
  readonly requiredToolChoice?: 'required' | 'any';
  /** What `content` is beside tool calls when there is no text. */
  readonly emptyContent?: null | '';
  /** What the server accepts as the id of a tool call. */
  readonly toolCallIdPattern?: RegExp;
  /** Whether `[DONE]` may be missing at the end of a stream that gave its finish reason. */
  readonly doneIsOptional?: boolean;
}

/** What most servers understand. */
export const OPENAI_CHAT_DEFAULTS: Required<OpenAIChatQuirks> = {
  path: '/chat/completions',
  systemRole: 'system',
  maxTokensField: 'max_tokens',
  streamUsage: true,
  reasoningEffort: true,
  reasoningField: 'none',
  requiredToolChoice: 'required',
  emptyContent: null,
  toolCallIdPattern: /^[\x21-\x7e]+$/,
  doneIsOptional: false,
};
