import { type Ledger, memoryLedger } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { ledgerContract } from '../index.ts';

/** Names of the cases that a ledger breaks. */
async function broken(make: () => Ledger): Promise<string[]> {
  const names: string[] = [];
  for (const { name, run } of ledgerContract(() => ({ ledger: make() }), { seed: 1 })) {
    await run().catch(() => names.push(name));
  }
  return names;
}

/** The memory ledger with something wrong with it. */
const flawed = (flaw: (ledger: Ledger) => Partial<Ledger>) => (): Ledger => {
  const ledger = memoryLedger(1);
  return { ...ledger, ...flaw(ledger) };
};

describe('ledgerContract', () => {
  it('finds nothing wrong with the memory ledger', async () => {
    expect(await broken(() => memoryLedger(1))).toEqual([]);
  });

  it.each<[string, (ledger: Ledger) => Partial<Ledger>, RegExp]>([
    ['grants everything', () => ({ reserve: async (_, amount) => ({ granted: true, amount }) }), /never promises more/],
    ['forgets to give back', () => ({ release: async () => {} }), /gives back/],
    [
      'settles again and again',
      (ledger) => {
        let times = 0;
        return { settle: (id, cost) => ledger.settle(`${id}.${times++}`, cost) };
      },
      /nothing twice/,
    ],
    ['can be lowered', () => ({ raise: async () => {} }), /raised/],
    [
      'decides before it looks',
      (ledger) => ({
        async reserve(id, amount) {
          const { remaining } = await ledger.balance();
          await new Promise((resolve) => setImmediate(resolve));
          if (amount > remaining) return { granted: false, remaining };
          await ledger.settle(id, amount);
          return { granted: true, amount };
        },
      }),
      /grants the last of it once/,
    ],
  ])('notices a ledger that %s', async (_, flaw, name) => {
    expect(await broken(flawed(flaw))).toEqual(expect.arrayContaining([expect.stringMatching(name) as string]));
  });
});
