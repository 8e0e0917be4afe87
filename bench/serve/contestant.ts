import type { Ready } from './job.ts';

/** A server to be measured. */
export interface Contestant {
  readonly ready: Ready;
  /** Starts what is streamed, up to the first tick. */
  begin(): Promise<void>;
  /** Lets the ticks begin. */
  go(): void;
  /** Resolves when all has been said. */
  ended(): Promise<void>;
}
