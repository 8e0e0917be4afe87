import assert from 'node:assert/strict';
import type { Ledger } from '@treadle/core';
import { contractOf, type Cases, type ContractCase } from './case.ts';
import { chanceOf } from '../chance.ts';
import { rejects, turnOfLoop } from './journal/support.ts';

/** A fresh ledger for one case of the contract. */
export interface LedgerUnderTest {
  readonly ledger: Ledger;
  /** The same ledger once more, as another process would open it. Those that live in one process leave it out. */
  readonly open?: () => Promise<Ledger>;
  /** Called after the case, whatever came of it. */
  readonly dispose?: () => Promise<void>;
}

/** Options of {@link ledgerContract}. */
export interface LedgerContractOptions {
  /** Seed of the random interleavings. Default 1: the same each time. A failure names it. */
  readonly seed?: number;
  /** How many random interleavings. Default 25. */
  readonly runs?: number;
}

const REFUSED = { granted: false } as const;

/** The ledger has a limit of one dollar. */
const CASES: Cases<LedgerUnderTest, Required<LedgerContractOptions>> = {
  async 'begins with all of its limit'({ ledger }) {
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0, reserved: 0, remaining: 1 });
  },
  async 'sets money aside, and spends what the call cost in the end'({ ledger }) {
    assert.deepEqual(await ledger.reserve('a', 0.5), { granted: true, amount: 0.5 });
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0, reserved: 0.5, remaining: 0.5 });
    await ledger.settle('a', 0.125);
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0.125, reserved: 0, remaining: 0.875 });
  },
  async 'grants the last of it, refuses more, and says what is left'({ ledger }) {
    await ledger.reserve('a', 0.75);
    assert.deepEqual(await ledger.reserve('b', 0.5), { ...REFUSED, remaining: 0.25 });
    assert.deepEqual(await ledger.reserve('b', 0.25), { granted: true, amount: 0.25 });
    assert.deepEqual(await ledger.reserve('c', 0.000000001), { ...REFUSED, remaining: 0 });
    assert.deepEqual(await ledger.reserve('d', 0), { granted: true, amount: 0 });
  },
  async 'gives back what was never used'({ ledger }) {
    await ledger.reserve('a', 1);
    await ledger.release('a');
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0, reserved: 0, remaining: 1 });
    assert.deepEqual(await ledger.reserve('b', 1), { granted: true, amount: 1 });
  },
  async 'does nothing twice under one id'({ ledger }) {
    await ledger.reserve('a', 0.5);
    assert.deepEqual(await ledger.reserve('a', 0.5), { granted: true, amount: 0.5 });
    assert.deepEqual(await ledger.reserve('a', 0.75), { granted: true, amount: 0.5 });
    assert.equal((await ledger.balance()).reserved, 0.5);
    await ledger.settle('a', 0.25);
    await ledger.settle('a', 0.25);
    await ledger.settle('a', 1);
    await ledger.release('a');
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0.25, reserved: 0, remaining: 0.75 });
    await ledger.reserve('b', 0.5);
    await ledger.release('b');
    await ledger.release('b');
    await ledger.settle('b', 0.5);
    assert.equal((await ledger.balance()).spent, 0.25, 'what was given back stays given back');
  },
  async 'grants nothing more under an id that is settled'({ ledger }) {
    await ledger.reserve('a', 0.5);
    await ledger.settle('a', 0.25);
    assert.deepEqual(await ledger.reserve('a', 0.5), { ...REFUSED, remaining: 0.75 });
    await ledger.reserve('b', 0.5);
    await ledger.release('b');
    assert.deepEqual(await ledger.reserve('b', 0.5), { ...REFUSED, remaining: 0.75 });
  },
  async 'counts what is spent, reserved or not, and more than reserved too'({ ledger }) {
    await ledger.settle('never reserved', 0.25);
    await ledger.reserve('a', 0.25);
    await ledger.settle('a', 1);
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 1.25, reserved: 0, remaining: 0 });
    assert.deepEqual(await ledger.reserve('b', 0.25), { ...REFUSED, remaining: 0 });
  },
  async 'releasing what was never reserved changes nothing, and grants it later'({ ledger }) {
    await ledger.release('a');
    assert.deepEqual(await ledger.reserve('a', 0.5), { granted: true, amount: 0.5 });
  },
  async 'can be raised, and never falls'({ ledger }) {
    await ledger.reserve('a', 1);
    await ledger.settle('a', 1);
    await ledger.raise(1.5);
    assert.deepEqual(await ledger.balance(), { limit: 1.5, spent: 1, reserved: 0, remaining: 0.5 });
    assert.deepEqual(await ledger.reserve('b', 0.5), { granted: true, amount: 0.5 });
    await ledger.raise(1.5);
    await rejects(ledger.raise(1), 'invalid_definition', /raised/);
    assert.equal((await ledger.balance()).limit, 1.5);
  },
  async 'adds up exactly, however small and many the amounts'({ ledger }) {
    for (let n = 0; n < 100; n++) {
      assert.equal((await ledger.reserve(`a${n}`, 0.01)).granted, true, `the ${n + 1}. cent`);
      await ledger.settle(`a${n}`, 0.01);
    }
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 1, reserved: 0, remaining: 0 });
  },
  async 'counts the smallest fraction as a billionth, never as nothing'({ ledger }) {
    await ledger.reserve('a', 1e-12);
    assert.equal((await ledger.balance()).reserved, 1e-9);
    await ledger.settle('a', 1e-12);
    assert.equal((await ledger.balance()).spent, 1e-9);
  },
  async 'refuses what is no amount of money'({ ledger }) {
    for (const amount of [-0.1, Number.NaN, Infinity]) {
      await rejects(ledger.reserve('a', amount), 'invalid_definition');
      await rejects(ledger.settle('a', amount), 'invalid_definition');
      await rejects(ledger.raise(amount), 'invalid_definition');
    }
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0, reserved: 0, remaining: 1 });
  },
  async 'never promises more than it has, however many draw on it at once'({ ledger, open }, { seed, runs }) {
    const second = (await open?.()) ?? ledger;
    const random = chanceOf(seed);
    for (let round = 0; round < runs; round++) {
      const draw = async (name: string, from: Ledger): Promise<void> => {
        for (let n = 0; n < 4; n++) {
          const id = `${round}.${name}.${n}`;
          const outcome = await from.reserve(id, random() * 0.1);
          if (random() < 0.5) await turnOfLoop();
          if (!outcome.granted) continue;
          if (random() < 0.2) await from.release(id);
          else if (random() < 0.9) await from.settle(id, random() * outcome.amount);
          const { spent, reserved, remaining, limit } = await ledger.balance();
          assert.ok(spent + reserved <= limit + 1e-9, `${spent} and ${reserved} of ${limit} (seed ${seed})`);
          assert.ok(remaining >= 0);
        }
      };
      await Promise.all(['a', 'b', 'c', 'd'].map((name, index) => draw(name, index % 2 === 0 ? ledger : second)));
    }
    assert.deepEqual(await second.balance(), await ledger.balance());
  },
  // The interleavings above may miss a ledger that looks and then acts; this one can't.
  async 'grants the last of it once, however many ask for all of it at once'({ ledger, open }) {
    const second = (await open?.()) ?? ledger;
    const asked = ['a', 'b', 'c', 'd'].map((id, index) => (index % 2 === 0 ? ledger : second).reserve(id, 1));
    const outcomes = await Promise.all(asked);
    assert.equal(outcomes.filter(({ granted }) => granted).length, 1);
    assert.deepEqual(await ledger.balance(), { limit: 1, spent: 0, reserved: 1, remaining: 0 });
  },
};

/**
 * What every `Ledger` must do, as a list of cases for any test runner. `make` is called for each case, and makes a ledger
 * with a limit of one dollar.
 *
 * @example
 * ```ts
 * import { memoryLedger } from '@treadle/core';
 * import { ledgerContract } from '@treadle/testing';
 *
 * // With any runner: for (const { name, run } of ledgerContract(make)) it(name, run);
 * for (const { run } of ledgerContract(() => ({ ledger: memoryLedger(1) }))) await run();
 * ```
 */
export function ledgerContract(
  make: () => LedgerUnderTest | Promise<LedgerUnderTest>,
  options: LedgerContractOptions = {},
): ContractCase[] {
  return contractOf(CASES, make, { seed: 1, runs: 25, ...options });
}
