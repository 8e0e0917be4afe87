import type { ModelRequest } from '@treadle/core/model';

/** Tokens of reasoning per level, on models that count them. */
const BUDGETS = { minimal: 128, low: 512, medium: 2048, high: 8192 };

/** How a request's reasoning is written. `tokens` come on top of those of the answer. */
export interface GeminiThinking {
  readonly config: object | undefined;
  readonly tokens: number;
}

const NONE: GeminiThinking = { config: undefined, tokens: 0 };

/** Models whose reasoning can't be turned off, with the least of it. Source: the API's guide to thinking. */
const smallestBudget = (modelId: string): number => {
  if (/flash-lite/i.test(modelId)) return 512;
  return /pro/i.test(modelId) ? 128 : 1;
};

/** Models from before reasoning refuse to hear of it. */
const canThink = (modelId: string): boolean => !/gemini-(?:1|2\.0)/i.test(modelId);

const offConfig = (modelId: string, generation: number): object | undefined => {
  if (generation >= 3) return { thinkingLevel: /flash/i.test(modelId) ? 'minimal' : 'low' };
  // What isn't known to think may not know the word.
  if (!/2\.5/.test(modelId)) return undefined;
  return { thinkingBudget: /pro/i.test(modelId) ? smallestBudget(modelId) : 0 };
};

/** The first generation-3 Pro knows two levels; later ones know `medium`, and only Flash knows `minimal`. */
const levelOf = (level: 'minimal' | 'low' | 'medium' | 'high', modelId: string): string => {
  if (/flash/i.test(modelId)) return level;
  if (level === 'minimal') return 'low';
  return level === 'medium' && /gemini-3-pro/i.test(modelId) ? 'high' : level;
};

/** The `thinkingConfig` for a request's level; none when the request doesn't say, which leaves it to the model. */
export function geminiThinking(request: ModelRequest, modelId: string, generation: number): GeminiThinking {
  const { thinking } = request;
  if (thinking === undefined || !canThink(modelId)) return NONE;
  if (thinking === 'off') return { config: offConfig(modelId, generation), tokens: 0 };
  if (generation >= 3) {
    return { config: { includeThoughts: true, thinkingLevel: levelOf(thinking, modelId) }, tokens: 0 };
  }
  const tokens = Math.max(smallestBudget(modelId), BUDGETS[thinking]);
  return { config: { includeThoughts: true, thinkingBudget: tokens }, tokens };
}
