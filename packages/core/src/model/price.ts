import type { Model } from './model.ts';
import { isCounted, type Usage } from './usage.ts';

/** A price function that throws has no price to give. */
export function priceOf(model: Model, usage: Usage): number | null {
  try {
    const cost = model.cost?.(usage) ?? null;
    return cost !== null && Number.isFinite(cost) ? cost : null;
  } catch {
    return null;
  }
}

/** US dollars per million tokens, for a model whose price nobody knows. */
export interface AssumedPrice {
  readonly input: number;
  readonly output: number;
}

/** What becomes of a call whose price is unknown while money is limited: no call, a call that counts nothing, or a guess. */
export type UnknownPrice = 'refuse' | 'allow' | AssumedPrice;

/** The most a call of so many tokens can cost, in US dollars; null when nobody knows. */
export type CallPrice = (promptTokens: number, outputTokens: number) => number | null;

/** The worst price of a model's calls: all of the prompt at the dearest of what a prompt's tokens can be. */
export function callPrice(model: Model, unknown: UnknownPrice): CallPrice {
  const costOf = (input: number, cacheRead: number, cacheWrite: number, output: number): number | null => {
    try {
      const cost = model.cost?.({ input, output, cacheRead, cacheWrite, reasoning: null }) ?? null;
      return cost !== null && Number.isFinite(cost) && cost >= 0 ? cost : null;
    } catch {
      // A price function that throws has no price to give.
      return null;
    }
  };
  return (prompt, output) => {
    const fresh = costOf(prompt, 0, 0, output);
    if (fresh !== null) {
      return Math.max(fresh, costOf(0, 0, prompt, output) ?? 0, costOf(0, prompt, 0, output) ?? 0);
    }
    if (unknown === 'refuse') return null;
    return unknown === 'allow' ? 0 : (prompt * unknown.input + output * unknown.output) / 1_000_000;
  };
}

/** The most output, up to `wanted` tokens, that `money` pays for besides the prompt; -1 when it doesn't pay for that. */
export function affordableOutput(price: CallPrice, promptTokens: number, wanted: number, money: number): number {
  const pays = (output: number): boolean => (price(promptTokens, output) ?? Infinity) <= money;
  if (pays(wanted)) return wanted;
  let [least, most] = [-1, wanted];
  // `least` is affordable (or nothing is), `most` is not.
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (pays(middle)) least = middle;
    else most = middle;
  }
  return least;
}

/** Output tokens of a call when neither the agent nor its model says how many. */
export const ASSUMED_OUTPUT_TOKENS = 8192;

/** What a usage cost, by the model's price or the assumed one; null when nobody knows. */
export function costOf(model: Model, unknownPrice: UnknownPrice, usage: Usage): number | null {
  if (!isCounted(usage)) return null;
  const known = priceOf(model, usage);
  if (known !== null) return Math.max(0, known);
  if (unknownPrice === 'allow') return 0;
  if (unknownPrice === 'refuse' || usage.input === null || usage.output === null) return null;
  const prompt = usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  return callPrice(model, unknownPrice)(prompt, usage.output);
}
