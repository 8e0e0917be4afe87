// @module-tag slow

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { journalOf, logOf, scriptedModel, type Turn } from '@treadle/testing';
import { blockOverlays, threeTiers, type CompactionStrategy } from '../../entries/context.ts';
import { initialState, reduce } from '../../entries/kernel.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  pruneOldest,
  slidingWindow,
  summarising,
  type Agent,
  type DurableEvent,
  type Message,
} from '../../index.ts';
import { viewProblem } from './units.ts';
import { asksForSummary } from '../../test-support/long-run.ts';

// Runs that outgrow a small window, with providers that complain, summaries that are no use, and people who steer, compact
// and cancel in between.

const STRATEGIES: Readonly<Record<string, readonly CompactionStrategy[]>> = {
  summarising: [summarising({ keepRecentTurns: 1, clearAtLeast: 1 })],
  'then pruned': [summarising({ keepRecentTurns: 2, clearAtLeast: 1 }), pruneOldest()],
  'three tiers': [threeTiers({ maxLines: 4, keepRecent: 2 })],
  'sliding window': [slidingWindow({ keepResults: 1, keepRecent: 2, maxLength: 200 })],
  'block overlays': [blockOverlays({ keepFirstTurns: 1, keepRecentTurns: 1, maxLines: 4 })],
};

const turn: fc.Arbitrary<Turn> = fc
  .record({
    sizes: fc.array(fc.nat(400), { minLength: 1, maxLength: 3 }),
    overflows: fc.nat(9).map((roll) => roll === 0),
    usage: fc.constantFrom(null, null, { input: 700 }),
  })
  .map(({ sizes, overflows, usage }) =>
    overflows
      ? { error: { kind: 'context_overflow' } }
      : { text: 'Going on.', toolCalls: sizes.map((size) => ({ name: 'look', arguments: { size } })), usage },
  );

const summary: fc.Arbitrary<Turn> = fc.constantFrom<Turn>(
  { text: 'All was well.', usage: null },
  { text: 'All was well.', usage: { input: 100 } },
  { text: '', usage: null },
  { text: 'word '.repeat(4000), usage: null },
  { toolCalls: [{ name: 'look' }], usage: null },
  { error: { kind: 'api' } },
  { error: { kind: 'network', afterDeltas: 1 } },
);

interface World {
  readonly turns: readonly Turn[];
  readonly summaries: readonly Turn[];
  readonly strategy: string;
  readonly interferences: readonly { readonly at: number; readonly what: 'steer' | 'compact' | 'abort' }[];
}

const world: fc.Arbitrary<World> = fc.record({
  turns: fc.array(turn, { minLength: 3, maxLength: 10 }),
  summaries: fc.array(summary, { minLength: 1, maxLength: 4 }),
  strategy: fc.constantFrom(...Object.keys(STRATEGIES)),
  interferences: fc.array(fc.record({ at: fc.nat(60), what: fc.constantFrom('steer', 'compact', 'abort') }), {
    maxLength: 2,
  }),
});

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { size: { type: 'integer' } } },
  readOnly: true,
  execute: ({ size = 1 }) => 'well\n'.repeat(size),
});

function agentOf({ turns, summaries, strategy }: World): Agent {
  let at = 0;
  let written = 0;
  const model = scriptedModel((request) =>
    asksForSummary(request)
      ? (summaries[written++ % summaries.length] ?? '')
      : (turns[at++] ?? { text: 'Done.', usage: null }),
  );
  return defineAgent({
    loopDetection: false,
    model,
    tools: [look],
    context: { window: 1500, strategy: STRATEGIES[strategy] ?? [pruneOldest()] },
    retry: { maxRetries: 1, initialDelayMs: 0 },
  });
}

async function play(made: World): Promise<{ events: DurableEvent[]; live: readonly Message[] }> {
  const journal = memoryJournal();
  const session = await createSession(agentOf(made), { journal, id: 's' });
  let heard = 0;
  session.subscribe(() => {
    heard += 1;
    for (const { at, what } of made.interferences) {
      if (at !== heard) continue;
      if (what === 'abort') void session.abort();
      else if (what === 'steer') void session.steer('Mind the gap.');
      else void session.compact().catch(() => {});
    }
  });
  await session.prompt('Go.').result;
  await session.idle();
  return { events: await logOf(journal, 's'), live: session.messages };
}

const foldOf = (events: readonly DurableEvent[]): readonly Message[] => events.reduce(reduce, initialState('s')).view;

const nothingPinned = (): boolean => false;

describe('any run that outgrows its window', () => {
  it('ends once, with a view that can be sent, and got smaller each time or stopped', async () => {
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(world, async (made) => {
        const { events, live } = await play(made);
        expect(events.filter(({ type }) => type === 'run_ended')).toHaveLength(1);
        expect(viewProblem([], live, nothingPinned)).toBeNull();
        expect(foldOf(events)).toEqual(live);
        for (const [index, event] of events.entries()) {
          if (event.type === 'compacted') {
            compactions += 1;
            expect(event.tokensAfter).toBeLessThan(event.tokensBefore);
          }
          if (event.type !== 'compaction_failed' || event.trigger === 'manual') continue;
          // Nothing was tried again at the same size.
          const rest = events.slice(index + 1).filter(({ type }) => !type.startsWith('input_'));
          expect(rest.map(({ type }) => type).slice(0, 2)).toEqual(['turn_ended', 'run_ended']);
        }
      }),
      { numRuns: 300 },
    );
    expect(compactions).toBeGreaterThan(300);
  });

  it('C6: cut off after any event, goes on to an end with a view that can be sent', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (made) => {
        const { events } = await play(made);
        for (let length = 1; length <= events.length; length++) {
          const prefix = events.slice(0, length);
          const journal = await journalOf(prefix);
          const session = await openSession(agentOf({ ...made, turns: [] }), 's', { journal });
          expect(session.messages).toEqual(foldOf(prefix));
          if (session.status !== 'idle') await session.resume().result;
          expect(viewProblem([], session.messages, nothingPinned)).toBeNull();
          expect(foldOf(await logOf(journal, 's'))).toEqual(session.messages);
        }
      }),
      { numRuns: 40 },
    );
  });
});
