import { crashMatrix, logOf, scriptedModel, type CrashCourse } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chosenBy, firstBranch, llmJudge, pairwiseJudge, type BranchStrategy } from '../../entries/branches.ts';
import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  memoryLedger,
  openSession,
  runBranches,
  type Agent,
  type AgentDefinition,
  type DurableEvent,
  type Journal,
  type Model,
  type TreadleEvent,
} from '../../index.ts';

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
const CENT = 0.01;

/** Calls its tool so many times, then answers. Each call of the model costs a cent. */
function branch(configId: string, turns: number, more: Partial<AgentDefinition> = {}): { readonly agent: Agent } {
  const model = scriptedModel(
    ({ messages }) =>
      messages.filter(({ role }) => role === 'tool').length < turns ? { toolCalls: [{ name: 'look' }] } : 'Done.',
    { cost: () => CENT },
  );
  return { agent: defineAgent({ configId, model, tools: [look], maxTokens: 10, loopDetection: false, ...more }) };
}

/** A branch that has another agent do the work. */
const delegating = (configId: string, turns: number): { readonly agent: Agent } => {
  const { agent } = branch('child', turns, { id: 'child' });
  const model = scriptedModel(
    ({ messages }) =>
      messages.length === 1 ? { toolCalls: [{ name: 'child', arguments: { prompt: 'Go.' } }] } : 'Done.',
    { cost: () => CENT },
  );
  const tools = [asTool(agent, { description: 'Works.' })];
  return { agent: defineAgent({ configId, model, tools, maxTokens: 10 }) };
};

const judge = () => scriptedModel(() => 'BEST: 1', { cost: () => CENT });
const main = (more: Partial<AgentDefinition>): Agent =>
  defineAgent({ configId: 'main', model: scriptedModel([], { cost: () => CENT }), ...more });

async function settledBelow(journal: Journal): Promise<number> {
  const { sessions } = await journal.list();
  const logs = await Promise.all(sessions.map(({ sessionId }) => logOf(journal, sessionId)));
  const cost = (event: DurableEvent): number => (event.type === 'budget_settled' ? event.cost : 0);
  const evaluation = (event: DurableEvent): number =>
    event.type === 'branches_ended' ? (event.evaluationCost ?? 0) : 0;
  return logs.flat().reduce((sum, event) => sum + cost(event) + evaluation(event), 0);
}

describe('R1: branches, however many and however long', () => {
  it.each(['a limit of the run', 'a shared ledger'])(
    'spend no more than %s has: all of them, their sub-agents and their judge together',
    async (kind) => {
      const shape = fc.record({ turns: fc.integer({ min: 0, max: 4 }), delegates: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(
          fc.array(shape, { minLength: 1, maxLength: 4 }),
          fc.integer({ min: 1, max: 12 }),
          fc.constantFrom('first', 'judge', 'pairs'),
          async (shapes, cents, who) => {
            const journal = memoryJournal();
            const money =
              kind === 'a shared ledger'
                ? { budget: { ledger: memoryLedger(cents * CENT) } }
                : { limits: { maxCost: cents * CENT } };
            const session = await createSession(main(money), { journal, id: 's' });
            const branches = shapes.map(({ turns, delegates }, index) =>
              (delegates ? delegating : branch)(`b${index}`, turns),
            );
            const strategy: BranchStrategy =
              who === 'first' ? firstBranch() : (who === 'judge' ? llmJudge : pairwiseJudge)({ model: judge() });
            const { cost } = await runBranches(session, { branches, prompt: 'Go.', strategy }).result;
            const settled = await settledBelow(journal);
            expect(settled).toBeLessThanOrEqual(cents * CENT + 1e-9);
            expect(settled).toBeGreaterThan(0);
            expect(cost ?? 0).toBeLessThanOrEqual(settled + 1e-9);
            if ('budget' in money) expect((await money.budget.ledger?.balance())?.spent).toBeCloseTo(settled, 9);
          },
        ),
        { numRuns: 25 },
      );
    },
  );
});

describe('the money of branches', () => {
  it('is what their run may cost, whatever each of them may by itself', async () => {
    const session = await createSession(main({ limits: { maxCost: 3.5 * CENT } }));
    const branches = ['a', 'b', 'c', 'd'].map((id) => branch(id, 0, { limits: { maxCost: 1 } }));
    const run = runBranches(session, { branches, prompt: 'Go.', strategy: firstBranch() });
    expect((await run.result).cost).toBeCloseTo(3 * CENT, 9);
    const ends = (await run.outcomes).map(({ status }) => status);
    expect(ends.toSorted()).toEqual(['budget_limit', 'completed', 'completed', 'completed']);
  });

  it('is not spent on a judge when there is too little left, or its price is unknown: the first is taken, with a warning', async () => {
    for (const [model, why] of [
      [judge(), 'there is too little money left'],
      [scriptedModel(['BEST: 2']), 'its price is unknown, and money is limited'],
    ] as const) {
      const session = await createSession(main({ limits: { maxCost: 2.5 * CENT } }));
      const warnings: string[] = [];
      session.subscribe((event: TreadleEvent) => event.type === 'warning' && warnings.push(event.message));
      const branches = [branch('a', 0), branch('b', 0)];
      const run = runBranches(session, { branches, prompt: 'Go.', strategy: llmJudge({ model }) });
      expect(await run.result).toMatchObject({ status: 'completed' });
      expect(warnings.join()).toContain(`The judge was not asked: ${why}.`);
      expect(model.requests).toEqual([]);
    }
  });

  it('S1, S2: is never spent twice, whenever a process dies amid them', async () => {
    const limit = 5;
    const course = (): CrashCourse => {
      const journal = memoryJournal();
      let asked = 0;
      return {
        sessionId: 's',
        open: () => Promise.resolve(journal),
        async live(life) {
          const options = { journal: life.journal, clock: life.clock, ids: life.ids, onObserverError: () => {} };
          const agent = main({ limits: { maxCost: (limit + 0.5) * CENT } });
          const { sessions } = await journal.list();
          const exists = sessions.some(({ sessionId }) => sessionId === 's');
          const session = exists
            ? await openSession(agent, 's', options)
            : await createSession(agent, { ...options, id: 's' });
          const ended = (await logOf(journal, 's')).some(({ type }) => type === 'run_ended');
          if (ended) return;
          const counted = (configId: string, turns: number) => {
            const { agent: each } = branch(configId, turns);
            const count = (): void => void (asked += 1);
            const model = {
              ...each.model,
              stream: (...args: Parameters<Model['stream']>) => (count(), each.model.stream(...args)),
            };
            return { agent: { ...each, model, models: [model] } };
          };
          const strategy = chosenBy((outcomes) => outcomes[0]?.index ?? 0);
          const branches = [counted('a', 0), counted('b', 9)];
          await runBranches(session, { branches, prompt: 'Go.', strategy }).result;
        },
        outcome() {
          expect(asked).toBeLessThanOrEqual(limit);
          expect(asked).toBeGreaterThan(1);
          return {};
        },
      };
    };
    await crashMatrix(course);
  });
});
