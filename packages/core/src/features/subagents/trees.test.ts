import { logOf, scriptedModel } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asTool,
  createSession,
  defineAgent,
  memoryJournal,
  memoryLedger,
  type Agent,
  type DurableEvent,
  type Journal,
  type Tool,
} from '../../index.ts';

/** A sub-agent that starts so many of each of its own. */
interface Tree {
  readonly fan: number;
  readonly below: readonly Tree[];
}

const fan = fc.integer({ min: 1, max: 3 });
const treeOf = (levels: number): fc.Arbitrary<Tree> =>
  fc.record({ fan, below: levels === 0 ? fc.constant([]) : fc.array(treeOf(levels - 1), { maxLength: 2 }) });
/** Deeper than any is allowed to be. */
const tree = treeOf(4);

/** It starts all of them in one turn, then answers. A call costs a cent. */
function agentOf({ below }: Tree, name: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent {
  const calls = below.flatMap(({ fan }, index) =>
    Array.from({ length: fan }, () => ({ name: `${name}${index}`, arguments: { prompt: 'Go.' } })),
  );
  const tools: Tool[] = below.map((child, index) =>
    asTool(agentOf(child, `${name}${index}`), { name: `${name}${index}`, description: 'Works.' }),
  );
  const model = scriptedModel(
    ({ messages }) => (calls.length > 0 && messages.length === 1 ? { toolCalls: calls } : 'Done.'),
    { cost: () => 0.01 },
  );
  return defineAgent({ id: name, model, tools, maxTokens: 10, ...more });
}

/** The logs of a session and all below it, each with its depth. */
async function logsBelow(
  journal: Journal,
  sessionId: string,
  depth = 0,
): Promise<{ readonly depth: number; readonly log: readonly DurableEvent[] }[]> {
  const log = await logOf(journal, sessionId).catch(() => null);
  if (log === null) return [];
  const children = log.flatMap((event) => (event.type === 'tool_started' ? (event.childSessionId ?? []) : []));
  const found = await Promise.all(children.map((id) => logsBelow(journal, id, depth + 1)));
  return [{ depth, log }, ...found.flat()];
}

const settledIn = (log: readonly DurableEvent[]): number =>
  log.reduce((sum, event) => (event.type === 'budget_settled' ? sum + event.cost : sum), 0);

describe('R1: a tree of agents, whatever it looks like', () => {
  it('is no deeper and no wider than it may be', async () => {
    await fc.assert(
      fc.asyncProperty(
        tree,
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 0, max: 4 }),
        async (shape, maxDepth, maxChildren) => {
          const journal = memoryJournal();
          const agent = agentOf(shape, 'a', { subAgents: { maxDepth, maxChildren } });
          const session = await createSession(agent, { journal, id: 's' });
          expect((await session.prompt('Go.').result).status).toBe('completed');
          const logs = await logsBelow(journal, 's');
          expect(Math.max(...logs.map(({ depth }) => depth))).toBeLessThanOrEqual(maxDepth);
          const [top] = logs;
          expect(top?.log.filter((event) => event.type === 'tool_started')).toHaveLength(
            maxDepth === 0
              ? 0
              : Math.min(
                  maxChildren,
                  shape.below.reduce((sum, { fan }) => sum + fan, 0),
                ),
          );
        },
      ),
      { numRuns: 20 },
    );
  });

  it.each(['a limit of the run', 'a shared ledger'])('spends no more than %s has, all of it together', async (kind) => {
    await fc.assert(
      fc.asyncProperty(tree, fc.integer({ min: 1, max: 12 }), async (shape, cents) => {
        const journal = memoryJournal();
        const money =
          kind === 'a shared ledger'
            ? { budget: { ledger: memoryLedger(cents / 100) } }
            : { limits: { maxCost: cents / 100 } };
        const agent = agentOf(shape, 'a', { subAgents: { maxDepth: 3 }, ...money });
        const session = await createSession(agent, { journal, id: 's' });
        await session.prompt('Go.').result;
        const logs = await logsBelow(journal, 's');
        const spent = logs.reduce((sum, { log }) => sum + settledIn(log), 0);
        expect(spent).toBeLessThanOrEqual(cents / 100 + 1e-9);
        expect(spent).toBeGreaterThan(0);
      }),
      { numRuns: 15 },
    );
  });

  it('is refused where an agent would start itself at a depth that isn’t there', async () => {
    const self: { tool?: Tool } = {};
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? { toolCalls: [{ name: 'self', arguments: { prompt: 'Again.' } }] } : 'Done.',
    );
    const inner = defineAgent({ id: 'self', model });
    // An agent that has itself among its tools: made as a library would, by a map that is filled afterwards.
    const tools = inner.tools as Map<string, Tool>;
    self.tool = asTool(inner, { description: 'Itself.' });
    tools.set('self', self.tool);
    const journal = memoryJournal();
    const session = await createSession(inner, { journal, id: 's' });
    expect((await session.prompt('Go.').result).status).toBe('completed');
    const logs = await logsBelow(journal, 's');
    expect(logs.map(({ depth }) => depth)).toEqual([0, 1]);
    expect(logs[1]?.log.find((event) => event.type === 'tool_call_rejected')).toMatchObject({
      reason: 'sub_agent_limit',
    });
  });
});
