import { memoryJournal, type Journal } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { logOf, sessionContract } from '../../index.ts';

/** Names of the cases that fail on a journal. */
async function broken(make: () => Journal): Promise<string[]> {
  const names: string[] = [];
  for (const { name, run } of sessionContract(() => ({ journal: make() }))) await run().catch(() => names.push(name));
  return names;
}

/** The memory journal with something wrong with it. */
const flawed = (flaw: (journal: Journal) => Partial<Journal>) => (): Journal => {
  const journal = memoryJournal();
  return { ...journal, ...flaw(journal) };
};

describe('sessionContract', () => {
  it('finds nothing wrong with sessions in memory', async () => {
    expect(await broken(() => memoryJournal())).toEqual([]);
  });

  it.each<[string, (journal: Journal) => Partial<Journal>, RegExp]>([
    [
      'forks at the end instead of where it is told to',
      (journal) => ({
        async create(sessionId, first, fork) {
          if (!fork) return journal.create(sessionId, first);
          return journal.create(sessionId, first, { ...fork, seq: (await logOf(journal, fork.sessionId)).length });
        },
      }),
      /S12: forked at every event/,
    ],
    [
      'deletes what forks still read',
      (journal) => {
        const removed = new Set<string>();
        return {
          async remove(sessionId) {
            removed.add(sessionId);
            return journal.remove(sessionId);
          },
          async *read(sessionId, from) {
            for await (const event of journal.read(sessionId, from)) {
              const { fork } = event.type === 'session_created' ? event : {};
              if (fork && removed.has(fork.sessionId)) throw new Error('its parent is gone');
              yield event;
            }
          },
        };
      },
      /S12: forked from a fork/,
    ],
    [
      'forgets what is written at the same moment',
      (journal) => {
        let busy = false;
        return {
          async post(sessionId, input, key, at) {
            if (busy) return { seq: (await logOf(journal, sessionId)).length + 1, duplicate: false };
            busy = true;
            return journal.post(sessionId, input, key, at).finally(() => (busy = false));
          },
        };
      },
      /S8: a hundred/,
    ],
    ['keeps what is deleted', () => ({ remove: async () => {} }), /S12: forked from a fork/],
    ['gives out the last inputs first', (journal) => ({ read: lastInputsFirst(journal) }), /H4: of two answers/],
    [
      'loses answers',
      (journal) => ({
        post: async (sessionId, input, key, at) =>
          input.type === 'approval_answer'
            ? { seq: (await logOf(journal, sessionId)).length + 1, duplicate: false }
            : journal.post(sessionId, input, key, at),
      }),
      /H4: an approval that is answered twice/,
    ],
  ])('notices a journal that %s', async (_, flaw, expected) => {
    expect((await broken(flawed(flaw))).join('\n')).toMatch(expected);
  });
});

/** Reads a log with two answers in a row the wrong way round. */
function lastInputsFirst(journal: Journal): Journal['read'] {
  return async function* (sessionId, from) {
    const events = (await logOf(journal, sessionId)).map((event, index, all) => {
      const isAnswer = (at: number): boolean => {
        const one = all[at];
        return one?.type === 'input_received' && one.input.type === 'approval_answer';
      };
      const other = isAnswer(index)
        ? isAnswer(index + 1)
          ? all[index + 1]
          : isAnswer(index - 1)
            ? all[index - 1]
            : event
        : event;
      return { ...(other ?? event), seq: event.seq };
    });
    yield* events.filter(({ seq }) => seq >= from);
  };
}
