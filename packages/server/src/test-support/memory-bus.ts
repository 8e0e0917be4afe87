import type { LiveBus } from '@treadle/core/ports';

/** The way between servers of one process. */
export interface MemoryBus {
  join(): LiveBus;
  /** Nothing gets through any more, until it is called with false. */
  cut(isCut: boolean): void;
}

export function memoryBus(): MemoryBus {
  const members = new Map<string, Set<readonly [heard: (text: string, from: string) => void]>>();
  let isCut = false;
  return {
    join() {
      const id = `member-${members.size + 1}`;
      const listeners = new Set<readonly [heard: (text: string, from: string) => void]>();
      members.set(id, listeners);
      return {
        id,
        async send(text, to) {
          if (isCut) return;
          for (const [other, heard] of members) {
            if (other === id || (to !== undefined && to !== other)) continue;
            for (const [listener] of heard) queueMicrotask(() => listener(text, id));
          }
        },
        listen(heard) {
          const one = [heard] as const;
          listeners.add(one);
          return () => void listeners.delete(one);
        },
        close: async () => void members.delete(id),
      };
    },
    cut(value) {
      isCut = value;
    },
  };
}
