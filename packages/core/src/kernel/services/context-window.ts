import type { Agent } from '../../agent/agent.ts';
import type { ContextPolicy } from '../../features/compaction/options.ts';
import type { Model } from '../../model/model.ts';

/** Tokens that a request to a model and its reply may have together; null when nobody knows. */
export const windowOf = (policy: ContextPolicy | null, model: Pick<Model, 'contextWindow'>): number | null =>
  policy?.window ?? model.contextWindow ?? null;

/** Whether the agent's model may have the tool that reads back what was cut out. */
export const mayRecall = ({ context }: Agent): boolean => context?.recall ?? true;
