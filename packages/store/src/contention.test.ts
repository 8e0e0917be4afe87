import { afterEach, describe, expect, it } from 'vitest';
import { fileJournal, sqliteJournal } from './index.ts';
import { holderIsNamedAndTakenOver, hundredAtOnce } from './test-support/contention.ts';
import { newStore, type TestStore } from './test-support/stores.ts';

const stores: TestStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.dispose();
});

const storeOf = (kind: 'SQLite' | 'files'): TestStore => {
  const store = newStore(kind);
  stores.push(store);
  return store;
};

describe.each(['SQLite', 'files'] as const)('two processes at one session, on %s', (kind) => {
  it('S7: the second is refused and told who holds it, and takes it over when that one was killed', () =>
    holderIsNamedAndTakenOver(storeOf(kind)));

  it('S7: a process whose id another one has now holds nothing', async () => {
    const { place } = storeOf(kind).at;
    // The same id, started at another time.
    const at = (start: string) => ({
      self: () => ({ pid: 7, start, host: 'here' }),
      isGone: (other: { readonly start: string | null }) => other.start !== start,
    });
    const open = (start: string) =>
      kind === 'files'
        ? fileJournal({ folder: place, processes: at(start) })
        : sqliteJournal({ path: `${place}/journal.db`, processes: at(start) });
    const [before, after] = [open('before'), open('after')];
    await before.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
    await before.claim('s', { id: 'a', label: 'a' });
    expect((await after.claim('s', { id: 'b', label: 'b' })).epoch).toBe(2);
    await before.close();
    await after.close();
  });

  it('S8: a hundred sessions at the same time lose nothing of each other', () => hundredAtOnce(storeOf(kind)), 60_000);
});
