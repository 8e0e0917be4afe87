/** What may differ between deployments of ConverseStream. */
export interface BedrockQuirks {
  /**
   * How a model is asked to reason, which Bedrock leaves to each model's vendor: a budget of tokens (`anthropic`), an
   * effort in `reasoningConfig` (`nova`) or in `reasoning_effort` (`openai`), or not at all. `auto` goes by the model's
   * id; an inference profile that doesn't name its model is taken for Anthropic's.
   */
  readonly reasoning?: 'auto' | 'anthropic' | 'nova' | 'openai' | 'none';
  /**
   * How a model is told the JSON Schema of its reply: in its instructions, which any model takes, or by the service
   * (`native`), which holds the model to it but refuses models and schemas that it doesn't know.
   */
  readonly responseFormat?: 'instructions' | 'native';
}

export const BEDROCK_DEFAULTS: Required<BedrockQuirks> = { reasoning: 'auto', responseFormat: 'instructions' };
