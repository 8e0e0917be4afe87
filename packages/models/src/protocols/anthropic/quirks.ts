import type { FamilyQuirk } from '../../rules/rules.ts';

/** What may differ between deployments of the Messages API, and what a caller may choose about it. */
export interface AnthropicQuirks {
  /** Path below the base URL. */
  readonly path?: string | ((modelId: string) => string);
  /** The version of the API. */
  readonly version?: string;
  /** Where the version stands: in a header, or in the body, in place of the model's name, which is in the path. */
  readonly versionIn?: 'header' | 'body';
  /** Output tokens when a request doesn't say; the wire demands a number. Default: the model's limit, or 8,192 when it is unknown. */
  readonly maxTokens?: number;
  /** What the `anthropic-beta` header names. */
  readonly betas?: readonly string[];
  /** What the model takes, where its name doesn't say it: the name of a model that takes the same, or rules of your own. */
  readonly family?: FamilyQuirk;
  /** Whether the service is told to drop thinking blocks whose prefix has changed, where its models check that. */
  readonly blockBinding?: boolean;
}

/** The API itself. */
export const ANTHROPIC_DEFAULTS: Required<AnthropicQuirks> = {
  path: '/messages',
  version: '2023-06-01',
  versionIn: 'header',
  maxTokens: 8192,
  betas: [],
  family: {},
  blockBinding: true,
};
