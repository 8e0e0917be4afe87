import type { Agent } from '../../agent/agent.ts';
import { estimateFrame, measureView } from '../../messages/estimate-frame.ts';
import type { Model } from '../../model/model.ts';
import type { SessionState } from '../state.ts';

/** Tokens that a request to a model and its reply may have together; null when nobody knows. */
export const windowOf = (policy: Agent['context'], { contextWindow, maxInput }: WindowFacts): number | null =>
  policy?.window ??
  (contextWindow && maxInput ? Math.min(contextWindow, maxInput) : (contextWindow ?? maxInput ?? null));

/** What a model says about the size of its prompts. */
export type WindowFacts = Pick<Model, 'contextWindow' | 'maxInput' | 'priceStep'>;

/** Whether the agent's model may have the tool that reads back what was cut out. */
export const mayRecall = ({ context }: Agent): boolean => context?.recall ?? true;

/** Tokens the next request would have. */
export const viewTokens = (state: SessionState, agent: Agent): number =>
  measureView(state.view, state.anchor, estimateFrame(agent));
