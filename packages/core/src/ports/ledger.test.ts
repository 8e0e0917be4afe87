import { ledgerContract } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { DurableEvent, DurableEventBody } from '../events/events.ts';
import { ledgerEntries, memoryLedger } from './ledger.ts';

describe('memoryLedger keeps the contract of ledgers', () => {
  for (const { name, run } of ledgerContract(() => ({ ledger: memoryLedger(1) }))) it(name, run);
});

const place = { at: 1, runId: 's.m.1', turnIndex: 0 };
const reserved = (key: string, amount: number): DurableEventBody => ({
  type: 'decision_made',
  at: 1,
  runId: 's.m.1',
  kind: 'budget',
  key,
  decision: { granted: true, reserved: amount },
});
const refused: DurableEventBody = {
  type: 'decision_made',
  at: 1,
  runId: 's.m.1',
  kind: 'budget',
  key: 'refused',
  decision: { granted: false, message: 'none left' },
};
const settled = (key: string, amount: number, cost: number): DurableEventBody => ({
  type: 'budget_settled',
  ...place,
  key,
  reserved: amount,
  cost,
  basis: 'usage',
});
const log = (...bodies: readonly DurableEventBody[]): DurableEvent[] =>
  bodies.map((body, index) => ({ ...body, seq: index + 1 }));

describe('a ledger made of logs', () => {
  it('has what was settled as spent, and what was not as set aside in full', async () => {
    const events = log(reserved('a', 0.5), settled('a', 0.5, 0.25), refused, reserved('b', 0.125));
    expect(ledgerEntries(events)).toEqual([
      { id: 'a', reserved: 0.5, cost: 0.25 },
      { id: 'b', reserved: 0.125, cost: null },
    ]);
    const ledger = memoryLedger(1, ledgerEntries(events));
    expect(await ledger.balance()).toEqual({ limit: 1, spent: 0.25, reserved: 0.125, remaining: 0.625 });
    await ledger.settle('b', 0.125);
    expect((await ledger.balance()).spent).toBe(0.375);
  });

  it('counts what forks share once, at the cost that one of them knows', async () => {
    const parent = ledgerEntries(log(reserved('a', 0.5), settled('a', 0.5, 0.25)));
    const fork = ledgerEntries(log(reserved('a', 0.5)));
    for (const entries of [
      [...parent, ...fork],
      [...fork, ...parent],
      [...parent, ...parent],
    ]) {
      expect(await memoryLedger(1, entries).balance()).toMatchObject({ spent: 0.25, reserved: 0 });
    }
  });
});
