import { TreadleError } from '../errors.ts';

/** How much a model thinks before it replies. What a model doesn't have is mapped to the nearest that it has. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** A level, or the tokens that a model may think in; a model that takes no number gets the nearest level. */
export type Thinking = ThinkingLevel | { readonly budgetTokens: number };

/** Tokens to think in at each level, for models that are told a number. The wires add them to `maxTokens` at most. */
const TOKENS: Readonly<Record<ThinkingLevel, number>> = {
  off: 0,
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 8192,
  xhigh: 16_384,
  max: 32_768,
};

/** The tokens of a level, or those that were named. */
export const thinkingTokens = (thinking: Thinking): number =>
  typeof thinking === 'string' ? TOKENS[thinking] : thinking.budgetTokens;

/** In a word, such as `high` or `4096-tokens`; undefined where nothing was said. */
export const thinkingName = (thinking: Thinking | undefined): string | undefined =>
  typeof thinking === 'object' ? `${thinking.budgetTokens}-tokens` : thinking;

/** @throws TreadleError `invalid_definition` for what is neither a level nor a budget. */
export function checkThinking(thinking: Thinking | undefined): Thinking | undefined {
  const isBudget = typeof thinking === 'object' && Number.isSafeInteger(thinking.budgetTokens);
  if (isBudget ? thinking.budgetTokens > 0 : typeof thinking === 'string' && Object.hasOwn(TOKENS, thinking))
    return thinking;
  if (thinking === undefined) return undefined;
  throw new TreadleError(
    'invalid_definition',
    `thinking must be one of ${Object.keys(TOKENS).join(', ')}, or { budgetTokens: a whole number }.`,
  );
}
