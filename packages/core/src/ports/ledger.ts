import type { DurableEvent } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { isJsonObject } from '../json.ts';

/** What a ledger says to a reservation. */
export type ReserveOutcome =
  /** The money is set aside: `amount` is what is held under the id, in US dollars. */
  | { readonly granted: true; readonly amount: number }
  /** Nothing was set aside: only `remaining` is left. */
  | { readonly granted: false; readonly remaining: number };

/** How a ledger stands, in US dollars. `remaining` is the limit without what is spent and set aside, and never below 0. */
export interface LedgerBalance {
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  readonly remaining: number;
}

/**
 * The ledger port: one purse for any number of runs, sessions, agents and processes. Money is set aside before a model
 * is called and becomes spending, or is given back, after. So what is spent and set aside together never exceeds the limit,
 * whoever draws on it at the same time. `ledgerContract` of `@treadle/testing` checks an implementation.
 *
 * Every method may be called again with the same id: a second call changes nothing, so whoever died between writing down
 * what it did and doing it may do it again. Amounts are US dollars from 0 on; a fraction of a billionth of a dollar counts
 * as a whole one. Every method rejects with a `TreadleError`: `invalid_definition` for amounts that make no sense, and
 * whatever the store behind it fails with.
 */
export interface Ledger {
  /**
   * Sets aside the most that a call can cost, all of it or nothing. Under an id that holds money already the answer is
   * what it holds; under one that is settled nothing more is granted.
   */
  reserve(id: string, worstCase: number): Promise<ReserveOutcome>;
  /**
   * Turns a reservation into spending: what the call really cost, even when that is more than was set aside, for the money
   * is gone. An id that was never reserved is spending all the same.
   */
  settle(id: string, cost: number): Promise<void>;
  /** Gives a reservation back whose call was never made. */
  release(id: string): Promise<void>;
  balance(): Promise<LedgerBalance>;
  /** Raises the limit to so much in all. `invalid_definition` when that is less than it is. */
  raise(limit: number): Promise<void>;
}

/** A reservation as a log has it. With the cost null nobody knows what became of the call: all of it stays set aside. */
export interface LedgerEntry {
  readonly id: string;
  readonly reserved: number;
  readonly cost: number | null;
}

/** Whole units keep sums exact: a million reservations of a tenth of a cent are a thousand dollars and nothing else. */
const UNITS = 1_000_000_000;

/**
 * US dollars as whole billionths, upwards, for what is spent and set aside must not be less than it was. For authors of
 * ledgers.
 *
 * @throws TreadleError `invalid_definition` for what is no amount of money.
 */
export function ledgerUnits(dollars: number, what: string): number {
  if (!(dollars >= 0) || dollars * UNITS > Number.MAX_SAFE_INTEGER) {
    throw new TreadleError(
      'invalid_definition',
      `${what} must be an amount of US dollars from 0 to 9,000,000, and it is ${dollars}.`,
    );
  }
  const units = dollars * UNITS;
  const nearest = Math.round(units);
  // 0.1 + 0.2 is a third of a billionth of a billionth above 0.3: that is not another unit.
  return Math.abs(units - nearest) < 1e-3 ? nearest : Math.ceil(units);
}

/** Whole billionths as US dollars. For authors of ledgers. */
export const ledgerDollars = (units: number): number => units / UNITS;

/** The sums of a ledger as its balance. For authors of ledgers. */
export function ledgerBalance(limit: number, spent: number, reserved: number): LedgerBalance {
  return {
    limit: ledgerDollars(limit),
    spent: ledgerDollars(spent),
    reserved: ledgerDollars(reserved),
    remaining: ledgerDollars(Math.max(0, limit - spent - reserved)),
  };
}

/** The error of a limit that was to be raised and would fall. For authors of ledgers. */
export const ledgerWouldFall = (limit: number, to: number): TreadleError =>
  new TreadleError(
    'invalid_definition',
    `The ledger's limit is $${ledgerDollars(limit)} and can only be raised, not set to $${ledgerDollars(to)}.`,
  );

/** Money under one id: set aside while `spent` is null. */
interface Entry {
  readonly reserved: number;
  readonly spent: number | null;
}

/**
 * A ledger in this process's memory, for any number of agents and sessions. What became of it after a restart is in the
 * logs: pass `ledgerEntries` of every session that drew on it.
 *
 * @param limit US dollars.
 *
 * @example
 * ```ts
 * import { memoryLedger } from '@treadle/core';
 *
 * const ledger = memoryLedger(1);
 * await ledger.reserve('call 1', 0.4);
 * await ledger.settle('call 1', 0.1);
 * console.log((await ledger.balance()).remaining); // 0.9
 * console.log(await ledger.reserve('call 2', 2)); // { granted: false, remaining: 0.9 }
 * ```
 */
export function memoryLedger(limit: number, entries: Iterable<LedgerEntry> = []): Ledger {
  const entriesById = new Map<string, Entry>();
  let most = ledgerUnits(limit, 'The limit of a ledger');
  let spent = 0;
  let reserved = 0;

  const isOpen = (id: string): boolean => entriesById.get(id)?.spent === null;

  function put(id: string, entry: Entry): void {
    const before = entriesById.get(id);
    if (before) {
      spent -= before.spent ?? 0;
      reserved -= before.spent === null ? before.reserved : 0;
    }
    entriesById.set(id, entry);
    spent += entry.spent ?? 0;
    reserved += entry.spent === null ? entry.reserved : 0;
  }

  for (const { id, reserved: amount, cost } of entries) {
    // Twice in the logs of forks, and once in the world; whoever knows the cost is right.
    if (entriesById.get(id) && (cost === null || !isOpen(id))) continue;
    put(id, {
      reserved: ledgerUnits(amount, 'A reservation'),
      spent: cost === null ? null : ledgerUnits(cost, 'A cost'),
    });
  }

  return {
    async reserve(id, worstCase) {
      const units = ledgerUnits(worstCase, 'A reservation');
      const { remaining } = ledgerBalance(most, spent, reserved);
      const held = entriesById.get(id);
      if (held) return held.spent === null ? granted(held.reserved) : { granted: false, remaining };
      if (spent + reserved + units > most) return { granted: false, remaining };
      put(id, { reserved: units, spent: null });
      return granted(units);
    },
    async settle(id, cost) {
      const units = ledgerUnits(cost, 'A cost');
      const held = entriesById.get(id);
      if (!held || held.spent === null) put(id, { reserved: held?.reserved ?? 0, spent: units });
    },
    async release(id) {
      const held = entriesById.get(id);
      if (held?.spent === null) put(id, { reserved: held.reserved, spent: 0 });
    },
    balance: async () => ledgerBalance(most, spent, reserved),
    async raise(to) {
      const units = ledgerUnits(to, 'The limit of a ledger');
      if (units < most) throw ledgerWouldFall(most, units);
      most = units;
    },
  };
}

const granted = (units: number): ReserveOutcome => ({ granted: true, amount: ledgerDollars(units) });

/**
 * What a session's log has of its reservations, to make a ledger anew. A reservation that the log doesn't settle has the
 * cost null and stays set aside at its worst case: its drive is dead, and nobody knows what its call cost. The next drive
 * of the session settles it so.
 */
export function ledgerEntries(events: Iterable<DurableEvent>): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>();
  for (const event of events) {
    if (event.type === 'decision_made' && event.kind === 'budget') {
      const { decision, key: id } = event;
      const reserved = isJsonObject(decision) && decision['granted'] === true ? decision['reserved'] : undefined;
      if (typeof reserved === 'number') entries.set(id, { id, reserved, cost: null });
    } else if (event.type === 'budget_settled') {
      const { key: id, reserved, cost } = event;
      entries.set(id, { id, reserved, cost });
    }
  }
  return [...entries.values()];
}
