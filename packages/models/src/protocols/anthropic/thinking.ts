import type { ModelRequest } from '@treadle/core/model';
import { isAtLeast } from './model.ts';
import type { AnthropicQuirks } from './quirks.ts';

/** Tokens of reasoning per level. The API wants 1,024 at least, so the two lowest levels are the same here. */
const BUDGETS = { minimal: 128, low: 512, medium: 2048, high: 8192 };
const SMALLEST_BUDGET = 1024;

/** What a request says about reasoning. */
export interface AnthropicThinking {
  /** The `thinking` field. */
  readonly json: string;
  /** The `effort` of `output_config`, where that is how much is asked for. */
  readonly effort?: 'low' | 'medium' | 'high';
  /** Tokens that have to fit into `max_tokens` besides the answer. */
  readonly budget: number;
}

/**
 * How a request asks for reasoning; undefined when it doesn't, or where the wire wouldn't take it.
 *
 * @param forced Whether a tool must be called, which excludes reasoning.
 * @param callsWithoutThinking Whether the request is in the middle of calls whose reasoning this provider didn't make,
 * which excludes a budget.
 */
export function anthropicThinking(
  request: ModelRequest,
  modelId: string,
  how: Required<AnthropicQuirks>['thinking'],
  { forced, callsWithoutThinking }: { readonly forced: boolean; readonly callsWithoutThinking: boolean },
): AnthropicThinking | undefined {
  const level = request.thinking ?? 'off';
  if (level === 'off' || forced) return undefined;
  // From 4.7 on the models refuse a budget. Without a display their reasoning comes without its text.
  if (how === 'adaptive' || (how === 'auto' && isAtLeast(modelId, 4, 7))) {
    const effort = level === 'minimal' ? 'low' : level;
    return { json: '{"type":"adaptive","display":"summarized"}', effort, budget: 0 };
  }
  if (callsWithoutThinking) return undefined;
  const budget = Math.max(SMALLEST_BUDGET, BUDGETS[level]);
  return { json: `{"type":"enabled","budget_tokens":${budget}}`, budget };
}
