// @module-tag slow

import { describe, it } from 'vitest';
import { systemProcesses } from './processes.ts';
import { holderIsNamedAndTakenOver, hundredAtOnce, reusedProcessIdHoldsNothing } from './test-support/contention.ts';
import { useStores } from './test-support/use-stores.ts';

describe.each(['files', 'SQLite', 'Postgres'] as const)('several processes at one store, in %s', (kind) => {
  const newStore = useStores(kind);

  it(
    'S7: the second at a session is refused and told who holds it, and takes it over when that one was killed',
    { timeout: 60_000 },
    () => holderIsNamedAndTakenOver(newStore()),
  );

  // Where the system doesn't tell when a process started, its id is all there is.
  it.runIf(systemProcesses.self().start !== null)(
    'S7: a process that is dead holds nothing, also when another one has its id now',
    () => reusedProcessIdHoldsNothing(newStore()),
  );

  it(
    'S8: a hundred sessions at the same time, in three of them, lose nothing of each other, nor of what they share',
    () => hundredAtOnce(newStore()),
    120_000,
  );
});
