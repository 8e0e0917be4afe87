import type { DurableEvent } from '../events/events.ts';
import type { SessionState } from './state.ts';

export type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** How a feature folds events into its part of the state, in place: no I/O, no clock, no randomness. */
export interface Fold {
  /** Sees the state as it was before the event. */
  before?(state: SessionState, event: DurableEvent): void;
  /** Sees the state with what the kernel has folded in. */
  after?(state: SessionState, event: DurableEvent): void;
}
