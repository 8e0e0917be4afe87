import type { JsonObject } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import type { BedrockReasoning } from './models.ts';

/** Tokens of reasoning per level for Anthropic's models, which want 1,024 at least. */
const BUDGETS = { minimal: 1024, low: 1024, medium: 2048, high: 8192 };

/** Nobody here knows a level below `low`. */
const EFFORTS = { minimal: 'low', low: 'low', medium: 'medium', high: 'high' };

/** What a request asks of reasoning. */
export interface ReasoningRequest {
  /** Fields for the model's own vendor. */
  readonly fields: JsonObject;
  /** Tokens that it takes from the output. */
  readonly budget: number;
  /** The model takes no temperature but its own. */
  readonly ownTemperature: boolean;
}

const NO_REASONING: ReasoningRequest = { fields: {}, budget: 0, ownTemperature: false };

/**
 * How a request asks for reasoning.
 *
 * @param callsWithoutThinking Whether the request is in the middle of calls whose reasoning this provider didn't make,
 * which excludes a budget.
 */
export function bedrockReasoning(
  request: ModelRequest,
  how: BedrockReasoning,
  callsWithoutThinking: boolean,
): ReasoningRequest {
  const level = request.thinking ?? 'off';
  if (level === 'off' || how === 'none') return NO_REASONING;
  const effort = EFFORTS[level];
  // A forced tool excludes the thinking of Anthropic's models.
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object';
  switch (how) {
    case 'openai':
      return { ...NO_REASONING, fields: { reasoning_effort: effort } };
    case 'openai-effort':
      return { ...NO_REASONING, fields: { reasoning: { effort } } };
    case 'nova':
      return { ...NO_REASONING, fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } } };
    case 'anthropic-adaptive': {
      if (forced) return NO_REASONING;
      // Without a display the reasoning comes without its text.
      const thinking = { type: 'adaptive', display: 'summarized' };
      return { fields: { thinking, output_config: { effort } }, budget: 0, ownTemperature: true };
    }
    case 'anthropic': {
      if (forced || callsWithoutThinking) return NO_REASONING;
      const budget = BUDGETS[level];
      return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, budget, ownTemperature: true };
    }
  }
}
