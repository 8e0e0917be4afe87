import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, type ScriptedModel, type Turn } from '@treadle/testing';
import { ledgerEntries } from '../../entries/ports.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  memoryLedger,
  openSession,
  type AgentDefinition,
  type DurableEvent,
  type Journal,
  type Ledger,
  type Model,
  type RunResult,
  type Usage,
} from '../../index.ts';

const work = defineTool({
  name: 'work',
  description: 'Works.',
  inputSchema: { type: 'object', properties: { step: { type: 'number' } } },
  execute: ({ step = 0 }) => `did ${step}`,
});
const call = (step: number, usage?: Partial<Usage> | null): Turn => ({
  toolCalls: [{ name: 'work', arguments: { step } }],
  ...(usage === undefined ? {} : { usage }),
});
/** A tenth of a cent for each token, in or out. */
const price = (usage: Usage): number | null =>
  usage.input === null || usage.output === null ? null : (usage.input + usage.output + (usage.cacheWrite ?? 0)) / 1000;
const priced = (script: Parameters<typeof scriptedModel>[0]): ScriptedModel => scriptedModel(script, { cost: price });

async function play(
  model: Model,
  definition: Partial<AgentDefinition>,
): Promise<{ result: RunResult; log: DurableEvent[]; texts: string }> {
  const journal = memoryJournal();
  const agent = defineAgent({ model, tools: [work], maxTokens: 300, ...definition });
  const session = await createSession(agent, { journal, id: 's1' });
  const result = await session.prompt('Go.').result;
  return { result, log: await logOf(journal, 's1'), texts: JSON.stringify(session.messages) };
}

const settlements = (log: readonly DurableEvent[]) =>
  log.flatMap((event) => (event.type === 'budget_settled' ? [{ cost: event.cost, basis: event.basis }] : []));

describe('a budget', () => {
  it('is set aside before each call and settled with its outcome, in the log too', async () => {
    const model = priced([call(1, { input: 20, output: 30 }), { text: 'Done.', usage: { input: 40, output: 10 } }]);
    const { result, log } = await play(model, { limits: { maxCost: 1 } });
    expect(result).toMatchObject({ status: 'completed', cost: 0.1 });
    expect(settlements(log)).toEqual([
      { cost: 0.05, basis: 'usage' },
      { cost: 0.05, basis: 'usage' },
    ]);
    const places = log.flatMap(({ type }, at) => (type === 'decision_made' || type === 'budget_settled' ? [at] : []));
    for (const at of places) {
      if (log[at]?.type === 'decision_made') expect(log[at - 1]?.type).not.toBe('budget_settled');
      else expect(log[at - 1]).toMatchObject({ type: 'message_added', message: { role: 'assistant' } });
    }
    expect(model.requests[0]?.maxTokens).toBe(300);
  });

  it('R4: gives fewer output tokens near the edge, then ends the run with its own reason', async () => {
    const model = priced((_, index) => call(index, { input: 20, output: 200 }));
    const { result, texts } = await play(model, { limits: { maxCost: 0.77, warnAt: Infinity } });
    expect(result.status).toBe('budget_limit');
    expect(result.message).toMatch(/^budget reached \(\$0\.\d\d of \$0\.77\); the next call could cost/);
    expect(texts).toContain('[Agent stopped: budget reached ($0.');
    const asked = model.requests.map(({ maxTokens = 0 }) => maxTokens);
    expect(asked[0]).toBe(300);
    expect(asked.at(-1)).toBeLessThan(300);
    expect(asked.at(-1)).toBeGreaterThanOrEqual(256);
  });

  it('can be raised, and the run goes on', async () => {
    const ledger = memoryLedger(0.1);
    const session = await createSession(
      defineAgent({ model: priced([{ text: 'Done.', usage: {} }]), maxTokens: 300, budget: { ledger } }),
    );
    expect((await session.prompt('Go.').result).status).toBe('budget_limit');
    await ledger.raise(1);
    expect(await session.continue().result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect((await ledger.balance()).spent).toBe(0.015);
  });

  it.each([
    ['refuse', 'budget_limit', 0],
    ['allow', 'completed', 1],
    [{ input: 1000, output: 1000 }, 'completed', 1],
    [{ input: 1000, output: 100_000 }, 'budget_limit', 0],
  ] as const)('with a price that nobody knows and %j ends as %s', async (unknownPrice, end, calls) => {
    const model = scriptedModel(['Done.']);
    const { result } = await play(model, { limits: { maxCost: 1 }, budget: { unknownPrice } });
    expect(result.status).toBe(end);
    expect(model.requests).toHaveLength(calls);
    if (unknownPrice === 'refuse') expect(result.message).toContain('the price of scripted/scripted is unknown');
  });

  it('P34: takes what was set aside where the usage is missing, and the cost stays unknown', async () => {
    const { result, log } = await play(priced([{ text: 'Done.', usage: null }]), { limits: { maxCost: 1 } });
    expect(result).toMatchObject({ status: 'completed', cost: null, usage: { input: null, output: null } });
    const [settled] = log.flatMap((event) => (event.type === 'budget_settled' ? [event] : []));
    expect(settled).toMatchObject({ basis: 'worst_case' });
    expect(settled?.cost).toBe(settled?.reserved);
    expect(settled?.cost).toBeGreaterThan(0.3);
  });

  it('costs nothing for a call that was turned away, and is set aside anew for the next attempt', async () => {
    const model = priced([{ error: { status: 429 } }, { text: 'Done.', usage: {} }]);
    const { log } = await play(model, { limits: { maxCost: 1 }, retry: { initialDelayMs: 0 } });
    expect(settlements(log)).toEqual([
      { cost: 0, basis: 'none' },
      { cost: 0.015, basis: 'usage' },
    ]);
  });

  it('R5: that is crossed in the middle of a stream stops it, one delta late at most', async () => {
    const endless = { text: 'word '.repeat(4000), chunkSize: 100 };
    const { result, log } = await play(priced([endless]), { limits: { maxCost: 1 } });
    expect(result).toMatchObject({ status: 'budget_limit' });
    const [settled] = settlements(log);
    expect(settled?.basis).toBe('streamed');
    // A delta of 100 characters is 25 tokens, at a tenth of a cent each.
    expect(settled?.cost).toBeGreaterThan(0.3);
    expect(settled?.cost).toBeLessThanOrEqual(1 + 0.025 + 1e-9);
  });

  it('refuses the call when the ledger fails: nothing is spent that nobody wrote down', async () => {
    const ledger: Ledger = { ...memoryLedger(1), reserve: () => Promise.reject(new Error('disk full')) };
    const model = priced(['Done.']);
    const { result } = await play(model, { budget: { ledger } });
    expect(result).toMatchObject({ status: 'budget_limit', message: 'the ledger failed: disk full' });
    expect(model.requests).toHaveLength(0);
  });

  it('gives back what was set aside for a call that an abort came before', async () => {
    const ledger = memoryLedger(1);
    const model = priced(['Done.']);
    const session = await createSession(defineAgent({ model, maxTokens: 300, budget: { ledger } }));
    session.subscribe((event) => {
      if (event.type === 'decision_made') void session.abort();
    });
    expect((await session.prompt('Go.').result).status).toBe('aborted');
    const { spent, reserved } = await ledger.balance();
    expect(reserved).toBe(0);
    expect(spent === 0 || model.requests.length === 1).toBe(true);
  });
});

/** A journal whose writes fail for good from the n-th append on, as those of a process that dies there. */
function dying(journal: Journal, appends: number): Journal {
  let left = appends;
  return {
    ...journal,
    append: (...args) => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error('the process died')) : journal.append(...args);
    },
  };
}

describe('N runs on one ledger of a dollar', () => {
  const round = fc.record({
    turns: fc.array(
      fc.record({ output: fc.integer({ min: 1, max: 300 }), fails: fc.boolean(), silent: fc.boolean() }),
      { minLength: 1, maxLength: 5 },
    ),
    maxTokens: fc.integer({ min: 20, max: 300 }),
    dies: fc.array(fc.integer({ min: 1, max: 14 }), { maxLength: 3 }),
    abortsAt: fc.option(fc.integer({ min: 3, max: 25 })),
  });

  const ends = new Set<string>();

  it('never spend more, whatever the interleaving and wherever one is killed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { minLength: 2, maxLength: 5 }),
        fc.boolean(),
        fc.scheduler(),
        async (rounds, loseLedger, scheduler) => {
          let billed = 0;
          let ledger: Ledger = memoryLedger(1);
          const shared: Ledger = {
            reserve: (id, amount) => ledger.reserve(id, amount),
            settle: (id, cost) => ledger.settle(id, cost),
            release: (id) => ledger.release(id),
            balance: () => ledger.balance(),
            raise: (limit) => ledger.raise(limit),
          };
          const journals: Journal[] = [];
          const runOf = async ({ turns, maxTokens, dies, abortsAt }: (typeof rounds)[number], name: number) => {
            const journal = memoryJournal();
            journals.push(journal);
            const id = `s${name}`;
            // The provider bills what it makes of a request, whether anybody hears of it or not.
            const model = scriptedModel(
              async (request, index) => {
                await scheduler.schedule(Promise.resolve(), `call ${id}.${index}`);
                const turn = turns[index % turns.length] ?? { output: 1, fails: false, silent: false };
                if (turn.fails) return { error: { status: 529 } };
                const output = Math.min(turn.output, request.maxTokens ?? 0);
                billed += (10 + output) / 1000;
                expect(billed).toBeLessThanOrEqual(1 + 1e-9);
                const usage = turn.silent ? null : { input: 10, output };
                return index % 7 === 6 ? { text: 'Done.', usage } : call(index, usage);
              },
              { cost: price },
            );
            const agent = defineAgent({
              model,
              tools: [work],
              maxTokens,
              budget: { ledger: shared, minOutputTokens: 10 },
              retry: { initialDelayMs: 0 },
            });
            const first = await createSession(agent, { journal, id });
            let heard = 0;
            for (const appends of [...dies, Infinity]) {
              const session = await openSession(agent, id, { journal: dying(journal, appends) });
              session.subscribe(() => {
                heard += 1;
                if (heard === abortsAt) void session.abort().catch(() => {});
              });
              const run = session.status !== 'idle' ? session.resume() : session.prompt('Go.');
              await run.result.catch(() => null);
              await scheduler.schedule(Promise.resolve(), `next ${id}`);
            }
            await first.refresh();
            for (const event of await logOf(journal, id)) if (event.type === 'run_ended') ends.add(event.status);
            expect(first.status).toBe('idle');
          };
          const all = Promise.all(rounds.map(runOf));
          await scheduler.waitFor(all);
          expect(billed).toBeLessThanOrEqual(1 + 1e-9);
          const { spent, limit } = await shared.balance();
          expect(spent).toBeLessThanOrEqual(limit);
          expect(spent).toBeGreaterThanOrEqual(billed - 1e-6);
          if (!loseLedger) return;
          // A ledger made of the logs has no less, so what is drawn on it later is bounded too.
          const entries = (await Promise.all(journals.map((journal, name) => logOf(journal, `s${name}`)))).flatMap(
            ledgerEntries,
          );
          ledger = memoryLedger(1, entries);
          expect((await shared.balance()).remaining).toBeLessThanOrEqual(1 - billed + 1e-6);
        },
      ),
      { numRuns: 150 },
    );
    // Or nothing was shown: some came through, some ran out of money, some were stopped.
    expect([...ends]).toEqual(expect.arrayContaining(['completed', 'budget_limit', 'aborted']));
  }, 60_000);
});
