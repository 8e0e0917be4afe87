import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../index.ts';
import { anyView, callAndResult, user } from '../../test-support/views.ts';
import { compactView, type CompactionInput } from './compact.ts';
import { estimateMessages } from '../../messages/estimate-frame.ts';
import { CompactionError, type CompactionStrategy } from './phase.ts';
import {
  blockOverlays,
  DEFAULT_STRATEGIES,
  pruneOldest,
  slidingWindow,
  summarising,
  threeTiers,
} from './strategies.ts';
import { isMarkedPinned, viewProblem } from './units.ts';

const inputOf = (view: readonly Message[], more: Partial<CompactionInput> = {}): CompactionInput => {
  let ids = 0;
  return {
    view,
    tokens: estimateMessages(view),
    frameTokens: 0,
    target: Math.floor(estimateMessages(view) / 2),
    oversized: Infinity,
    window: null,
    strategies: DEFAULT_STRATEGIES,
    pin: null,
    at: 0,
    newId: () => `new${++ids}`,
    recallName: 'recall',
    summarise: () => Promise.resolve('A summary.'),
    ...more,
  };
};

const STRATEGIES: Readonly<Record<string, readonly CompactionStrategy[]>> = {
  summarising: [summarising({ keepRecentTurns: 2, clearAtLeast: 1 })],
  'three tiers': [threeTiers({ keepRecent: 4 })],
  'sliding window': [slidingWindow({ keepResults: 1, keepRecent: 3, maxLength: 300 })],
  'prune oldest': [pruneOldest()],
  'block overlays': [blockOverlays({ keepFirstTurns: 1, keepRecentTurns: 1, keepRuns: 1 })],
  'the default': DEFAULT_STRATEGIES,
};

describe.each(Object.entries(STRATEGIES))('any view compacted by %s', (_, strategies) => {
  it('C1, C8: keeps calls with their results and all that is pinned, and is smaller or the same', async () => {
    await fc.assert(
      fc.asyncProperty(anyView, fc.integer({ min: 0, max: 3000 }), fc.boolean(), async (view, target, fails) => {
        const before = structuredClone(view);
        const summarise = (): Promise<string> =>
          fails ? Promise.reject(new CompactionError('No summary.')) : Promise.resolve('A summary.');
        const made = await compactView(inputOf(view, { strategies, target, oversized: 2000, summarise }));
        expect(viewProblem(view, made.view, isMarkedPinned)).toBeNull();
        if (made.view === view) expect(made.tokens).toBe(estimateMessages(view));
        else expect(made.tokens).toBeLessThan(estimateMessages(view));
        // What people asked for last is there, if only its beginning and its end.
        const asked = view.findLast((message) => message.role === 'user' && message.origin === 'prompt');
        const later = view.some(
          (message) => message.role === 'user' && ['follow_up', 'import'].includes(message.origin),
        );
        if (asked && !later) expect(made.view.map(({ id }) => id)).toContain(asked.id);
        // Nobody's history was touched.
        expect(view).toEqual(before);
      }),
      { numRuns: 300 },
    );
  });

  it('reaches what it aims at, or says which phases it tried, and comes to rest', async () => {
    await fc.assert(
      fc.asyncProperty(anyView, async (view) => {
        let current: readonly Message[] = view;
        // Each compaction makes it smaller, so there is a last one.
        for (let round = 0; ; round++) {
          expect(round).toBeLessThan(100);
          const made = await compactView(inputOf(current, { strategies, target: 0, oversized: 2000 }));
          if (made.view === current) break;
          expect(made.phases.length).toBeGreaterThan(0);
          current = made.view;
        }
      }),
      { numRuns: 50 },
    );
  });
});

const conversation = [
  user('p', 'Do it.'),
  ...Array.from({ length: 30 }, (_, index) => callAndResult(`a${index}`, 'x'.repeat(1000), 'On it.')).flat(),
];

describe('compactView', () => {
  it('stops as soon as it fits', async () => {
    const made = await compactView(
      inputOf(conversation, { strategies: [slidingWindow({ maxLength: 200, keepResults: 2 })] }),
    );
    expect(made).toMatchObject({ strategy: 'sliding_window', phases: ['truncate_results'] });
  });

  it('C2: a strategy that fails leaves no trace, and the next one has its turn', async () => {
    const summarise = (): Promise<string> => Promise.reject(new CompactionError('The summary is empty.'));
    const made = await compactView(inputOf(conversation, { summarise }));
    expect(made.strategy).toBe('sliding_window');
    expect(made.problems).toEqual(['summarising: The summary is empty.']);
  });

  it('C2: with no other strategy the view stays', async () => {
    const summarise = (): Promise<string> => Promise.reject(new CompactionError('The summary is empty.'));
    const made = await compactView(inputOf(conversation, { summarise, strategies: [summarising()] }));
    expect(made).toMatchObject({ view: conversation, phases: [], problems: ['summarising: The summary is empty.'] });
  });

  it.each<[string, (view: readonly Message[]) => readonly Message[], string]>([
    ['cuts a call from its result', (view) => view.filter(({ role }) => role !== 'tool'), 'without its result'],
    ['loses what is pinned', (view) => view.slice(1), 'pinned message p is gone'],
    ['repeats a message', (view) => [...view, ...view.slice(0, 1)], 'twice'],
  ])('refuses what a phase of your own made when it %s', async (_, apply, problem) => {
    const strategies = [{ name: 'mine', phases: [{ name: 'mine', apply }] }];
    const view = conversation.map((message, index) => (index === 0 ? { ...message, pinned: true } : message));
    const made = await compactView(inputOf(view, { strategies }));
    expect(made.view).toBe(view);
    expect(made.problems.join()).toContain(problem);
  });

  it('C3: a phase that makes the view no smaller has done nothing', async () => {
    const apply = (view: readonly Message[]): readonly Message[] => [...view];
    const made = await compactView(
      inputOf(conversation, { strategies: [{ name: 'same', phases: [{ name: 'same', apply }] }] }),
    );
    expect(made).toMatchObject({ view: conversation, phases: [] });
  });

  it('keeps what the agent pins', async () => {
    const pin = ({ id }: Message): boolean => id === 'result_a3.0';
    const made = await compactView(inputOf(conversation, { pin, strategies: [pruneOldest()], target: 0 }));
    expect(made.view.map(({ id }) => id)).toEqual(expect.arrayContaining(['a3', 'result_a3.0']));
  });

  it('corrects estimates by what was measured', async () => {
    const made = await compactView(
      inputOf(conversation, { tokens: estimateMessages(conversation) * 2, strategies: [pruneOldest()] }),
    );
    expect(made.tokens).toBe(2 * estimateMessages(made.view));
  });
});
