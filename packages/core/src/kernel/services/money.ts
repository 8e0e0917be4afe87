import { isJsonObject, type JsonValue } from '../../json.ts';
import type { UnknownPrice } from '../../model/price.ts';
import type { Ledger } from '../../ports/ledger.ts';

export interface Budget {
  readonly ledger: Ledger | null;
  readonly unknownPrice: UnknownPrice;
  readonly minOutputTokens: number;
}

/** What is decided about a call's money before it is made, as the log keeps it. */
export type BudgetDecision =
  | {
      readonly granted: true;
      /** US dollars that are set aside. */
      readonly reserved: number;
      /** What the request says: fewer than the agent wants when the money is short. */
      readonly maxTokens: number;
      /** Output tokens that the money which was left pays for: a stream that seems to have more is stopped. Absent: as many as it likes. */
      readonly stopAfter?: number;
    }
  | { readonly granted: false; readonly message: string };

/** A decision read back from the log. What can't be read was no grant. */
export function asBudgetDecision(value: JsonValue): BudgetDecision {
  if (isJsonObject(value) && value['granted'] === true) {
    const { reserved, maxTokens, stopAfter } = value;
    if (typeof reserved === 'number' && typeof maxTokens === 'number') {
      return { granted: true, reserved, maxTokens, ...(typeof stopAfter === 'number' ? { stopAfter } : {}) };
    }
  }
  const message = isJsonObject(value) ? value['message'] : undefined;
  return { granted: false, message: typeof message === 'string' ? message : 'the decision about it can not be read' };
}
