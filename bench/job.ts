import type { ContestantName } from './contestants/index.ts';
import type { WireName } from './contestants/contestant.ts';
import type { MeasureName } from './measures.ts';

/** What one process measures: the argument of `child.ts`, and of `ready.ts`. */
export interface Job {
  readonly contestant: ContestantName;
  readonly wire: WireName;
  readonly measure: MeasureName | 'ready';
  readonly baseUrl: string;
  /** Less work per process, for a look. */
  readonly quick: boolean;
}

/** Figures by name, as a process prints them. */
export type Sample = Readonly<Record<string, number>>;
