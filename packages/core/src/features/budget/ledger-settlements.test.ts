import { journalOf, logOf } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  memoryJournal,
  memoryLedger,
  openSession,
  summarising,
  type Agent,
  type Ledger,
  type Usage,
} from '../../index.ts';
import { explorer, look } from '../../test-support/long-run.ts';

const cost = ({ input, output }: Usage): number => ((input ?? 0) + (output ?? 0)) / 10_000;

/** Looks at so many places that the view has to be summed up on the way. */
const agentWith = (ledger: Ledger): Agent =>
  defineAgent({
    model: explorer(6, { text: 'All was well.', usage: { input: 100, output: 10 } }, { cost, contextWindow: 1600 }),
    tools: [look],
    maxTokens: 100,
    budget: { ledger },
    context: { recall: false, strategy: summarising({ keepRecentTurns: 1, clearAtLeast: 100, maxTokens: 100 }) },
  });

describe('the ledger', () => {
  it('hears of a call before money is set aside for the next, so that one settlement at most is untold by a death', async () => {
    const ledger = memoryLedger(10);
    const told: string[] = [];
    const hears = Promise.withResolvers<void>();
    const slow: Ledger = {
      ...ledger,
      async reserve(id, amount) {
        told.push('reserve');
        return ledger.reserve(id, amount);
      },
      async settle(id, amount) {
        told.push('settling');
        await hears.promise;
        told.push('settled');
        return ledger.settle(id, amount);
      },
    };
    const journal = memoryJournal();
    const session = await createSession(agentWith(slow), { journal, id: 's1' });
    const run = session.prompt('Look.');
    for await (const event of run) if (event.type === 'turn_started' && event.turnIndex === 1) break;
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual(['reserve', 'settling']);
    hears.resolve();
    expect((await run.result).status).toBe('completed');
    expect(told.slice(0, 4)).toEqual(['reserve', 'settling', 'settled', 'reserve']);
    expect((await ledger.balance()).reserved).toBe(0);
  });

  it('has nothing set aside in the end, wherever a process died around a summary that was paid for', async () => {
    const whole = memoryJournal();
    const session = await createSession(agentWith(memoryLedger(10)), { journal: whole, id: 's1' });
    await session.prompt('Look.').result;
    const events = await logOf(whole, 's1');
    expect(events.some((event) => event.type === 'budget_settled' && event.key.includes('/summary/'))).toBe(true);
    for (let length = 3; length < events.length; length++) {
      const left = events.slice(0, length);
      const ledger = memoryLedger(10);
      for (const event of left) {
        const { decision } = event.type === 'decision_made' && event.kind === 'budget' ? event : {};
        if (
          event.type === 'decision_made' &&
          typeof decision === 'object' &&
          decision !== null &&
          'reserved' in decision
        )
          await ledger.reserve(event.key, Number(decision['reserved']));
        if (event.type === 'budget_settled') await ledger.settle(event.key, event.cost);
      }
      const later = await openSession(agentWith(ledger), 's1', { journal: await journalOf(left) });
      expect((await later.resume().result).status, `after event ${length}`).toBe('completed');
      expect((await ledger.balance()).reserved, `after event ${length}`).toBe(0);
    }
  });
});
