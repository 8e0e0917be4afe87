import { mustBeCount } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import type { Budget } from '../../kernel/services/money.ts';
import type { UnknownPrice } from '../../model/price.ts';
import type { Ledger } from '../../ports/ledger.ts';

/** How an agent's money is looked after. How much it is says `limits.maxCost`, for each run, or a shared ledger. */
export interface BudgetDefinition {
  /** A purse that any number of runs draw on, those of other agents and sessions too. Default: none. */
  readonly ledger?: Ledger;
  /** Default `refuse`. */
  readonly unknownPrice?: UnknownPrice;
  /**
   * Near the edge a call is given fewer output tokens, so that it can be paid for; with fewer than these it is not made.
   * Default 256.
   */
  readonly minOutputTokens?: number;
}

/** @throws TreadleError `invalid_definition`. */
export function checkBudget({ ledger, unknownPrice = 'refuse', minOutputTokens = 256 }: BudgetDefinition = {}): Budget {
  const isKnownWord = unknownPrice === 'refuse' || unknownPrice === 'allow';
  if (!isKnownWord && !(unknownPrice.input >= 0 && unknownPrice.output >= 0)) {
    throw new TreadleError(
      'invalid_definition',
      "budget.unknownPrice must be 'refuse', 'allow' or prices `{ input, output }` in US dollars per million tokens.",
    );
  }
  mustBeCount('budget.minOutputTokens', minOutputTokens);
  return Object.freeze({ ledger: ledger ?? null, unknownPrice, minOutputTokens });
}
