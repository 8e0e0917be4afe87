import type { ContestantName } from './contestants/index.ts';
import type { WireName } from './contestants/contestant.ts';

/** What is measured inside a process. `ready` is the process itself. */
export type MeasureName = 'turn' | 'delta' | 'argument' | 'parallel' | 'longRun' | 'prefix' | 'concurrent';

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
