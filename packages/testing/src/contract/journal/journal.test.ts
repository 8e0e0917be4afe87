import { type Journal, memoryJournal } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { type JournalUnderTest, journalContract } from '../../index.ts';

/** Names of the cases that a journal breaks. */
async function broken(make: () => JournalUnderTest): Promise<string[]> {
  const names: string[] = [];
  for (const { name, run } of journalContract(make, { runs: 3 })) await run().catch(() => names.push(name));
  return names;
}

/** The memory journal with something wrong with it. */
const flawed = (flaw: (journal: Journal) => Partial<Journal>) => (): JournalUnderTest => {
  const journal = memoryJournal();
  return { journal: { ...journal, ...flaw(journal) } };
};

describe('journalContract', () => {
  it('finds nothing wrong with the memory journal', async () => {
    expect(await broken(() => ({ journal: memoryJournal() }))).toEqual([]);
  });

  it.each<[string, (journal: Journal) => Partial<Journal>, RegExp]>([
    [
      'writes for whoever asks',
      (journal) => ({
        async append(sessionId, _, expectedSeq, events) {
          const claim = await journal.claim(sessionId, { id: 'a', label: 'the drive a' });
          return journal.append(sessionId, claim.epoch, expectedSeq, events);
        },
      }),
      /fenced/,
    ],
    [
      'gives a session to everyone',
      (journal) => ({ claim: (sessionId) => journal.claim(sessionId, { id: 'one', label: 'one' }) }),
      /held is refused to others/,
    ],
    [
      'forgets keys',
      (journal) => {
        let count = 0;
        return { post: (sessionId, input, key, at) => journal.post(sessionId, input, `${key}${count++}`, at) };
      },
      /same key again/,
    ],
    [
      'loses every tenth post',
      (journal) => {
        let count = 0;
        return {
          async post(sessionId, input, key, at) {
            if (++count % 10 !== 0) return journal.post(sessionId, input, key, at);
            let last = 0;
            for await (const event of journal.read(sessionId, 1)) last = event.seq;
            return { seq: last + 1, duplicate: false };
          },
        };
      },
      /interleave/,
    ],
    [
      'writes over inputs nobody read',
      (journal) => ({
        async append(sessionId, epoch, expectedSeq, events) {
          const outcome = await journal.append(sessionId, epoch, expectedSeq, events);
          return outcome.ok ? outcome : journal.append(sessionId, epoch, outcome.seq, events);
        },
      }),
      /between read and append/,
    ],
    [
      'lets forks see what came later',
      (journal) => ({
        async create(sessionId, first, fork) {
          if (!fork) return journal.create(sessionId, first);
          const parent = await journal
            .list()
            .then((page) => page.sessions.find((row) => row.sessionId === fork.sessionId));
          return journal.create(sessionId, first, { ...fork, seq: parent?.seq ?? fork.seq });
        },
      }),
      /up to the fork/,
    ],
    [
      'reads on into what is being written',
      (journal) => ({
        read: (sessionId, from) => ({
          async *[Symbol.asyncIterator]() {
            for (let next = from; ;) {
              let found = false;
              for await (const event of journal.read(sessionId, next)) {
                found = true;
                next = event.seq + 1;
                yield event;
              }
              if (!found) return;
            }
          },
        }),
      }),
      /while someone reads/,
    ],
    ['tells watchers nothing', () => ({ watch: () => () => {} }), /watcher hears/],
    [
      'loses what JSON loses when keys are copied one by one',
      (journal) => ({
        append: (sessionId, epoch, expectedSeq, events) =>
          journal.append(
            sessionId,
            epoch,
            expectedSeq,
            events.map((event) =>
              event.type === 'decision_made' ? { ...event, decision: copied(event.decision) } : event,
            ),
          ),
      }),
      /odd keys/,
    ],
    ['lists without paging', (journal) => ({ list: () => journal.list({ limit: 1000 }) }), /pages follow/],
    [
      'gives forks the snapshots of what came later',
      ({ snapshots }) => ({
        ...(snapshots && {
          snapshots: {
            save: snapshots.save,
            load: async (sessionId, upTo) =>
              (await snapshots.load(sessionId, upTo)) && snapshots.load('s', Number.MAX_SAFE_INTEGER),
          },
        }),
      }),
      /a fork has its parents/,
    ],
    [
      'keeps every snapshot',
      () => {
        const all = new Map<number, string>();
        return {
          snapshots: {
            save: async (_, { seq, text }) => void all.set(seq, text),
            async load(_, upTo) {
              const seq = Math.max(0, ...[...all.keys()].filter((each) => each <= upTo));
              return seq === 0 ? null : { seq, text: all.get(seq) ?? '' };
            },
          },
        };
      },
      /of many few are kept/,
    ],
    ['can be used after close', (journal) => ({ ...journal, close: async () => {} }), /after close/],
  ])('notices a journal that %s', async (_, flaw, expected) => {
    expect((await broken(flawed(flaw))).join('\n')).toMatch(expected);
  });

  it('names the seed of an interleaving that failed', async () => {
    const { run } =
      journalContract(
        flawed(() => ({ post: async () => ({ seq: 1, duplicate: false }) })),
        { seed: 42, runs: 1 },
      ).find(({ name }) => name.includes('interleave')) ?? expect.fail('no such case');
    await expect(run()).rejects.toThrow(/seed 42/);
  });
});

function copied<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = copied(item as unknown);
  return copy as T;
}
