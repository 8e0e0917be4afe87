import { CLAUDE_FAMILIES } from '../../rules/anthropic.ts';
import { OPENAI_FAMILIES } from '../../rules/openai.ts';
import { familyOf, type FamilyQuirk, type ModelFamilies, type ModelFamily } from '../../rules/rules.ts';
import { UNKNOWN_FAMILIES } from '../../rules/servers.ts';

/** How a model of Bedrock is asked to reason. See {@link BedrockQuirks}. */
export type BedrockReasoning = 'anthropic' | 'nova' | 'openai' | 'openai-effort' | 'none';

/** Parts of a request that may have cache points. */
export type BedrockCachePart = 'tools' | 'system' | 'messages';

/** What a family of models takes besides what all models take. */
export interface BedrockModelRow {
  /** Matches a model's id, an inference profile's, or an ARN that has one of them in it. */
  readonly pattern: RegExp;
  readonly reasoning: BedrockReasoning;
  readonly cachePoints: readonly BedrockCachePart[];
}

const EVERYWHERE: readonly BedrockCachePart[] = ['tools', 'system', 'messages'];

/**
 * The first row that matches holds. Bedrock refuses a request with a cache point or a field of reasoning that its model
 * doesn't take, so a model that no row is known for gets neither.
 *
 * Sources, read in October 2026: Amazon's user guide, "Prompt caching for faster model inference" and "Adaptive
 * thinking", for Claude and the first Nova; for OpenAI's fields, what others measured against the service. That newer
 * models of Claude go on as the latest known ones do is an assumption.
 */
const BEDROCK_MODELS: readonly BedrockModelRow[] = [
  { pattern: /claude-(?:instant|v\d|3-(?:opus|sonnet|haiku)|3-5-sonnet)/, reasoning: 'none', cachePoints: [] },
  { pattern: /claude-3-5-haiku/, reasoning: 'none', cachePoints: EVERYWHERE },
  { pattern: /claude-|mythos-/, reasoning: 'anthropic', cachePoints: EVERYWHERE },
  { pattern: /amazon\.nova-(?:micro|lite|pro|premier)-v1/, reasoning: 'none', cachePoints: ['system', 'messages'] },
  { pattern: /amazon\.nova-2-/, reasoning: 'nova', cachePoints: [] },
  { pattern: /openai\.gpt-oss/, reasoning: 'openai', cachePoints: [] },
  { pattern: /(?:^|[./])openai\./, reasoning: 'openai-effort', cachePoints: [] },
];

/** An inference profile of one's own, whose ARN doesn't name the model behind it: mostly Claude, but not surely. */
const NAMELESS: BedrockModelRow = { pattern: /^arn:/, reasoning: 'anthropic', cachePoints: [] };

const UNKNOWN: BedrockModelRow = { pattern: /^/, reasoning: 'none', cachePoints: [] };

/** What the model of this id takes. */
export function bedrockModel(modelId: string): BedrockModelRow {
  const known = BEDROCK_MODELS.find(({ pattern }) => pattern.test(modelId));
  if (known !== undefined) return known;
  return modelId.startsWith('arn:') && !modelId.includes('foundation-model') ? NAMELESS : UNKNOWN;
}

const FAMILIES: Readonly<Record<BedrockReasoning, ModelFamilies>> = {
  anthropic: CLAUDE_FAMILIES,
  nova: UNKNOWN_FAMILIES,
  openai: OPENAI_FAMILIES,
  'openai-effort': OPENAI_FAMILIES,
  none: [{ ...UNKNOWN_FAMILIES[0], efforts: [] }],
};

/** The rules of the model of this id, which is asked to reason in this way. */
export const bedrockFamily = (modelId: string, reasoning: BedrockReasoning, quirk: FamilyQuirk): ModelFamily =>
  familyOf(FAMILIES[reasoning], modelId, quirk);
