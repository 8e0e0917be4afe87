import type { FamilyQuirk } from '../../rules/rules.ts';

/** What differs between the servers that speak the Responses API, and what a caller may choose about it. */
export interface OpenAIResponsesQuirks {
  /** Path below the base URL. */
  readonly path?: string;
  /** Whether the provider keeps responses. Without it everything a next request needs travels in the request. */
  readonly store?: boolean;
  /**
   * Whether encrypted reasoning is asked for, so that it can be sent back. `auto`: where the model reasons. Other models
   * refuse the question; then the request is sent once more without it.
   */
  readonly encryptedReasoning?: 'auto' | 'always' | 'never';
  /** Whether `reasoning` is understood. */
  readonly reasoning?: boolean;
  /** What the model takes, where its name doesn't say it: the name of a model that takes the same, or rules of your own. */
  readonly family?: FamilyQuirk;
  /** The summary of its reasoning that a model is asked for. OpenAI gives it to verified organisations only. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | 'none';
  /**
   * Whether tools are declared strict where their parameters allow it: every property required, optional ones nullable,
   * no others. The nulls are taken out of the arguments again.
   */
  readonly strictTools?: boolean;
  /** Whether `prompt_cache_key` is understood. */
  readonly promptCacheKey?: boolean;
  /** The least `max_output_tokens` the server takes; less is raised to it. */
  readonly minOutputTokens?: number;
  /** Whether a `custom_tool_call` is one the provider executed itself. */
  readonly providerRunsCustomTools?: boolean;
}

/** The API itself. */
export const OPENAI_RESPONSES_DEFAULTS: Required<OpenAIResponsesQuirks> = {
  path: '/responses',
  store: false,
  encryptedReasoning: 'auto',
  reasoning: true,
  family: {},
  reasoningSummary: 'none',
  strictTools: false,
  promptCacheKey: true,
  minOutputTokens: 16,
  providerRunsCustomTools: false,
};
