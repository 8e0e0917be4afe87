/** What differs between the servers that speak the Responses API, and what a caller may choose about it. */
export interface OpenAIResponsesQuirks {
  /** Path below the base URL. */
  readonly path?: string;
  /** Whether the provider keeps responses. Without it everything a next request needs travels in the request. */
  readonly store?: boolean;
  /**
   * Whether encrypted reasoning is asked for, so that it can be sent back. `auto`: when the request wants thinking or the
   * model's name is one of a family that reasons; other models refuse the question.
   */
  readonly encryptedReasoning?: 'auto' | 'always' | 'never';
  /** Whether `reasoning` is understood. */
  readonly reasoning?: boolean;
  /** How thinking is turned off: by saying nothing, or by the effort `none`, which newer models know. */
  readonly thinkingOff?: 'omit' | 'none';
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
  thinkingOff: 'omit',
  reasoningSummary: 'none',
  strictTools: false,
  promptCacheKey: true,
  minOutputTokens: 16,
  providerRunsCustomTools: false,
};
