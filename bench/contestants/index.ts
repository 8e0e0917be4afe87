import type { Contestant, WireName } from './contestant.ts';
import { floorOn } from './floor/index.ts';

/** By name. A contestant's module, and that of one wire, is loaded only in the process that measures it. */
export const CONTESTANTS = {
  floor: floorOn,
  // The same again: how far its ratio is from 1 says how far the others can be trusted.
  'floor-again': floorOn,
  treadle: async (wire: WireName): Promise<Contestant> => (await import('./treadle.ts')).treadleOn(wire),
  'treadle-sqlite': async (wire: WireName): Promise<Contestant> =>
    (await import('./treadle-sqlite.ts')).treadleSqliteOn(wire),
} as const;

export type ContestantName = keyof typeof CONTESTANTS;
