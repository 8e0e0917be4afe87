import type { Agent } from '../../agent/agent.ts';
import { errorText } from '../../errors.ts';
import type { DurableEvent } from '../../events/events.ts';
import type { SettledCall } from '../../kernel/folds.ts';

/** Tells the ledger what calls came to, once the log says so. */
export interface LedgerSettlements {
  take(event: DurableEvent): void;
  /** What an earlier drive wrote down and may not have told the ledger: telling it twice changes nothing. */
  repeat(settled: SettledCall | null): void;
  /** Resolves when the ledger has heard all of it. */
  done(): Promise<void>;
}

/** Null when there is no ledger. A ledger that fails leaves the money set aside: the next drive tells it again. */
export function ledgerSettlements(
  agent: Agent,
  warn: (code: string, message: string) => void,
): LedgerSettlements | null {
  const { ledger } = agent.budget;
  if (ledger === null) return null;
  let pending = Promise.resolve();
  const tell = ({ key, cost, basis }: SettledCall): void => {
    const told = basis === 'none' ? ledger.release(key) : ledger.settle(key, cost);
    const heard = told.catch((error: unknown) =>
      warn(
        'ledger_failed',
        `The ledger could not be told what a call cost, and keeps its money aside: ${errorText(error)}`,
      ),
    );
    pending = pending.then(() => heard);
  };
  return {
    take(event) {
      if (event.type === 'budget_settled') tell(event);
    },
    repeat(settled) {
      if (settled) tell(settled);
    },
    done: () => pending,
  };
}
