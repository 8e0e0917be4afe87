import type { JsonObject } from '@treadle/core';
import type { FamilyQuirk, ModelFamilies } from '../../rules/rules.ts';
import { UNKNOWN_FAMILIES } from '../../rules/servers.ts';

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
  /** What the server's models take, by their names. Default: what most models take. */
  readonly families?: ModelFamilies;
  /** What the model takes, where its name doesn't say it: the name of a model that takes the same, or rules of your own. */
  readonly family?: FamilyQuirk;
  /**
   * How thinking is turned on and off where `reasoning_effort` doesn't do it: `thinking: {"type": "enabled"}`,
   * `enable_thinking: true`, or `reasoning: {"effort": …}`, which takes the place of `reasoning_effort`. Sent only when a
   * request says something about thinking.
   */
  readonly thinkingSwitch?: 'none' | 'thinking' | 'enable_thinking' | 'reasoning';
  /** Where the server wants its own reasoning back, if it wants it. `reasoning_details` always goes back. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning' | 'none';
  /** Whether the server refuses calls without reasoning before them, such as those that another provider made. */
  readonly reasoningRequired?: boolean;
  /** Whether the server has tools. Without, a request that has some is refused before it is sent. */
  readonly tools?: boolean;
  /** The choices of tools the server knows besides `auto`; others are left out. Without `none` the tools are, too. */
  readonly toolChoices?: readonly ('none' | 'required' | 'named')[];
  /** How a call of any tool is demanded. */
  readonly requiredToolChoice?: 'required' | 'any';
  /** What `content` is beside tool calls when there is no text. */
  readonly emptyContent?: null | '';
  /** What the server accepts as the id of a tool call. */
  readonly toolCallIdPattern?: RegExp;
  /**
   * The most exact `response_format` the server knows; what it can't be told that way goes into the instructions. For
   * `json_schema_only` any object has a schema, too, because the server doesn't know `json_object`.
   */
  readonly responseFormat?: 'json_schema' | 'json_schema_only' | 'json_object' | 'none';
  /**
   * Whether tools are declared strict where their parameters allow it: every property required, optional ones nullable,
   * no others. The nulls are taken out of the arguments again.
   */
  readonly strictTools?: boolean;
  /** Whether `prompt_cache_key` is understood. */
  readonly promptCacheKey?: boolean;
  /**
   * The models that cache only where `cache_control` asks for it: in a field of the request, which lets the service place
   * its marks, or at the instructions, the last tool and the last message.
   */
  readonly cacheControl?: readonly { readonly match: RegExp; readonly by: 'request' | 'parts' }[];
  /** What user messages may carry besides text. In place of anything else stands a note. */
  readonly media?: readonly ('image' | 'audio' | 'file')[];
  /** Fields of every request, which a request's own `providerOptions` overrides. */
  readonly extraFields?: JsonObject;
}

/** What most servers understand. */
export const OPENAI_CHAT_DEFAULTS: Required<OpenAIChatQuirks> = {
  path: '/chat/completions',
  systemRole: 'system',
  maxTokensField: 'max_tokens',
  streamUsage: true,
  families: UNKNOWN_FAMILIES,
  family: {},
  thinkingSwitch: 'none',
  reasoningField: 'none',
  reasoningRequired: false,
  tools: true,
  toolChoices: ['none', 'required', 'named'],
  requiredToolChoice: 'required',
  emptyContent: null,
  toolCallIdPattern: /^[\x21-\x7e]+$/,
  responseFormat: 'json_schema',
  strictTools: false,
  promptCacheKey: false,
  cacheControl: [],
  media: ['image', 'audio', 'file'],
  extraFields: {},
};
