import type { ModelRequest } from '@treadle/core/model';
import { isThinking, planThinking, type ModelFamily, type Warn } from '../../rules/rules.ts';

/** What a request says about reasoning. */
export interface AnthropicThinking {
  /** The `thinking` field; undefined where nothing is said. */
  readonly json: string | undefined;
  /** The `effort` of `output_config`, where that is how much is asked for. */
  readonly effort?: string;
  /** Tokens that have to fit into `max_tokens` besides the answer. */
  readonly budget: number;
  /** The model thinks. */
  readonly on: boolean;
}

const BINDING = '"block_binding":{"prefix_mismatch_behavior":"drop_block"}';

/** Without it the newest models send their thinking without its text. */
const DISPLAY = ',"display":"summarized"';

/** The circumstances of a request that decide about its thinking. */
export interface ThinkingFacts {
  readonly modelId: string;
  readonly family: ModelFamily;
  /** A tool must be called, which excludes reasoning on most models. */
  readonly forced: boolean;
  /** The request is in the middle of calls whose reasoning this provider didn't make, which excludes a budget. */
  readonly callsWithoutThinking: boolean;
  /** The service is told what to do with blocks whose prefix has changed. */
  readonly binds: boolean;
}

/** How a request asks for reasoning. */
export function anthropicThinking(
  request: ModelRequest,
  { modelId, family, forced, callsWithoutThinking, binds }: ThinkingFacts,
  warn: Warn,
): AnthropicThinking {
  const excluded = forced && family.forcedTool === 'without_thinking';
  const asked = request.thinking;
  if (excluded && asked !== undefined && asked !== 'off')
    warn('thinking_dropped', `${modelId} doesn't think in a reply that must call a tool.`);
  const wanted = excluded && (asked !== undefined || family.thinksUnasked) ? 'off' : asked;
  const plan = planThinking(family, wanted, modelId, warn);
  const binding = binds ? `,${BINDING}` : '';
  const on = isThinking(family, plan);
  switch (plan.type) {
    case 'unsaid': {
      // A model that thinks unasked does so adaptively: saying it changes nothing, and carries the other fields.
      const said = binds || (on && !forced && family.hidesThinking === true);
      return { json: said ? `{"type":"adaptive"${DISPLAY}${binding}}` : undefined, budget: 0, on };
    }
    case 'off':
      return { json: family.off === 'silence' ? undefined : `{"type":"${family.off}"}`, budget: 0, on };
    case 'effort':
      return { json: `{"type":"adaptive"${DISPLAY}${binding}}`, effort: plan.effort, budget: 0, on };
    case 'budget':
      if (callsWithoutThinking) return { json: undefined, budget: 0, on: false };
      return { json: `{"type":"enabled","budget_tokens":${plan.tokens}}`, budget: plan.tokens, on };
  }
}
