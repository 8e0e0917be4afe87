import type { Contestant } from './contestant.ts';

/** By name. A contestant's module is loaded only in the process that measures it. */
export const CONTESTANTS = {
  floor: async (): Promise<Contestant> => (await import('./floor.ts')).floor,
  treadle: async (): Promise<Contestant> => (await import('./treadle.ts')).treadle,
  'treadle-sqlite': async (): Promise<Contestant> => (await import('./treadle-sqlite.ts')).treadleSqlite,
} as const;

export type ContestantName = keyof typeof CONTESTANTS;
