// @module-tag slow

import { sessionContract } from '@treadle/testing';
import { describe, it } from 'vitest';
import { useStores } from './test-support/use-stores.ts';

describe.each(['files', 'SQLite', 'Postgres'] as const)('a session in %s', (kind) => {
  const newStore = useStores(kind);
  const make = async () => {
    const store = newStore();
    return { journal: await store.open(), open: () => store.open() };
  };
  for (const { name, run } of sessionContract(make)) it(name, run, 60_000);
});
