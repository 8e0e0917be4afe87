/** What may differ between deployments of the Messages API, and what a caller may choose about it. */
export interface AnthropicQuirks {
  /** Path below the base URL. */
  readonly path?: string;
  /** The `anthropic-version` header. */
  readonly version?: string;
  /** Output tokens when a request doesn't say; the wire demands a number. */
  readonly maxTokens?: number;
  /** What the `anthropic-beta` header names. */
  readonly betas?: readonly string[];
  /**
   * How a reply in JSON is asked for: by `output_config`, or by a tool whose arguments are the reply. `auto`:
   * `output_config` for the models of Claude that know it, a tool for everything else.
   */
  readonly jsonOutput?: 'auto' | 'native' | 'tool';
  /**
   * How reasoning is asked for: by a budget of tokens, or by an effort with which the model decides for itself. `auto`: by
   * an effort for the models of Claude from 4.7 on, which refuse a budget.
   */
  readonly thinking?: 'auto' | 'budget' | 'adaptive';
}

/** The API itself. */
export const ANTHROPIC_DEFAULTS: Required<AnthropicQuirks> = {
  path: '/messages',
  version: '2023-06-01',
  maxTokens: 8192,
  betas: [],
  jsonOutput: 'auto',
  thinking: 'auto',
};
