import type { Memory } from '@treadle/core';
import { type FinishedRun, type MemoryScope, tellingWords, wordsOf } from '@treadle/core/features';

/** Options of {@link transientMemory}. */
export interface TransientMemoryOptions {
  /** Whose memory a run writes and reads. Default: the agent's id. */
  readonly namespace?: (scope: MemoryScope) => string;
  /** Runs that one retrieval brings back, at most. Default 5. */
  readonly limit?: number;
}

/** A memory that is gone with the process. */
export interface TransientMemory extends Memory {
  /** What it was told, oldest first; a run that it was told twice is there once. */
  readonly runs: readonly FinishedRun[];
}

/**
 * A memory without a file, for tests of what an agent does with one. It brings back the runs that share the most words with
 * the prompt.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { scriptedModel, transientMemory } from '@treadle/testing';
 *
 * const memory = transientMemory();
 * const agent = defineAgent({ model: scriptedModel(['Noted.', 'Blue.']), memory });
 * await (await createSession(agent)).prompt('My favourite colour is blue.').result;
 * console.log(memory.runs[0]?.answer); // Noted.
 * ```
 */
export function transientMemory(options: TransientMemoryOptions = {}): TransientMemory {
  const { namespace = (scope) => scope.agentId, limit = 5 } = options;
  const kept = new Map<string, { readonly name: string; readonly run: FinishedRun }>();
  return {
    get runs() {
      return [...kept.values()].map(({ run }) => run);
    },
    async retrieve({ query, ...scope }) {
      const name = namespace(scope);
      const words = tellingWords(query, 100);
      return [...kept.values()]
        .filter((entry) => entry.name === name)
        .map(({ run }) => ({ run, score: shared(words, `${run.prompt}\n${run.answer}`) }))
        .filter(({ score }) => score > 0)
        .toSorted((a, b) => b.score - a.score || b.run.at - a.run.at)
        .slice(0, limit)
        .map(({ run }) => `The user said: ${run.prompt}\nThe answer was: ${run.answer}`);
    },
    async update(run) {
      const name = namespace(run);
      kept.set(JSON.stringify([name, run.runId]), { name, run });
    },
  };
}

function shared(words: readonly string[], text: string): number {
  const there = new Set(wordsOf(text));
  return words.filter((word) => there.has(word)).length;
}
