import type { FamilyQuirk } from '../../rules/rules.ts';
import type { BedrockCachePart, BedrockReasoning } from './models.ts';

/** What may differ between deployments of ConverseStream. */
export interface BedrockQuirks {
  /**
   * How a model is asked to reason, which Bedrock leaves to each model's vendor: as Claude is (`anthropic`), by an effort
   * in `reasoningConfig` (`nova`), in `reasoning_effort` (`openai`) or in `reasoning` (`openai-effort`), or not at all
   * (`none`). `auto` goes by the model's id; an inference profile that doesn't name its model is taken for Anthropic's.
   */
  readonly reasoning?: 'auto' | BedrockReasoning;
  /** What the model takes, where its id doesn't say it: the name of a model that takes the same, or rules of your own. */
  readonly family?: FamilyQuirk;
  /**
   * The parts of a request that may have cache points, where the request's `cache` asks for them. `auto` goes by the
   * model's id; a model nobody knows, such as one behind an inference profile that doesn't name it, gets none.
   */
  readonly cachePoints?: 'auto' | readonly BedrockCachePart[];
  /**
   * How a model is told the JSON Schema of its reply: in its instructions, which any model takes, or by the service
   * (`native`), which holds the model to it but refuses models and schemas that it doesn't know.
   */
  readonly responseFormat?: 'instructions' | 'native';
}

export const BEDROCK_DEFAULTS: Required<BedrockQuirks> = {
  reasoning: 'auto',
  family: {},
  cachePoints: 'auto',
  responseFormat: 'instructions',
};
