import type { JsonObject } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { isThinking, planThinking, type ModelFamily, type Warn } from '../../rules/rules.ts';
import type { BedrockReasoning } from './models.ts';

/** What a request asks of reasoning. */
export interface ReasoningRequest {
  /** Fields for the model's own vendor. */
  readonly fields: JsonObject;
  /** Tokens that it takes from the output. */
  readonly budget: number;
  /** The model thinks. */
  readonly on: boolean;
}

/** Without the display the newest models send their thinking without its text. */
const SUMMARISED = { type: 'adaptive', display: 'summarized' } as const;

/** The circumstances of a request that decide about its reasoning. */
export interface ReasoningFacts {
  readonly modelId: string;
  readonly how: BedrockReasoning;
  readonly family: ModelFamily;
  /** A tool must be called, which excludes the thinking of most models of Anthropic. */
  readonly forced: boolean;
  /** The request is in the middle of calls whose reasoning this provider didn't make, which excludes a budget. */
  readonly callsWithoutThinking: boolean;
}

/** How a request asks for reasoning. */
export function bedrockReasoning(
  request: ModelRequest,
  { modelId, how, family, forced, callsWithoutThinking }: ReasoningFacts,
  warn: Warn,
): ReasoningRequest {
  const excluded = forced && family.forcedTool === 'without_thinking';
  const asked = request.thinking;
  if (excluded && asked !== undefined && asked !== 'off')
    warn('thinking_dropped', `${modelId} doesn't think in a reply that must call a tool.`);
  const plan = planThinking(
    family,
    excluded && family.thinksUnasked ? 'off' : excluded ? undefined : asked,
    modelId,
    warn,
  );
  const none = { fields: {}, budget: 0, on: isThinking(family, plan) };
  if (plan.type === 'unsaid') {
    // A profile that doesn't name its model may be an older one, which refuses the field.
    const hides = how === 'anthropic' && none.on && family.hidesThinking === true && family.match.test(modelId);
    return hides && !forced ? { ...none, fields: { thinking: SUMMARISED } } : none;
  }
  if (plan.type === 'off') {
    if (family.off === 'none') return { ...none, fields: effortFields(how, 'none') };
    return family.off === 'silence' ? none : { ...none, fields: { thinking: { type: family.off } } };
  }
  if (plan.type === 'effort') return { ...none, fields: effortFields(how, plan.effort) };
  if (callsWithoutThinking) return { ...none, on: false };
  return { ...none, fields: { thinking: { type: 'enabled', budget_tokens: plan.tokens } }, budget: plan.tokens };
}

/** An effort in the words of the model's vendor. */
function effortFields(how: BedrockReasoning, effort: string): JsonObject {
  switch (how) {
    case 'openai':
      return { reasoning_effort: effort };
    case 'openai-effort':
      return { reasoning: { effort } };
    case 'nova':
      return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } };
    case 'anthropic':
      return { thinking: SUMMARISED, output_config: { effort } };
    case 'none':
      return {};
  }
}
