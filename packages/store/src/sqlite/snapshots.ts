import { thinSnapshots, type Snapshot } from '@treadle/core/journal';
import { requireEvent } from '../checks.ts';
import { transaction } from './database.ts';
import { lineOf, sessionOf, type Store } from './statements.ts';

export function saveSnapshot(store: Store, name: string, { seq, text }: Snapshot): void {
  transaction(store.db, () => {
    const { id: session, seq: last } = sessionOf(store, name);
    requireEvent(name, seq, last);
    store.saveSnapshot.run({ session, seq, body: text });
    const kept = store.snapshotSeqs.all({ session }) as unknown as readonly { readonly seq: number }[];
    for (const dropped of thinSnapshots(kept.map((row) => row.seq))) store.dropSnapshot.run({ session, seq: dropped });
  });
}

export function newestSnapshot(store: Store, name: string, upTo: number): Snapshot | null {
  for (const { id, last } of lineOf(store, sessionOf(store, name).id, upTo)) {
    const found = store.snapshot.get({ session: id, upTo: last });
    if (found) return { ...found } as unknown as Snapshot;
  }
  return null;
}
