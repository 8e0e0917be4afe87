import type { DurableEventBody } from '../../events/events.ts';
import { asBudgetDecision } from '../../kernel/services/money.ts';
import type { SessionState } from '../../kernel/state.ts';
import type { Model, ModelErrorKind, ModelEvent, Usage } from '../../model/model.ts';
import { callPrice, costOf, type UnknownPrice } from '../../model/price.ts';

/** What a call came to, as far as its money is concerned. */
export type Spending =
  | { readonly type: 'reported'; readonly usage: Usage }
  /** It was turned away before it said anything. */
  | { readonly type: 'refused'; readonly kind: ModelErrorKind; readonly usage: Usage }
  /** It was stopped after so many output tokens, for they were all there was money for. */
  | { readonly type: 'stopped'; readonly outputTokens: number }
  | { readonly type: 'unknown' };

/** Failures by which a provider says that it did nothing. */
const UNDONE: ReadonlySet<ModelErrorKind> = new Set(['rate_limited', 'auth', 'api', 'context_overflow']);

/** The settlement of the open call; none when no money was set aside for it. */
export function settleCall(
  state: SessionState,
  model: Model,
  unknownPrice: UnknownPrice,
  spending: Spending,
  at: number,
): DurableEventBody[] {
  const { run } = state;
  const reservation = run?.limits.reservation;
  if (!run || !reservation) return [];
  const { key, reserved } = reservation;
  const place = {
    type: 'budget_settled',
    at,
    runId: run.runId,
    turnIndex: run.turn?.index ?? 0,
    key,
    reserved,
  } as const;
  const spent = 'usage' in spending ? costOf(model, unknownPrice, spending.usage) : null;
  if (spent !== null) return [{ ...place, cost: spent, basis: 'usage' }];
  if (spending.type === 'refused' && UNDONE.has(spending.kind)) return [{ ...place, cost: 0, basis: 'none' }];
  if (spending.type === 'stopped') {
    const known = state.decisions.get(key);
    const decided = known ? asBudgetDecision(known.answer) : null;
    const least = decided?.granted === true ? (decided.stopAfter ?? 0) : 0;
    // What was reserved paid for the prompt and `stopAfter` tokens at least; what came beyond them is added.
    const price = callPrice(model, unknownPrice);
    const beyond = (price(0, spending.outputTokens) ?? 0) - (price(0, least) ?? 0);
    return [{ ...place, cost: reserved + Math.max(0, beyond), basis: 'streamed' }];
  }
  return [{ ...place, cost: reserved, basis: 'worst_case' }];
}

/** Counts what is streamed; null when that is nobody's business. Constant work per delta. */
export interface Meter {
  /** True once more has come than there is money for. */
  take(event: ModelEvent): boolean;
  outputTokens(): number;
}

const CHARACTERS_PER_TOKEN = 4;

export function meterFor(stopAfter: number | undefined): Meter | null {
  if (stopAfter === undefined) return null;
  const most = stopAfter * CHARACTERS_PER_TOKEN;
  let streamed = 0;
  return {
    take(event) {
      if (event.type === 'start') streamed = 0;
      else if ('text' in event) streamed += event.text.length;
      return streamed > most;
    },
    outputTokens: () => Math.ceil(streamed / CHARACTERS_PER_TOKEN),
  };
}
