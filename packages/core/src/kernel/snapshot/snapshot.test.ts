import fc from 'fast-check';
import { countingIds, journalOf, logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { EVENT_VERSION } from '../../entries/events.ts';
import type { Snapshots } from '../../entries/journal.ts';
import { initialState, reduce } from '../../entries/kernel.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type DurableEvent,
  type Journal,
} from '../../index.ts';
import { createDigest } from '../../digest.ts';
import { corpusLog, corpusNames, foldLog } from '../../test-support/corpus.ts';
import { anyLog, logsOfAllKinds } from '../../test-support/logs.ts';
import { decodeState, encodeState, STATE_VERSION } from './snapshot.ts';
import { openState } from './keeper.ts';

/** The snapshot of a log's first `count` events. */
function snapshotOf(log: readonly DurableEvent[], count: number) {
  const last = log[count - 1];
  if (!last) throw new Error(`The log has no event ${count}.`);
  return encodeState(foldLog(log.slice(0, count)), last);
}

/** How a log is folded by a session that has snapshots at these events, and how much of it that reads. */
async function opened(log: readonly DurableEvent[], cuts: readonly number[]) {
  const journal = await journalOf(log);
  for (const cut of cuts) await journal.snapshots?.save('s1', snapshotOf(log, cut));
  const { counting, rows } = countingReads(journal);
  const { state } = await openState(counting, 's1');
  return { state, rows: rows() };
}

function countingReads(journal: Journal): { counting: Journal; rows: () => number } {
  let count = 0;
  const counting: Journal = {
    ...journal,
    async *read(sessionId, from) {
      for await (const event of journal.read(sessionId, from)) {
        count += 1;
        yield event;
      }
    },
  };
  return { counting, rows: () => count };
}

const logs = new Map([
  ...(await logsOfAllKinds()),
  ...corpusNames().map((name): [string, readonly DurableEvent[]] => [name, corpusLog(name)]),
]);
/** Of forks, only the fold by itself is looked at here: a journal of one session can't hold their prefix. */
const whole = [...logs].filter(([, log]) => log.filter(({ type }) => type === 'session_created').length === 1);

describe('a snapshot', () => {
  it.each([...logs])('of any state is that state: %s', (_, log) => {
    const [first] = log;
    const sessionId = first?.type === 'session_created' ? first.sessionId : '';
    const state = initialState(sessionId);
    for (const event of log) {
      reduce(state, event);
      const decoded = decodeState(sessionId, encodeState(state, event));
      expect(decoded?.state).toEqual(state);
      expect(decoded?.isOf(event)).toBe(true);
    }
  });

  it.each(whole)('and what follows it are the whole log, wherever it is taken: %s', async (_, log) => {
    const folded = foldLog(log);
    for (let cut = 1; cut <= log.length; cut += 1) {
      const { state, rows } = await opened(log, [cut]);
      expect(state).toEqual(folded);
      expect(rows).toBe(log.length - cut + 1);
    }
  });

  it('and what follows it are the whole log, for any log and any snapshots', async () => {
    const cuts = fc.array(fc.nat(), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(anyLog, cuts, async (made, places) => {
        const log = await made;
        const at = places.map((place) => 1 + (place % log.length));
        const { state } = await opened(log, at);
        expect(state).toEqual(foldLog(log));
      }),
      { numRuns: 25 },
    );
  });

  it('that is damaged anywhere is none', () => {
    const log = corpusLog('v1-paused');
    const { seq, text } = snapshotOf(log, log.length);
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      for (const other of [code ^ 1, 0x20]) {
        if (other === code) continue;
        const changed = text.slice(0, index) + String.fromCharCode(other) + text.slice(index + 1);
        const decoded = decodeState('s1', { seq, text: changed });
        // What is changed in the digest of the event makes it another log's.
        const last = log.at(-1);
        expect(decoded !== null && last !== undefined && decoded.isOf(last)).toBe(false);
      }
    }
    for (let length = 0; length < text.length; length += 1) {
      expect(decodeState('s1', { seq, text: text.slice(0, length) })).toBeNull();
    }
  });

  it('of another version of the state or of events is none', () => {
    const { seq, text } = snapshotOf(corpusLog('v1-paused'), 5);
    expect(decodeState('s1', { seq, text })).not.toBeNull();
    for (const [now, other] of [
      [`"state":${STATE_VERSION}`, `"state":${STATE_VERSION + 1}`],
      [`"events":${EVENT_VERSION}`, `"events":${EVENT_VERSION + 1}`],
    ] as const) {
      expect(decodeState('s1', { seq, text: text.replace(now, other) })).toBeNull();
    }
    expect(decodeState('s1', { seq: seq + 1, text })).toBeNull();
  });

  it('has the version of what the reducer makes of the corpus', () => {
    // Another digest means that the same logs fold to other states: raise STATE_VERSION, and only then give both anew.
    const digests = Object.fromEntries(
      corpusNames().map((name) => {
        const log = corpusLog(name);
        const digest = createDigest();
        for (let count = 1; count <= log.length; count += 1) {
          digest.text(snapshotOf(log, count).text.split('\n')[1] ?? '');
        }
        return [name, digest.value()];
      }),
    );
    expect({ version: STATE_VERSION, digests }).toEqual({
      version: 10,
      digests: {
        'v1-conversation': 'jajgx8.auvru',
        'v1-everything': 'faeyjn.pjx5tl',
        'v1-in-doubt': 'p8zwfj.1v69i8y',
        'v1-killed': 'oh8ck6.1k1pcwo',
        'v1-paused': '1dbcjc5.1w2n31q',
        'v2-conversation': 'daoarl.1e0w44x',
        'v2-everything': 'xmp82r.n5sl1q',
        'v2-in-doubt': '1x0tl98.11dwq9w',
        'v2-killed': '1avunzv.gw66rd',
        'v2-paused': '1mr8meq.1kne9f4',
      },
    });
  });
});

describe('a session with snapshots', () => {
  const log = corpusLog('v1-everything');
  const folded = foldLog(log);

  it('is opened from the newest', async () => {
    const { state, rows } = await opened(log, [10, 20, 30]);
    expect(state).toEqual(folded);
    expect(rows).toBe(log.length - 30 + 1);
  });

  it('passes over one that is damaged, for the one before it or none', async () => {
    const journal = await journalOf(log);
    for (const cut of [10, 20]) await journal.snapshots?.save('s1', snapshotOf(log, cut));
    await journal.snapshots?.save('s1', { seq: 20, text: snapshotOf(log, 20).text.replace('assistant', 'assistent') });
    const { counting, rows } = countingReads(journal);
    expect((await openState(counting, 's1')).state).toEqual(folded);
    expect(rows()).toBe(log.length - 10 + 1);
    await journal.snapshots?.save('s1', { seq: 10, text: '' });
    expect((await openState(journal, 's1')).state).toEqual(folded);
  });

  it('passes over one of another log, in which the same event says something else', async () => {
    const other = log.map((event) => (event.seq === 20 ? { ...event, at: event.at + 1 } : event));
    const journal = await journalOf(log);
    await journal.snapshots?.save('s1', snapshotOf(other, 20));
    expect((await openState(journal, 's1')).state).toEqual(folded);
  });

  it('is opened all the same when its journal can’t read them', async () => {
    const journal = await journalOf(log);
    const snapshots: Snapshots = { save: async () => {}, load: () => Promise.reject(new Error('Gone.')) };
    expect((await openState({ ...journal, snapshots }, 's1')).state).toEqual(folded);
    const { snapshots: _, ...without } = journal;
    expect((await openState(without, 's1')).state).toEqual(folded);
  });

  it('can be forked before, at and after each of them', async () => {
    const journal = await journalOf(log);
    for (const cut of [10, 20, 30]) await journal.snapshots?.save('s1', snapshotOf(log, cut));
    for (let seq = 1; seq <= log.length; seq += 1) {
      const id = `fork ${seq}`;
      const fork = { sessionId: 's1', seq };
      await journal.create(
        id,
        { type: 'session_created', at: 1, eventVersion: EVENT_VERSION, sessionId: id, fork },
        fork,
      );
      const { counting, rows } = countingReads(journal);
      const { state } = await openState(counting, id);
      const { snapshots: _, ...without } = journal;
      expect(state).toEqual((await openState(without, id)).state);
      const nearest = [10, 20, 30].findLast((cut) => cut <= seq) ?? 1;
      expect(rows()).toBe(seq + 1 - nearest + 1);
    }
  });
});

describe('snapshots are kept', () => {
  const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'nothing' });
  const turns = Array.from({ length: 300 }, (_, n) =>
    n % 100 === 99 ? 'Done.' : { text: '', toolCalls: [{ name: 'look', arguments: { n } }] },
  );

  /** Three runs of a hundred turns. */
  async function longSession(journal: Journal): Promise<DurableEvent[]> {
    const limits = { maxTurns: 1000 };
    const agent = defineAgent({ model: scriptedModel(turns), tools: [look], limits });
    const session = await createSession(agent, { journal, id: 's1', ids: countingIds() });
    for (let n = 0; n < 3; n += 1) expect((await session.prompt('Go.').result).status).toBe('completed');
    return logOf(journal, 's1');
  }

  it('now and then, so that the next process reads the end of the log and not all of it', async () => {
    const journal = memoryJournal();
    const seqs: number[] = [];
    const snapshots: Snapshots | undefined = journal.snapshots && {
      ...journal.snapshots,
      save: (sessionId, snapshot) => {
        seqs.push(snapshot.seq);
        return journal.snapshots?.save(sessionId, snapshot) ?? Promise.resolve();
      },
    };
    const log = await longSession({ ...journal, ...(snapshots && { snapshots }) });
    expect(log.length).toBeGreaterThan(1500);
    expect(seqs.length).toBeGreaterThan(1);
    expect(seqs.length).toBeLessThan(log.length / 500);
    const { counting, rows } = countingReads(journal);
    const session = await openSession(defineAgent({ model: scriptedModel([]), tools: [look] }), 's1', {
      journal: counting,
    });
    expect(session.messages).toEqual(foldLog(log).view);
    expect(rows()).toBe(log.length - (seqs.at(-1) ?? 0) + 1);
  });

  it.each<[string, Snapshots['save']]>([
    ['fails', () => Promise.reject(new Error('The disk is full.'))],
    [
      'throws',
      () => {
        throw new Error('Not here.');
      },
    ],
    ['hangs', () => new Promise(() => {})],
  ])('without holding up or failing a run when keeping them %s', async (_, save) => {
    const journal = memoryJournal();
    const log = await longSession({ ...journal, snapshots: { save, load: async () => null } });
    expect(log.at(-1)).toMatchObject({ type: 'run_ended', status: 'completed' });
  });
});
