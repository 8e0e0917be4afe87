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
    refuse('memory needs a retrieve and an update: pass a Memory, such as sqliteMemory() of @treadle/store.');
  if (!(timeoutMs > 0)) refuse(`memory.timeoutMs must be greater than 0, and it is ${timeoutMs}.`);
  for (const [name, count] of Object.entries({ updateAttempts, maxLength })) {
    if (!Number.isSafeInteger(count) || count < 1)
      refuse(`memory.${name} must be a whole number of at least 1, and it is ${count}.`);
  }
  return Object.freeze({ store, timeoutMs, updateAttempts, maxLength });
}

function refuse(message: string): never {
  throw new TreadleError('invalid_definition', message);
}
