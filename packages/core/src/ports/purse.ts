import type { Ledger, ReserveOutcome } from './ledger.ts';

/** What is left of a run's own money, for its sub-agents to share. */
export interface Purse {
  /** True, with the money set aside, when there is as much. */
  reserve(id: string, amount: number): boolean;
  settle(id: string, cost: number): void;
  release(id: string): void;
  readonly remaining: number;
  /** What is set aside and spent. */
  readonly held: number;
}

/** @param limit US dollars; a function where others spend of the same meanwhile. */
export function createPurse(limit: number | (() => number)): Purse {
  const entries = new Map<string, { readonly amount: number; readonly isSpent: boolean }>();
  let held = 0;
  const left = (): number => (typeof limit === 'number' ? limit : limit()) - held;
  const put = (id: string, amount: number, isSpent: boolean): void => {
    held += amount - (entries.get(id)?.amount ?? 0);
    entries.set(id, { amount, isSpent });
  };
  return {
    reserve(id, amount) {
      const known = entries.get(id);
      if (known) return !known.isSpent;
      if (amount > left()) return false;
      put(id, amount, false);
      return true;
    },
    settle(id, cost) {
      if (entries.get(id)?.isSpent !== true) put(id, cost, true);
    },
    release(id) {
      const known = entries.get(id);
      if (!known || known.isSpent) return;
      held -= known.amount;
      entries.delete(id);
    },
    get remaining() {
      return Math.max(0, left());
    },
    get held() {
      return held;
    },
  };
}

/**
 * A ledger that draws on a purse and on ledgers at once: what isn't in all of them isn't there. Null where nothing limits
 * the money.
 */
export function drawingOn(purse: Purse | null, ledgers: readonly (Ledger | null)[]): Ledger | null {
  const all = [...new Set(ledgers.filter((ledger) => ledger !== null))];
  const [only] = all;
  if (!purse) {
    if (only === undefined) return null;
    if (all.length === 1) return only;
  }

  async function reserve(id: string, amount: number): Promise<ReserveOutcome> {
    if (purse && !purse.reserve(id, amount)) return { granted: false, remaining: purse.remaining };
    const held: Ledger[] = [];
    let granted = amount;
    for (const ledger of all) {
      const outcome = await ledger.reserve(id, amount);
      if (outcome.granted) {
        held.push(ledger);
        granted = Math.min(granted, outcome.amount);
        continue;
      }
      purse?.release(id);
      for (const other of held) await other.release(id);
      return outcome;
    }
    return { granted: true, amount: granted };
  }

  return {
    reserve,
    async settle(id, cost) {
      purse?.settle(id, cost);
      for (const ledger of all) await ledger.settle(id, cost);
    },
    async release(id) {
      purse?.release(id);
      for (const ledger of all) await ledger.release(id);
    },
    async balance() {
      const balances = await Promise.all(all.map((ledger) => ledger.balance()));
      const tightest = balances.sort((one, other) => one.remaining - other.remaining)[0];
      if (purse && (!tightest || purse.remaining < tightest.remaining)) {
        const { remaining } = purse;
        return { limit: remaining, spent: 0, reserved: 0, remaining };
      }
      return tightest ?? { limit: 0, spent: 0, reserved: 0, remaining: 0 };
    },
    async raise(limit) {
      for (const ledger of all) await ledger.raise(limit);
    },
  };
}
