import type { Model } from './model.ts';
import type { Usage } from './usage.ts';

/** A price function that throws has no price to give. */
export function priceOf(model: Model, usage: Usage): number | null {
  try {
    const cost = model.cost?.(usage) ?? null;
    return cost !== null && Number.isFinite(cost) ? cost : null;
  } catch {
    return null;
  }
}
