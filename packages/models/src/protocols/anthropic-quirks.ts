/** What may differ between deployments of the Messages API. */
export interface AnthropicQuirks {
  /** Path below the base URL. */
  readonly path?: string;
  /** The `anthropic-version` header. */
  readonly version?: string;
  /** Output tokens when a request doesn't say; the wire demands a number. */
  readonly maxTokens?: number;
}

/** The API itself. */
export const ANTHROPIC_DEFAULTS: Required<AnthropicQuirks> = {
  path: '/messages',
  version: '2023-06-01',
  maxTokens: 8192,
};
