import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startPostgres, type PostgresServer } from './postgres.ts';
import { newStore, type StoreKind, type TestStore } from './stores.ts';

/** Where machines don't die, a journal may be in memory: a sync costs nothing there. */
export const fastFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/**
 * Inside a `describe`: makes fresh stores of a kind, which are gone after each test. A server of Postgres is started for
 * the `describe`, and only for that kind.
 */
export function useStores(kind: StoreKind): () => TestStore {
  let server: PostgresServer | undefined;
  let place = fastFolder;
  const stores: TestStore[] = [];
  beforeAll(async () => {
    if (kind !== 'Postgres') return;
    server = await startPostgres();
    place = await server.database();
  }, 120_000);
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.dispose();
  });
  afterAll(() => server?.stop());
  return () => {
    const store = newStore(kind, place);
    stores.push(store);
    return store;
  };
}
