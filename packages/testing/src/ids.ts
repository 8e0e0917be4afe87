import type { Ids } from '@treadle/core/ports';

/**
 * Ids that count: `msg_1`, `msg_2`, `call_1`, … Each prefix counts by itself, so that a new kind of id in the code under
 * test doesn't renumber the others.
 *
 * @example
 * ```ts
 * import { countingIds } from '@treadle/testing';
 *
 * const ids = countingIds();
 * console.log(ids.create('msg'), ids.create('call'), ids.create('msg')); // msg_1 call_1 msg_2
 * ```
 */
export function countingIds(): Ids {
  const counts = new Map<string, number>();
  return {
    create(prefix) {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
  };
}
