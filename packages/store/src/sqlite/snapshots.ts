import type { Snapshot } from '@treadle/core/journal';
import { journalErrors, thinSnapshots } from '@treadle/core/journal';
import { transaction } from './database.ts';
import type { SessionRow, Store } from './statements.ts';
import { sessionOf } from './write.ts';

export function saveSnapshot(store: Store, name: string, { seq, text }: Snapshot): void {
  transaction(store.db, () => {
    const { id: session, seq: last } = sessionOf(store, name);
    if (!(Number.isInteger(seq) && seq >= 1 && seq <= last)) throw journalErrors.noSuchEvent(name, seq, last);
    store.saveSnapshot.run({ session, seq, body: text });
    const kept = store.snapshotSeqs.all({ session }) as unknown as readonly { readonly seq: number }[];
    for (const dropped of thinSnapshots(kept.map((row) => row.seq))) store.dropSnapshot.run({ session, seq: dropped });
  });
}

export function newestSnapshot(store: Store, name: string, upTo: number): Snapshot | null {
  let current: Pick<SessionRow, 'id' | 'base' | 'parent'> | undefined = sessionOf(store, name);
  let last = upTo;
  while (current) {
    const row = store.snapshot.get({ session: current.id, upTo: last }) as
      { readonly seq: number; readonly body: string } | undefined;
    if (row) return { seq: row.seq, text: row.body };
    last = Math.min(last, current.base);
    current =
      current.parent === null ? undefined : (store.ancestor.get({ id: current.parent }) as SessionRow | undefined);
  }
  return null;
}
