import type { Memory } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { memoryContract, transientMemory } from '../index.ts';

/** Names of the cases that a memory breaks. */
async function broken(make: () => Memory): Promise<string[]> {
  const names: string[] = [];
  for (const { name, run } of memoryContract(() => ({ memory: make() }))) await run().catch(() => names.push(name));
  return names;
}

/** The transient memory with something wrong with it. */
const flawed = (flaw: (memory: Memory) => Partial<Memory>) => (): Memory => {
  const memory = transientMemory();
  return { ...memory, ...flaw(memory) };
};

describe('memoryContract', () => {
  it('finds nothing wrong with the transient memory', async () => {
    expect(await broken(() => transientMemory())).toEqual([]);
  });

  it.each<[string, (memory: Memory) => Partial<Memory>, RegExp]>([
    ['remembers nothing', () => ({ update: async () => {} }), /brings back/],
    [
      'brings back everything',
      ({ retrieve }) => ({ retrieve: (query) => retrieve({ ...query, query: 'note this deployments coffee' }) }),
      /nothing to do with/,
    ],
    ['mixes agents', () => transientMemory({ namespace: () => 'all' }), /one agent's runs/],
    [
      'takes every call for a new run',
      ({ update }) => {
        let times = 0;
        return { update: (run) => update({ ...run, runId: `${run.runId}.${times++}` }) };
      },
      /told of a run twice/,
    ],
    [
      'searches with syntax',
      ({ retrieve }) => ({
        retrieve: async (query) => {
          if (/["*^():]/.test(query.query)) throw new Error('syntax error');
          return retrieve(query);
        },
      }),
      /anything but words/,
    ],
    [
      'brings back the worst first',
      ({ retrieve }) => ({ retrieve: async (query) => (await retrieve(query)).toReversed() }),
      /fits best/,
    ],
    ['has no end', () => transientMemory({ limit: 1000 }), /bounded/],
  ])('notices a memory that %s', async (_, flaw, name) => {
    expect(await broken(flawed(flaw))).toEqual(expect.arrayContaining([expect.stringMatching(name) as string]));
  });
});
