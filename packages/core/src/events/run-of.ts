import type { TreadleEvent } from './events.ts';

/** The run that an event is of, if it is of one. */
export const runIdOf = (event: TreadleEvent): string | undefined => (event as { readonly runId?: string }).runId;
