import { mustBePositive, mustBeWhole } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import type { Model } from '../../model/model.ts';

/** How sessions get their titles from a model. */
export interface TitleOptions {
  /** Who writes them: a small and cheap one will do. Default: the agent's own. */
  readonly model?: Model;
  /** Milliseconds for it, retries included. After them the title is made of the prompt. Default 30,000. */
  readonly timeoutMs?: number;
  /** How often a failed call is made again, where that may help. Default 1. */
  readonly maxRetries?: number;
}

/** Options with all their settings. */
export type TitleSettings = Required<TitleOptions>;

/**
 * Checks what an agent's definition says about titles. Null: no model is asked for any.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function titleSettings(given: boolean | TitleOptions | undefined, own: Model): TitleSettings | null {
  if (given === undefined || given === false) return null;
  const { model = own, timeoutMs = 30_000, maxRetries = 1 } = given === true ? {} : given;
  if (typeof model.stream !== 'function') {
    throw new TreadleError('invalid_definition', 'title.model must be a model, such as one of @treadle/models.');
  }
  mustBePositive('title.timeoutMs', timeoutMs);
  mustBeWhole('title.maxRetries', maxRetries);
  return Object.freeze({ model, timeoutMs, maxRetries });
}
