import type { CallState, SessionState } from '../state.ts';

/** The same for every attempt at a call, in any process; different in every session, forks included. */
export const callKey = (state: SessionState, call: Pick<CallState, 'callId'>): string =>
  `${state.sessionId}/${call.callId}`;
