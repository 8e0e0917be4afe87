import type { ModelRequest } from '@treadle/core/model';
import { planThinking, type ModelFamily, type Warn } from '../../rules/rules.ts';

/** How a request's reasoning is written. `tokens` come on top of those of the answer. */
export interface GeminiThinking {
  readonly config: object | undefined;
  readonly tokens: number;
}

/** The `thinkingConfig` of a request; none when it doesn't say, which leaves it to the model. */
export function geminiThinking(
  request: ModelRequest,
  family: ModelFamily,
  modelId: string,
  warn: Warn,
): GeminiThinking {
  const { thinking } = request;
  const plan = planThinking(family, thinking, modelId, warn);
  // Who wants no thinking wants to read none.
  const shown = thinking === 'off' ? {} : { includeThoughts: true };
  switch (plan.type) {
    case 'unsaid':
      return { config: undefined, tokens: 0 };
    case 'off':
      return { config: family.off === 'zero' ? { thinkingBudget: 0 } : undefined, tokens: 0 };
    case 'effort':
      return { config: { ...shown, thinkingLevel: plan.effort }, tokens: 0 };
    case 'budget':
      return { config: { ...shown, thinkingBudget: plan.tokens }, tokens: thinking === 'off' ? 0 : plan.tokens };
  }
}
