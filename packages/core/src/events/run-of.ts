import type { TreadleEvent } from './events.ts';

/** The run that an event is of, if it is of one. Read like any field: to ask first whether it is there costs more than all else. */
export const runIdOf = (event: TreadleEvent): string | undefined => (event as { readonly runId?: string }).runId;
