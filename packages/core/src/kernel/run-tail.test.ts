import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineHook,
  memoryJournal,
  memoryLedger,
  summarising,
  type AgentDefinition,
  type DurableEvent,
  type Model,
  type RunResult,
  type Usage,
} from '../index.ts';
import { asksForSummary, explorer, look } from '../test-support/long-run.ts';

async function play(
  definition: AgentDefinition,
): Promise<{ readonly result: RunResult; readonly log: readonly DurableEvent[] }> {
  const journal = memoryJournal();
  const session = await createSession(defineAgent(definition), { journal, id: 's' });
  const { result } = session.prompt('Look everywhere.');
  return { result: await result, log: await logOf(journal, 's') };
}

describe('an answer that was cut off and went on', () => {
  it('is one answer for the check of answers, for the stop hook and for the schema', async () => {
    const heard: string[] = [];
    const cut = { text: '{"colour":', stopReason: 'length' } as const;
    const { result } = await play({
      model: scriptedModel([cut, '"blue"}']),
      output: {
        schema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
        mode: 'prompted',
      },
      outputGuardrails: [
        (text) => {
          heard.push(text);
          return { ok: true };
        },
      ],
      hooks: [defineHook('stop', ({ text }) => void heard.push(text))],
    });
    expect(result).toMatchObject({ status: 'completed', text: '{"colour":"blue"}', output: { colour: 'blue' } });
    expect(heard).toEqual(['{"colour":"blue"}', '{"colour":"blue"}']);
  });
});

describe('a run that ends by its closing call', () => {
  it('has the tail of every run: the memory hears of it', async () => {
    const updates: unknown[] = [];
    const { result } = await play({
      model: scriptedModel([{ toolCalls: [{ name: 'look', arguments: { place: 1 } }] }, 'Half of it.']),
      tools: [look],
      limits: { maxTurns: 1 },
      wrapUp: true,
      memory: { retrieve: async () => [], update: async ({ answer }) => void updates.push(answer) },
    });
    expect(result).toMatchObject({ status: 'turn_limit', text: 'Half of it.' });
    expect(updates).toEqual(['Half of it.']);
  });
});

describe('a summary', () => {
  /** A thousandth of a cent for each token. */
  const cost = (usage: Usage): number | null =>
    usage.input === null || usage.output === null ? null : (usage.input + usage.output) / 100_000;

  it('is paid for like any other call: set aside before, settled after, in the log and in the ledger', async () => {
    const ledger = memoryLedger(10);
    const model = { ...explorer(20, 'All was well so far.', { contextWindow: 4000 }), cost };
    const { result, log } = await play({ model, tools: [look], context: {}, budget: { ledger }, maxTokens: 200 });
    expect(result.status).toBe('completed');
    const compactions = log.filter(({ type }) => type === 'compacted');
    expect(compactions.length).toBeGreaterThan(0);
    const settled = log.filter((event) => event.type === 'budget_settled');
    const reserved = log.filter((event) => event.type === 'decision_made').filter(({ kind }) => kind === 'budget');
    expect(settled.map(({ key }) => key)).toEqual(reserved.map(({ key }) => key));
    expect(settled.filter(({ key }) => key.includes('/summary/'))).toHaveLength(
      model.requests.filter(asksForSummary).length,
    );
    const balance = await ledger.balance();
    expect(balance.reserved).toBe(0);
    expect(balance.spent).toBeCloseTo(
      settled.reduce((sum, event) => sum + event.cost, 0),
      6,
    );
  });

  it('that is broken off has cost what was set aside for it: nobody says otherwise', async () => {
    const ledger = memoryLedger(10);
    const asked = Promise.withResolvers<void>();
    const inner = explorer(20, 'All was well so far.', { contextWindow: 4000 });
    const model: Model = {
      ...inner,
      cost,
      async *stream(request, signal) {
        if (!asksForSummary(request)) {
          yield* inner.stream(request, signal);
          return;
        }
        yield { type: 'start' };
        asked.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    };
    const journal = memoryJournal();
    const agent = defineAgent({ model, tools: [look], context: {}, budget: { ledger }, maxTokens: 200 });
    const session = await createSession(agent, { journal, id: 's' });
    const { result } = session.prompt('Look everywhere.');
    await asked.promise;
    await session.abort();
    expect((await result).status).toBe('aborted');
    const log = await logOf(journal, 's');
    const settled = log.filter((event) => event.type === 'budget_settled').filter(({ key }) => key.includes('summary'));
    expect(settled).toMatchObject([{ basis: 'worst_case' }]);
    expect(settled[0]?.cost).toBeGreaterThan(0);
    expect((await ledger.balance()).reserved).toBe(0);
    expect(log.at(-1)?.type).toBe('run_ended');
  });

  it('that there is no money for is not asked for', async () => {
    const model = { ...explorer(20, 'All was well so far.', { contextWindow: 4000 }), cost };
    const { result, log } = await play({
      model,
      tools: [look],
      context: { strategy: [summarising()], summary: { model: { ...model, cost: () => 100 }, maxRetries: 0 } },
      limits: { maxCost: 5 },
      maxTokens: 200,
    });
    expect(model.requests.filter(asksForSummary)).toEqual([]);
    expect(JSON.stringify(log)).toContain('A summary could cost $100.0000, and there is less left.');
    expect(result.status).toBe('context_limit');
  });
});
