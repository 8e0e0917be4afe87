import { mustBeCount, mustBePositive } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import type { Memory, MemoryOptions } from './memory.ts';

/** A memory with all its settings. */
export type MemorySettings = Required<MemoryOptions>;

/**
 * Checks what an agent's definition says about memory. Null for none.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function memorySettings(given: Memory | MemoryOptions | undefined): MemorySettings | null {
  if (given === undefined) return null;
  const options = 'store' in given ? given : { store: given };
  const { store, timeoutMs = 10_000, updateAttempts = 3, maxLength = 20_000 } = options;
  if (typeof store?.retrieve !== 'function' || typeof store.update !== 'function')
    throw new TreadleError(
      'invalid_definition',
      'memory needs a retrieve and an update: pass a Memory, such as sqliteMemory() of @treadle/store.',
    );
  mustBePositive('memory.timeoutMs', timeoutMs);
  mustBeCount('memory.updateAttempts', updateAttempts);
  mustBeCount('memory.maxLength', maxLength);
  return Object.freeze({ store, timeoutMs, updateAttempts, maxLength });
}
