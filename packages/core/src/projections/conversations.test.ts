import fc from 'fast-check';
import { journalOf, scriptedModel } from '@treadle/testing';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { LogReader } from '../entries/journal.ts';
import type { ConversationRecord } from '../entries/projections.ts';
import { createSession, defineAgent, memoryJournal, type DurableEvent, type Journal } from '../index.ts';
import { anyLog, logsOfAllKinds } from '../test-support/logs.ts';
import { readConversations } from './conversations.ts';

/** A log that counts what is read of it. */
function counting(journal: Journal, sessionId: string): LogReader & { readonly events: () => number } {
  let count = 0;
  return {
    events: () => count,
    async *read(from) {
      for await (const event of journal.read(sessionId, from)) {
        count += 1;
        yield event;
      }
    },
  };
}

const of = (log: readonly DurableEvent[]): LogReader => ({
  async *read(from) {
    yield* log.slice(from - 1);
  },
});

const answers = (records: readonly ConversationRecord[]): string[] => records.map(({ text }) => text);

/** A session with so many runs, each of one prompt and one answer. */
async function sessionOf(count: number): Promise<Journal> {
  const journal = memoryJournal();
  const model = scriptedModel((_, index) => `Answer ${index + 1}.`, { chunkSize: Number.POSITIVE_INFINITY });
  const session = await createSession(defineAgent({ model }), { journal, id: 's1' });
  for (let n = 1; n <= count; n += 1) await session.prompt(`Question ${n}?`).result;
  return journal;
}

describe('the conversations of a session', () => {
  let logs: ReadonlyMap<string, readonly DurableEvent[]>;
  beforeAll(async () => {
    logs = await logsOfAllKinds();
  });

  it('are its runs that have ended, oldest first, with what was asked and what came of it', async () => {
    const { conversations, ...rest } = await readConversations(of(logs.get('continued') ?? []));
    expect(rest).toEqual({ hasMore: false });
    expect(conversations).toMatchObject([
      { status: 'model_error', prompt: { content: [{ text: 'Hi' }] }, text: '', messages: [{ role: 'user' }] },
      { status: 'completed', prompt: null, text: 'Better.', messages: [{ role: 'assistant' }] },
      { status: 'completed', prompt: { content: [{ text: 'Again.' }] }, text: 'Hello.', cost: 0.1, turns: 1 },
    ]);
    for (const { startedAt, endedAt } of conversations) expect(endedAt).toBeGreaterThanOrEqual(startedAt);
  });

  it('leave out a run that is paused, and a prompt that was refused', async () => {
    for (const name of ['paused', 'rejected by a hook']) {
      expect(await readConversations(of(logs.get(name) ?? []))).toEqual({ conversations: [], hasMore: false });
    }
    expect((await readConversations(of(logs.get('resumed') ?? []))).conversations).toMatchObject([
      { status: 'completed', pending: [], text: 'Picked.' },
    ]);
  });

  it('are none of an empty log', async () => {
    expect(await readConversations(of([]))).toEqual({ conversations: [], hasMore: false });
  });

  it('are the same page by page as all at once, whatever happened in the session', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, fc.integer({ min: 1, max: 3 }), async (playing, limit) => {
        const log = of(await playing);
        const all = await readConversations(log);
        const pages: ConversationRecord[] = [];
        let before: number | undefined;
        for (;;) {
          const page = await readConversations(log, { limit, ...(before === undefined ? {} : { before }) });
          pages.unshift(...page.conversations);
          expect(page.hasMore).toBe(page.cursor !== undefined);
          if (page.cursor === undefined) break;
          expect(page.conversations).toHaveLength(limit);
          before = page.cursor;
        }
        expect(pages).toEqual(all.conversations);
      }),
      { numRuns: 50 },
    );
  });

  it('are those of one run per end in the log', async () => {
    for (const log of logs.values()) {
      const ends = log.flatMap((event) =>
        event.type === 'run_ended' && event.inputSeq === undefined ? [event.seq] : [],
      );
      const { conversations } = await readConversations(of(log));
      expect(conversations.map(({ cursor }) => cursor)).toEqual(ends);
    }
  });
});

describe('a page of conversations', () => {
  let journal: Journal;
  beforeEach(async () => {
    journal = await sessionOf(40);
  });

  it('has the newest, 20 unless said otherwise, and the cursor of the page before', async () => {
    const log = counting(journal, 's1');
    const newest = await readConversations(log);
    expect(answers(newest.conversations)).toEqual(Array.from({ length: 20 }, (_, index) => `Answer ${index + 21}.`));
    expect(newest.hasMore).toBe(true);
    const older = await readConversations(log, { before: newest.cursor ?? 0 });
    expect(answers(older.conversations)).toEqual(Array.from({ length: 20 }, (_, index) => `Answer ${index + 1}.`));
    expect(older).toMatchObject({ hasMore: false });
    expect(older.cursor).toBeUndefined();
  });

  it('holds at least one record, and at most 100', async () => {
    const log = counting(journal, 's1');
    const count = async (limit: number) => (await readConversations(log, { limit })).conversations.length;
    expect(await count(0)).toBe(1);
    expect(await count(-5)).toBe(1);
    expect(await count(1.9)).toBe(1);
    expect(await count(1000)).toBe(40);
    expect(await count(Number.NaN)).toBe(20);
  });

  it('can be read before any event', async () => {
    const log = counting(journal, 's1');
    expect((await readConversations(log, { before: 1 })).conversations).toEqual([]);
    expect((await readConversations(log, { before: -3 })).conversations).toEqual([]);
    expect(answers((await readConversations(log, { before: 1_000_000, limit: 1 })).conversations)).toEqual([
      'Answer 40.',
    ]);
  });

  it('costs what the page costs, and not what is skipped', async () => {
    const read = async (log: LogReader & { readonly events: () => number }, before?: number): Promise<number> => {
      const already = log.events();
      await readConversations(log, { limit: 2, ...(before === undefined ? {} : { before }) });
      return log.events() - already;
    };
    const long = await sessionOf(400);
    const log = counting(long, 's1');
    const { cursor = 0 } = await readConversations(log, { limit: 100 });
    // A page is read whole; where the log ends is found in a step per doubling of its length.
    expect(await read(log, cursor)).toBeLessThanOrEqual(128);
    expect(await read(log)).toBeLessThanOrEqual(128 + 2 * 13);
    expect(await read(counting(journal, 's1'))).toBeGreaterThanOrEqual(128);
  });

  it('is of what a crash left, too', async () => {
    const events: DurableEvent[] = [];
    for await (const event of journal.read('s1', 1)) events.push(event);
    const cut = await journalOf(events.slice(0, -1));
    expect(answers((await readConversations(counting(cut, 's1'), { limit: 1 })).conversations)).toEqual(['Answer 39.']);
  });
});
